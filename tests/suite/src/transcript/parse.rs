use std::fmt;
use std::time::Duration;

use sqs_lease_core::{Failure, Policy, PolicyError, StopReason, Visibility, VisibilityError};

use super::{Output, Said};

const NANOS_PER_SEC: u64 = 1_000_000_000;

/// The settings of a lease as they are written: seconds for a timeout, nanoseconds for the small times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The timeout of the receive, seconds.
    pub timeout: u32,
    /// What an extension asks for, seconds; else the timeout.
    pub extension: Option<u32>,
    /// The guard; else the default.
    pub guard: Option<u64>,
    /// How far from the 12 hours to stay.
    pub limit_margin: u64,
    /// The user's own limit.
    pub max_hold: Option<u64>,
    /// How long before the receive its request was sent.
    pub requested: u64,
}

impl Settings {
    /// Those of a lease that has only a timeout.
    pub const fn of_timeout(timeout: u32) -> Self {
        Self {
            timeout,
            extension: None,
            guard: None,
            limit_margin: 5_000_000_000,
            max_hold: None,
            requested: 0,
        }
    }

    /// The same as the core takes them.
    ///
    /// # Errors
    /// One is out of range.
    pub fn policy(&self) -> Result<Policy, PolicyError> {
        let mut policy = Policy::new().limit_margin(Duration::from_nanos(self.limit_margin))?;
        if let Some(extension) = self.extension {
            policy = policy.extension(Visibility::new(extension).unwrap_or(Visibility::ZERO))?;
        }
        if let Some(guard) = self.guard {
            policy = policy.guard(Duration::from_nanos(guard));
        }
        if let Some(max_hold) = self.max_hold {
            policy = policy.max_hold(Duration::from_nanos(max_hold))?;
        }
        Ok(policy)
    }
}

/// A transcript that was read: settings, inputs and expected outputs.
#[derive(Clone, Debug)]
pub struct Transcript {
    pub(super) settings: Settings,
    pub(super) answer_after: Option<u64>,
    pub(super) late: u64,
    pub(super) received_at: u64,
    pub(super) inputs: Vec<(u64, Input)>,
    pub(super) expected: Vec<(usize, Said)>,
    pub(super) end: u64,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Input {
    Extension(Visibility),
    Delete,
    Release(Visibility),
    Leave,
    Gap(Duration),
    AsleepUntil(u64),
    Answer(Result<(), Failure>),
    SettleAnswer(Result<(), Failure>),
}

/// Why a transcript cannot be read, with the line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// Counted from 1.
    pub line: usize,
    what: String,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.what)
    }
}

impl std::error::Error for ParseError {}

type Parsed<T> = Result<T, String>;

impl Transcript {
    pub(crate) fn received_at(&self) -> u64 {
        self.received_at
    }

    pub(crate) fn timeout(&self) -> u32 {
        self.settings.timeout
    }

    pub(crate) fn end(&self) -> u64 {
        self.end
    }

    pub(crate) fn has_gap(&self) -> bool {
        self.inputs.iter().any(|(_, input)| matches!(input, Input::Gap(_)))
    }

    /// Reads a transcript.
    ///
    /// # Errors
    /// An unknown word, a value out of range, lines out of order: with the number of the line.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        let mut reader = Reader {
            timeout: None,
            settings: Settings::of_timeout(0),
            answer_after: None,
            late: 0,
            now: 0,
            received_at: None,
            inputs: Vec::new(),
            expected: Vec::new(),
            end: None,
        };
        let mut last = 0;
        for (index, line) in text.lines().enumerate() {
            last = index + 1;
            let line = line.split('#').next().unwrap_or_default();
            let words: Vec<&str> = line.split_whitespace().collect();
            if !words.is_empty() {
                reader.line(last, &words).map_err(|what| ParseError { line: last, what })?;
            }
        }
        reader.finish().map_err(|what| ParseError { line: last.max(1), what })
    }

    /// Whether it may wake up so often that playing it takes its time: more than twenty thousand timeouts.
    pub fn is_long(&self) -> bool {
        let shortest = self.settings.extension.unwrap_or(u32::MAX).min(self.settings.timeout).max(1);
        self.end.saturating_sub(self.received_at) / NANOS_PER_SEC / u64::from(shortest) > 20_000
    }
}

struct Reader {
    timeout: Option<u32>,
    settings: Settings,
    answer_after: Option<u64>,
    late: u64,
    now: u64,
    received_at: Option<u64>,
    inputs: Vec<(u64, Input)>,
    expected: Vec<(usize, Said)>,
    end: Option<u64>,
}

