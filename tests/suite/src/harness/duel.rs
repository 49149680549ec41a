//! One lease, three opinions: a `Lease`, a `LeaseSet` of one, and the reference.

use std::fmt::Write as _;
use std::time::Duration;

use sqs_lease_core::{Failure, Moment, Visibility};

use super::Bytes;
use crate::reference::{Reference, Time};
use crate::transcript::subject::{self, CallRef, Drained, Kind, Subject, Want};
use crate::transcript::{Exact, Settings, With};

const SEC: u64 = 1_000_000_000;
const RECEIVED_AT: u64 = 1_000_000 * SEC;
/// How many inputs a run has at most.
const INPUTS: usize = 80;
/// How many wake-ups a run has at most between two inputs.
const WAKE_UPS: usize = 2_000;

/// Plays these bytes on all three. Where they differ: the run as a transcript, with what came.
///
/// # Errors
/// They differ. The text is a transcript that expects what the reference does.
pub fn duel(bytes: &[u8]) -> Result<(), String> {
    let mut bytes = Bytes::new(bytes);
    let settings = settings(&mut bytes);
    let mut run = Run::new(settings);
    run.drive()?;
    for _ in 0..INPUTS {
        if bytes.is_empty() || run.is_quiet {
            break;
        }
        run.step(&mut bytes)?;
    }
    // To the end: every lease ends.
    for _ in 0..WAKE_UPS {
        let Some(at) = run.reference.wake_up() else { return Ok(()) };
        run.now = run.now.max(nanos(at));
        run.drive()?;
    }
    // A twelve-hour lease of one second wakes more often than that.
    Ok(())
}

fn nanos(time: Time) -> u64 {
    u64::try_from(time.max(0)).expect("within the clock")
}

/// Settings of every size, most of them small.
pub(super) fn settings(bytes: &mut Bytes<'_>) -> Settings {
    const TIMEOUTS: &[u32] = &[30, 1, 2, 3, 4, 5, 6, 10, 15, 31, 60, 120, 600, 3_600, 14_400, 28_800, 43_190];
    const TIMES: &[u64] = &[1, 2, 10, 20, 30, 31, 60, 61, 90, 100, 600, 3_600, 43_199, 43_200];
    const GUARDS: &[u64] = &[0, 250, 1_000, 3_000, 40_000, 100_000_000];
    let timeout = match bytes.below(16) {
        0 => 0,
        1 => 43_195,
        2 => 43_200,
        3 | 4 => u32::try_from(bytes.below(43_201)).expect("in range"),
        _ => bytes.pick(TIMEOUTS),
    };
    let mut settings = Settings::of_timeout(timeout);
    if bytes.below(3) == 0 {
        settings.extension = Some(bytes.pick(TIMEOUTS));
    }
    if bytes.below(2) == 0 {
        settings.guard = Some(bytes.pick(GUARDS) * 1_000_000);
    }
    if bytes.below(4) == 0 {
        settings.limit_margin = bytes.below(60_001) * 1_000_000;
    }
    if bytes.below(3) == 0 {
        settings.max_hold = Some(bytes.pick(TIMES) * SEC - bytes.below(2) * SEC / 4);
        settings.max_hold = settings.max_hold.map(|hold| hold.max(SEC));
    }
    settings.requested = match bytes.below(5) {
        0 => 20 * SEC,
        1 => bytes.below(43_300) * SEC / 3,
        2 => bytes.pick(TIMES) * SEC,
        _ => 0,
    };
    settings
}

struct Run {
    reference: Reference,
    others: [(With, Box<dyn Subject>); 2],
    /// The last calls, the newest last, as each of the three names them: an answer may be for an old one.
    calls: Vec<(Kind, [CallRef; 3])>,
    now: u64,
    driven_at: u64,
    text: String,
    /// The lease is over, and some inputs after that did nothing.
    is_quiet: bool,
    after_the_end: usize,
}

impl Run {
    fn new(settings: Settings) -> Self {
        let received_at = Moment::from_nanos(RECEIVED_AT);
        let mut text = String::new();
        let mut line = |name: &str, value: String| writeln!(text, "{name} {value}").expect("a string");
        line("timeout", settings.timeout.to_string());
        if let Some(extension) = settings.extension {
            line("extension", extension.to_string());
        }
        if let Some(guard) = settings.guard {
            line("guard", Exact(guard).to_string());
        }
        line("limit-margin", Exact(settings.limit_margin).to_string());
        if let Some(hold) = settings.max_hold {
            line("max-hold", Exact(hold).to_string());
        }
        line("requested", Exact(settings.requested).to_string());
        line("0", "receive".to_owned());
        Self {
            reference: Reference::new(settings, Time::from(RECEIVED_AT)),
            others: [With::Lease, With::Set].map(|with| (with, subject::new(&settings, received_at, with))),
            calls: Vec::new(),
            now: RECEIVED_AT,
            driven_at: RECEIVED_AT,
            text,
            is_quiet: false,
            after_the_end: 0,
        }
    }

