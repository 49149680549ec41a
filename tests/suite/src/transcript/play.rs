use std::time::Duration;

use sqs_lease_core::{Failure, Moment};

use super::parse::Input;
use super::subject::{self, CallRef, Kind, Look, Subject, Want};
use super::{Disagreement, Said, Transcript, With};

/// Plays a transcript and says where it disagrees.
///
/// # Panics
/// A wake-up time that is offered again although it was acted on: the lease broke the drain rule.
pub fn play(transcript: &Transcript, with: With) -> Vec<Disagreement> {
    let lease = subject::new(&transcript.settings, moment(transcript.received_at), with);
    let said = Player::new(transcript, lease).run();
    compare(&transcript.expected, &said)
}

/// What a transcript comes to, whatever it expects: for a picture of it.
///
/// # Panics
/// As [`play`].
pub(crate) fn watch(transcript: &Transcript) -> Watched {
    let lease = subject::new(&transcript.settings, moment(transcript.received_at), With::Lease);
    let mut player = Player::new(transcript, lease);
    player.drive_through();
    Watched { said: player.said, answers: player.answered, limit: player.limit }
}

/// A run as it was watched. Nanoseconds from the transcript's zero.
pub(crate) struct Watched {
    pub(crate) said: Vec<Said>,
    /// The answers that counted, in order: when, of an extension or not, and which.
    pub(crate) answers: Vec<(u64, bool, Result<(), Failure>)>,
    /// The limit as it stood last.
    pub(crate) limit: u64,
}

/// The transcript's zero lies far from the clock's origin, so that a request may have been sent before it.
const ZERO: Duration = Duration::from_secs(1_000_000);

fn moment(at: u64) -> Moment {
    Moment::ORIGIN + ZERO + Duration::from_nanos(at)
}

fn nanos(moment: Moment) -> u64 {
    moment.as_nanos().saturating_sub(moment_zero().as_nanos())
}

fn moment_zero() -> Moment {
    Moment::ORIGIN + ZERO
}

struct Player<'a> {
    transcript: &'a Transcript,
    lease: Box<dyn Subject>,
    said: Vec<Said>,
    /// The last call of each kind; a line's answer is for it.
    extension: Option<CallRef>,
    settle: Option<CallRef>,
    /// Automatic answers, in the order in which their calls were sent.
    answers: Vec<(u64, CallRef)>,
    asleep_until: u64,
    driven_at: u64,
    /// For whoever watches: the answers that counted, and the limit.
    answered: Vec<(u64, bool, Result<(), Failure>)>,
    limit: u64,
}

impl<'a> Player<'a> {
    fn new(transcript: &'a Transcript, lease: Box<dyn Subject>) -> Self {
        Self {
            transcript,
            lease,
            said: Vec::new(),
            extension: None,
            settle: None,
            answers: Vec::new(),
            asleep_until: 0,
            driven_at: 0,
            answered: Vec::new(),
            limit: u64::MAX,
        }
    }

    fn run(mut self) -> Vec<Said> {
        self.drive_through();
        self.said
    }

    fn drive_through(&mut self) {
        self.drive(self.transcript.received_at);
        for &(at, input) in &self.transcript.inputs {
            self.run_until(|next| next < at);
            self.input(input, at);
        }
        let end = self.transcript.end;
        self.run_until(|next| next <= end);
    }

    /// Plays automatic answers and wake-ups, as long as they lie within.
    fn run_until(&mut self, within: impl Fn(u64) -> bool) {
        loop {
            self.answers.retain(|&(_, call)| self.lease.awaits(call));
            let answer = self
                .answers
                .iter()
                .enumerate()
                .map(|(index, &(at, _))| (at.max(self.asleep_until), index))
                .min();
            let wake_up = self.wake_up();
            match (answer, wake_up) {
                (Some((at, index)), wake_up) if within(at) && wake_up.is_none_or(|wake| at <= wake) => {
                    let (_, call) = self.answers.remove(index);
                    self.answer(call, Ok(()), at);
                    self.drive(at);
                }
                (_, Some(at)) if within(at) => self.drive(at),
                _ => return,
            }
        }
    }

    fn wake_up(&self) -> Option<u64> {
        let offered = nanos(self.lease.wake_up()?);
        Some(offered.saturating_add(self.transcript.late).max(self.asleep_until).max(self.driven_at))
    }

    fn input(&mut self, input: Input, at: u64) {
        let now = moment(at);
        match input {
            // A settle that comes too late, or second, is refused; a transcript asserts that nothing follows.
            Input::Extension(by) => _ = self.lease.want(Want::Extension(by), now),
            Input::Delete => _ = self.lease.want(Want::Delete, now),
            Input::Release(after) => _ = self.lease.want(Want::Release(after), now),
            Input::Leave => _ = self.lease.want(Want::Leave, now),
            Input::Gap(gap) => _ = self.lease.want(Want::Gap(gap), now),
            Input::Answer(answer) => {
                if let Some(call) = self.extension {
                    self.answer(call, answer, at);
                }
            }
            Input::SettleAnswer(answer) => {
                if let Some(call) = self.settle {
                    self.answer(call, answer, at);
                }
            }
            // Not an input of the lease's: it is only woken later.
            Input::AsleepUntil(until) => {
                self.asleep_until = until;
                return;
            }
        }
        self.drive(at);
    }