impl Reader {
    fn line(&mut self, number: usize, words: &[&str]) -> Parsed<()> {
        if self.end.is_some() {
            return Err("`end` must be the last line".to_owned());
        }
        if !words[0].starts_with(|first: char| first.is_ascii_digit()) {
            return self.setting(words);
        }
        let at = seconds(words[0])?;
        if at < self.now {
            return Err(format!("time runs backwards: {} comes before this line", words[0]));
        }
        self.now = at;
        match &words[1..] {
            [] => Err(format!("nothing happens at {}", words[0])),
            [">", output @ ..] => {
                let (output, until) = expected(output)?;
                self.expected.push((number, Said { at, output, until }));
                Ok(())
            }
            ["receive"] if self.received_at.is_some() => Err("there is one `receive`".to_owned()),
            ["receive"] => {
                self.received_at = Some(at);
                Ok(())
            }
            ["end"] => {
                self.end = Some(at);
                Ok(())
            }
            words => {
                let input = self::input(words)?;
                if self.received_at.is_none() {
                    return Err("`receive` must be the first input".to_owned());
                }
                self.inputs.push((at, input));
                Ok(())
            }
        }
    }

    fn setting(&mut self, words: &[&str]) -> Parsed<()> {
        let [name, value] = words else {
            return Err(match words {
                [name] if is_setting(name) => format!("`{name}` needs a value"),
                [name, _, extra, ..] if is_setting(name) => format!("unknown word `{extra}`"),
                _ => format!("unknown word `{}`", words[0]),
            });
        };
        if !is_setting(name) {
            return Err(format!("unknown word `{name}`"));
        }
        if self.received_at.is_some() || !self.expected.is_empty() {
            return Err(format!("settings come first, `{name}` stands behind `receive`"));
        }
        match *name {
            "timeout" => self.timeout = Some(visibility(value)?.secs()),
            "extension" => self.settings.extension = Some(visibility(value)?.secs()),
            "guard" => self.settings.guard = Some(seconds(value)?),
            "limit-margin" => self.settings.limit_margin = seconds(value)?,
            "max-hold" => self.settings.max_hold = Some(seconds(value)?),
            "requested" => self.settings.requested = seconds(value)?,
            "answer-after" => self.answer_after = Some(seconds(value)?),
            _ => self.late = seconds(value)?,
        }
        // The ranges are the policy's.
        self.settings.policy().map(drop).map_err(policy)
    }

    fn finish(self) -> Parsed<Transcript> {
        Ok(Transcript {
            settings: Settings {
                timeout: self.timeout.ok_or("the setting `timeout` is missing")?,
                ..self.settings
            },
            answer_after: self.answer_after,
            late: self.late,
            received_at: self.received_at.ok_or("the input `receive` is missing")?,
            inputs: self.inputs,
            expected: self.expected,
            end: self.end.ok_or("the last line, `end`, is missing")?,
        })
    }
}

fn is_setting(name: &str) -> bool {
    const SETTINGS: &[&str] =
        &["timeout", "extension", "guard", "limit-margin", "max-hold", "requested", "answer-after", "late"];
    SETTINGS.contains(&name)
}

fn input(words: &[&str]) -> Parsed<Input> {
    Ok(match words {
        ["ok"] => Input::Answer(Ok(())),
        ["fail", class] => Input::Answer(Err(failure(class)?)),
        ["settled"] => Input::SettleAnswer(Ok(())),
        ["settle-fail", class] => Input::SettleAnswer(Err(failure(class)?)),
        ["delete"] => Input::Delete,
        ["release"] => Input::Release(Visibility::ZERO),
        ["release", after] => Input::Release(visibility(after)?),
        ["leave"] => Input::Leave,
        ["extension", by] => {
            let by = visibility(by)?;
            // The range is the policy's.
            Policy::new().extension(by).map_err(policy)?;
            Input::Extension(by)
        }
        ["gap", gap] => Input::Gap(duration(gap)?),
        ["asleep", until] => Input::AsleepUntil(seconds(until)?),
        [needs @ ("fail" | "settle-fail" | "extension" | "gap" | "asleep")] => {
            return Err(format!("`{needs}` needs a value"));
        }
        ["ok" | "settled" | "delete" | "leave" | "receive" | "end", extra, ..]
        | ["fail" | "settle-fail" | "extension" | "gap" | "asleep" | "release", _, extra, ..]
        | [extra, ..] => return Err(format!("unknown word `{extra}`")),
        [] => return Err("an input is missing".to_owned()),
    })
}