    fn line(&mut self, at: u64, what: &str) {
        writeln!(self.text, "{} {what}", Exact(at - RECEIVED_AT)).expect("a string");
    }

    fn step(&mut self, bytes: &mut Bytes<'_>) -> Result<(), String> {
        if self.reference.is_over() {
            self.after_the_end += 1;
            self.is_quiet = self.after_the_end > 3;
        }
        match bytes.below(8) {
            0..=2 => self.wake_up(0)?,
            3 => {
                let target = self.target(bytes);
                self.run_until(target)?;
            }
            4 => {
                let target = self.target(bytes);
                self.sleep_until(target);
            }
            _ => {}
        }
        let now = Moment::from_nanos(self.now);
        match bytes.below(20) {
            0..=2 => self.answer(Kind::Extension, Ok(()), 0)?,
            3..=7 => self.answer(Kind::Extension, Err(failure(bytes)), 0)?,
            8 => self.answer(Kind::Settle, Ok(()), 0)?,
            9..=11 => self.answer(Kind::Settle, Err(failure(bytes)), 0)?,
            12 => {
                let which = 1 + usize::from(bytes.byte() % 3);
                self.answer(bytes.pick(&[Kind::Extension, Kind::Settle]), Ok(()), which)?;
            }
            13 if bytes.below(2) == 0 => self.want("delete", Want::Delete, now)?,
            14 if bytes.below(2) == 0 => {
                let after = bytes.pick(&[0, 1, 5, 15, 30, 600, 43_200]);
                let want = Want::Release(Visibility::new(after).expect("in range"));
                self.want(&format!("release {after}"), want, now)?;
            }
            15 if bytes.below(8) == 0 => self.want("leave", Want::Leave, now)?,
            16 | 17 => {
                let by = bytes.pick(&[1, 2, 5, 10, 29, 30, 31, 60, 600, 43_200]);
                let want = Want::Extension(Visibility::new(by).expect("in range"));
                self.want(&format!("extension {by}"), want, now)?;
            }
            18 if bytes.below(2) == 0 => {
                let gap = bytes.pick(&[0, 1, 250, 1_000, 3_000, 11_000, 600_000]) * 1_000_000;
                let text = format!("gap {}", Exact(gap));
                self.want(&text, Want::Gap(Duration::from_nanos(gap)), now)?;
            }
            19 => {
                // The clock runs backwards, or the core is driven although nothing is due.
                let now = self.now;
                self.now = now.saturating_sub(bytes.pick(&[0, 1, SEC, 40 * SEC, u64::MAX]));
                let text = format!("# driven at {}", Exact(self.now.saturating_sub(RECEIVED_AT)));
                self.line(now, &text);
                let driven = self.drive();
                self.now = now;
                driven?;
            }
            _ => {}
        }
        Ok(())
    }

    /// An instant that something hangs on, or a little beside it.
    fn target(&mut self, bytes: &mut Bytes<'_>) -> u64 {
        let wake_up = self.reference.wake_up().map_or(self.now, nanos);
        let at = match bytes.below(5) {
            0 => nanos(self.reference.held_until()),
            1 => nanos(self.reference.end()),
            2 => self.now + bytes.below(60_000) * 1_000_000,
            3 => self.now + wake_up.saturating_sub(self.now) * bytes.below(17) / 16,
            _ => wake_up,
        };
        let beside = bytes.pick(&[0, 0, 1, u64::MAX, SEC / 10, SEC]);
        let at = if beside == u64::MAX { at.saturating_sub(1) } else { at + beside };
        at.max(self.now)
    }

    fn wake_up(&mut self, late: u64) -> Result<(), String> {
        let Some(at) = self.reference.wake_up() else { return Ok(()) };
        self.now = self.now.max(nanos(at) + late);
        self.drive()
    }

    /// Time runs on, and all are woken when they want to be.
    fn run_until(&mut self, target: u64) -> Result<(), String> {
        for _ in 0..WAKE_UPS {
            match self.reference.wake_up().map(nanos) {
                Some(at) if at < target => self.now = self.now.max(at),
                _ => break,
            }
            self.drive()?;
        }
        self.now = match self.reference.wake_up().map(nanos) {
            // Too many: it goes no further.
            Some(at) if at < self.now => self.now,
            Some(at) => target.min(at).max(self.now),
            None => target,
        };
        Ok(())
    }