    fn answer(&mut self, call: CallRef, answer: Result<(), Failure>, at: u64) {
        if self.lease.awaits(call) {
            self.answered.push((at, self.extension == Some(call), answer));
        }
        self.lease.answer(call, answer, moment(at));
    }

    fn drive(&mut self, at: u64) {
        let now = moment(at);
        self.driven_at = at;
        for drained in self.lease.drain(now) {
            let until = drained.call.map(|(_, _, answer_by)| nanos(answer_by));
            self.said.push(Said { at, output: drained.output, until });
            if let Some((kind, call, _)) = drained.call {
                match kind {
                    Kind::Extension => self.extension = Some(call),
                    Kind::Settle => self.settle = Some(call),
                }
                if let Some(after) = self.transcript.answer_after {
                    self.answers.push((at + after, call));
                }
            }
        }
        if let Look::Running { limit, .. } = self.lease.look(now) {
            self.limit = nanos(limit);
        }
        let offered = self.lease.wake_up();
        assert!(offered.is_none_or(|wake| wake > now), "drained at {now}, and {offered:?} is offered again");
    }
}

/// Aligns what was said with what was expected, so that one missing output is one disagreement.
fn compare(expected: &[(usize, Said)], said: &[Said]) -> Vec<Disagreement> {
    // longest[i][j]: how many can agree of expected[i..] and said[j..], in order.
    let mut longest = vec![vec![0_usize; said.len() + 1]; expected.len() + 1];
    for i in (0..expected.len()).rev() {
        for j in (0..said.len()).rev() {
            longest[i][j] = if expected[i].1.agrees(&said[j]) {
                longest[i + 1][j + 1] + 1
            } else {
                longest[i + 1][j].max(longest[i][j + 1])
            };
        }
    }
    let mut found = Vec::new();
    let (mut missing, mut extra) = (Vec::new(), Vec::new());
    let (mut i, mut j) = (0, 0);
    while i < expected.len() || j < said.len() {
        let agree = i < expected.len() && j < said.len() && expected[i].1.agrees(&said[j]);
        if agree {
            report(&mut found, &mut missing, &mut extra, expected, i);
            (i, j) = (i + 1, j + 1);
        } else if j == said.len() || (i < expected.len() && longest[i + 1][j] >= longest[i][j + 1]) {
            missing.push(i);
            i += 1;
        } else {
            extra.push(said[j]);
            j += 1;
        }
    }
    report(&mut found, &mut missing, &mut extra, expected, i);
    found
}

/// Pairs what is missing with what came in its place.
fn report(
    found: &mut Vec<Disagreement>,
    missing: &mut Vec<usize>,
    extra: &mut Vec<Said>,
    expected: &[(usize, Said)],
    next: usize,
) {
    let line_before = next.checked_sub(1).map_or(1, |last| expected[last].0);
    for pair in 0..missing.len().max(extra.len()) {
        let wanted = missing.get(pair).map(|&index| &expected[index]);
        found.push(Disagreement {
            line: wanted.map_or(line_before, |(line, _)| *line),
            expected: wanted.map(|(_, said)| said.to_string()),
            came: extra.get(pair).map(ToString::to_string),
        });
    }
    missing.clear();
    extra.clear();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn disagreements(text: &str) -> Vec<String> {
        let transcript = Transcript::parse(text).unwrap();
        play(&transcript, With::Lease).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_disagreement_names_the_line_what_was_expected_and_what_came() {
        let text = "timeout 30\nguard 0\n0 receive\n15 > extend 31 until 20\n16 ok\n20 leave\n\
                    20 > stop left\n30 end\n";
        assert_eq!(
            disagreements(text),
            ["line 4: expected 15 > extend 31 until 20, came 15 > extend 30 until 20"]
        );
    }

    #[test]
    fn a_missing_and_an_unexpected_output_are_told() {
        let text = "timeout 30\nguard 0\n0 receive\n15 > extend 30 until 20\n15.1 ok\n20 leave\n25 > delete until 30\n30 end\n";
        assert_eq!(disagreements(text), ["line 7: expected 25 > delete until 30, came 20 > stop left"]);
        let text = "timeout 30\nguard 0\n0 receive\n15 > extend 30 until 20\n15.1 ok\n20 leave\n30 end\n";
        assert_eq!(disagreements(text), ["line 4: expected nothing, came 20 > stop left"]);
    }

    #[test]
    fn a_time_off_by_more_than_a_millisecond_disagrees() {
        let text =
            |time: &str| format!("timeout 30\nguard 0\n0 receive\n{time} > extend 30 until 20\n15.1 end\n");
        assert!(disagreements(&text("15.001")).is_empty());
        assert_eq!(disagreements(&text("15.0011")).len(), 1);
    }
}