fn expected(words: &[&str]) -> Parsed<(Output, Option<u64>)> {
    let (output, until) = match words {
        [output @ .., "until", until] => (output, Some(seconds(until)?)),
        output => (output, None),
    };
    let parsed = match output {
        ["extend", by] => Output::Extend(visibility(by)?.secs()),
        ["final", by] => Output::Final(visibility(by)?.secs()),
        ["delete"] => Output::Delete,
        ["release", after] => Output::Release(visibility(after)?.secs()),
        ["warn", "limit"] => Output::WarnLimit,
        ["warn", "denied"] => Output::WarnDenied,
        ["stop", reason] => Output::Stop(stop_reason(reason)?),
        [needs @ ("extend" | "final" | "release" | "warn" | "stop")] => {
            return Err(format!("`{needs}` needs a value"));
        }
        ["delete", extra, ..] | ["extend" | "final" | "release" | "warn" | "stop", _, extra, ..] => {
            return Err(format!("unknown word `{extra}`"));
        }
        ["warn", unknown] | [unknown, ..] => return Err(format!("unknown word `{unknown}`")),
        [] => return Err("an output is missing behind `>`".to_owned()),
    };
    let is_call = !matches!(parsed, Output::WarnLimit | Output::WarnDenied | Output::Stop(_));
    match (is_call, until) {
        (true, None) => Err(format!("`{parsed}` needs `until TIME`")),
        (false, Some(_)) => Err(format!("`{parsed}` takes no `until`")),
        _ => Ok((parsed, until)),
    }
}

fn failure(class: &str) -> Parsed<Failure> {
    [Failure::Transient, Failure::Throttled, Failure::Denied, Failure::Limit, Failure::Gone]
        .into_iter()
        .find(|failure| failure.as_str() == class)
        .ok_or_else(|| format!("unknown word `{class}`"))
}

fn stop_reason(reason: &str) -> Parsed<&'static str> {
    [
        StopReason::ZeroTimeout,
        StopReason::Left,
        StopReason::Deleted,
        StopReason::Released,
        StopReason::Limit,
        StopReason::Expired,
        StopReason::Refused,
    ]
    .into_iter()
    .map(StopReason::as_str)
    .find(|known| *known == reason)
    .ok_or_else(|| format!("unknown word `{reason}`"))
}

fn visibility(text: &str) -> Parsed<Visibility> {
    let secs: u32 = text.parse().map_err(|_| format!("`{text}` is not a whole number of seconds"))?;
    Visibility::new(secs).map_err(|error: VisibilityError| error.to_string())
}

fn duration(text: &str) -> Parsed<Duration> {
    seconds(text).map(Duration::from_nanos)
}

/// Seconds with at most nine decimals, as nanoseconds.
fn seconds(text: &str) -> Parsed<u64> {
    let wrong = || format!("`{text}` is not a time in seconds with at most 9 decimals");
    let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || !digits(part) || part.len() > 9 {
        return Err(wrong());
    }
    let whole: u64 = whole.parse().map_err(|_| wrong())?;
    let part: u64 = format!("{part:0<9}").parse().map_err(|_| wrong())?;
    // A year is enough for any transcript, and leaves room for sums.
    if whole > 366 * 86_400 {
        return Err(format!("`{text}` is more than a year"));
    }
    Ok(whole * NANOS_PER_SEC + part)
}

fn policy(error: PolicyError) -> String {
    error.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        Transcript::parse(text).unwrap_err().to_string()
    }

    #[test]
    fn an_unknown_word_is_an_error_with_its_line() {
        assert_eq!(error("timeout 30\nbudget 3\n"), "line 2: unknown word `budget`");
        assert_eq!(error("timeout 30\n0 receive\n1 dance\n"), "line 3: unknown word `dance`");
        assert_eq!(error("timeout 30\n0 receive\n1 fail badly\n"), "line 3: unknown word `badly`");
        assert_eq!(error("timeout 30\n0 receive\n1 > jump\n"), "line 3: unknown word `jump`");
        assert_eq!(error("timeout 30\n0 receive\n1 > stop bored\n"), "line 3: unknown word `bored`");
        assert_eq!(error("timeout 30\n0 receive now\n"), "line 2: unknown word `now`");
        assert_eq!(error("timeout 30\n0 receive\n1 delete it\n"), "line 3: unknown word `it`");
    }

    #[test]
    fn values_out_of_range_and_lines_out_of_order_are_errors() {
        assert!(error("timeout 43201\n").contains("43201 s is out of range"));
        assert!(error("timeout 1.5\n").contains("not a whole number"));
        assert!(error("timeout 30\nextension 0\n").contains("extension of 0 s"));
        assert!(error("timeout 30\n1 leave\n").contains("`receive` must be the first"));
        assert!(error("timeout 30\n1 receive\n0 leave\n").contains("backwards"));
        assert!(error("timeout 30\n0 receive\nguard 0\n").contains("settings come first"));
        assert!(error("timeout 30\n0 receive\n1 end\n2 leave\n").contains("last line"));
        assert!(error("timeout 30\n0 receive\n").contains("`end`, is missing"));
        assert!(error("0 receive\n1 end\n").contains("`timeout` is missing"));
        assert!(error("timeout 30\n0 receive\n0.0000000001 leave\n").contains("9 decimals"));
        assert!(error("timeout 30\n0 receive\n15 > extend 30\n").contains("needs `until TIME`"));
    }
}