    /// Time runs on, and nobody is woken.
    fn sleep_until(&mut self, target: u64) {
        let from = self.driven_at;
        self.now = target;
        let text = format!("asleep {}", Exact(target - RECEIVED_AT));
        self.line(from, &text);
    }

    fn answer(&mut self, kind: Kind, answer: Result<(), Failure>, old: usize) -> Result<(), String> {
        let mut of_kind = self.calls.iter().rev().filter(|(it, _)| *it == kind);
        let Some(&(_, [reference, lease, set])) = of_kind.nth(old) else { return Ok(()) };
        let text = match (kind, answer) {
            (Kind::Extension, Ok(())) => "ok".to_owned(),
            (Kind::Extension, Err(failure)) => format!("fail {failure}"),
            (Kind::Settle, Ok(())) => "settled".to_owned(),
            (Kind::Settle, Err(failure)) => format!("settle-fail {failure}"),
        };
        let subject: &dyn Subject = &self.reference;
        let expected = subject.awaits(reference);
        for ((with, subject), call) in self.others.iter().zip([lease, set]) {
            if subject.awaits(call) != expected {
                return Err(format!("{}# {with:?} does not agree whether {text} counts", self.text));
            }
        }
        let text = if old == 0 { text } else { format!("# {text}, for the call {old} before the last") };
        self.line(self.now, &text);
        let now = Moment::from_nanos(self.now);
        let subject: &mut dyn Subject = &mut self.reference;
        subject.answer(reference, answer, now);
        for ((_, subject), call) in self.others.iter_mut().zip([lease, set]) {
            subject.answer(call, answer, now);
        }
        self.drive()
    }

    fn want(&mut self, text: &str, want: Want, now: Moment) -> Result<(), String> {
        self.line(self.now, text);
        let reference: &mut dyn Subject = &mut self.reference;
        let expected = reference.want(want, now);
        for (with, subject) in &mut self.others {
            let said = subject.want(want, now);
            if said != expected {
                return Err(format!("{}# {with:?} says {said:?}, not {expected:?}", self.text));
            }
        }
        self.drive()
    }

    /// Drains all three at this instant, and compares all that comes.
    fn drive(&mut self) -> Result<(), String> {
        let now = Moment::from_nanos(self.now);
        self.driven_at = self.driven_at.max(self.now);
        let reference: &mut dyn Subject = &mut self.reference;
        let expected = reference.drain(now);
        let mut came = self.others.each_mut().map(|(_, subject)| subject.drain(now));
        for drained in &expected {
            let until = drained.call.map(|(_, _, until)| until.as_nanos());
            let until =
                until.map_or_else(String::new, |until| format!(" until {}", Exact(until - RECEIVED_AT)));
            self.line(self.driven_at, &format!("> {}{until}", drained.output));
        }
        for ((with, subject), came) in self.others.iter().zip(&came) {
            if told(came) != told(&expected) {
                let (came, expected) = (told(came), told(&expected));
                return Err(format!("{}# {with:?}: {came:?}, not {expected:?}", self.text));
            }
            let (theirs, ours) = (subject.look(now), Subject::look(&self.reference, now));
            if theirs != ours {
                return Err(format!("{}# {with:?} is {theirs:?}, not {ours:?}", self.text));
            }
            let (theirs, ours) = (subject.wake_up(), Subject::wake_up(&self.reference));
            // A set also wakes up to close a call whose lease is over.
            let agrees = match with {
                With::Set => ours.is_none_or(|ours| theirs.is_some_and(|theirs| theirs <= ours)),
                _ => theirs == ours,
            };
            if !agrees {
                return Err(format!("{}# {with:?} wakes up at {theirs:?}, not {ours:?}", self.text));
            }
        }
        let [lease, set] = &mut came;
        for ((expected, lease), set) in expected.iter().zip(lease).zip(set) {
            if let (Some((kind, one, _)), Some((_, two, _)), Some((_, three, _))) =
                (expected.call, lease.call, set.call)
            {
                self.calls.push((kind, [one, two, three]));
            }
        }
        Ok(())
    }
}

/// What can be compared: the output, whether it warns, and by when an answer is wanted.
type Told = (crate::transcript::Output, bool, Option<(Kind, Moment)>);

fn told(drained: &[Drained]) -> Vec<Told> {
    let call = |it: &Drained| it.call.map(|(kind, _, until)| (kind, until));
    drained.iter().map(|it| (it.output, it.warns, call(it))).collect()
}

fn failure(bytes: &mut Bytes<'_>) -> Failure {
    bytes.pick(&[
        Failure::Transient,
        Failure::Transient,
        Failure::Throttled,
        Failure::Denied,
        Failure::Limit,
        Failure::Limit,
        Failure::Gone,
    ])
}
