//! Transcripts: what a lease does, as a text that a person can read and a machine can play.
//!
//! ```
//! use sqs_lease_suite::transcript::{play, Transcript, With};
//!
//! let text = "
//! timeout 30
//! guard 0
//! answer-after 0.1
//! 0      receive
//! 15     > extend 30 until 20
//! 20     delete
//! 20     > delete until 28.333
//! 20.1   > stop deleted
//! 60     end
//! ";
//! let transcript = Transcript::parse(text)?;
//! assert_eq!(play(&transcript, With::Lease), vec![]);
//! assert_eq!(play(&transcript, With::Set), vec![]);
//! # Ok::<(), sqs_lease_suite::transcript::ParseError>(())
//! ```

mod parse;
mod play;
pub(crate) mod subject;

use std::fmt;

pub use parse::{ParseError, Settings, Transcript};
pub use play::play;
pub(crate) use play::{Watched, watch};

/// What a transcript is played on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum With {
    /// A `Lease` on its own.
    Lease,
    /// A `LeaseSet` that holds one lease.
    Set,
    /// The suite's own [reference](crate::reference::Reference).
    Reference,
}

/// Something that a lease said, as transcripts write it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// An ordinary extension.
    Extend(u32),
    /// The final extension.
    Final(u32),
    /// The warning that the limit is near, without an extension.
    WarnLimit,
    /// The warning that SQS denies.
    WarnDenied,
    /// A delete.
    Delete,
    /// A release.
    Release(u32),
    /// The end, by its reason.
    Stop(&'static str),
}

impl fmt::Display for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Extend(by) => write!(f, "extend {by}"),
            Self::Final(by) => write!(f, "final {by}"),
            Self::WarnLimit => f.write_str("warn limit"),
            Self::WarnDenied => f.write_str("warn denied"),
            Self::Delete => f.write_str("delete"),
            Self::Release(after) => write!(f, "release {after}"),
            Self::Stop(reason) => write!(f, "stop {reason}"),
        }
    }
}

/// An output with its time and, for a call, the time by which its answer is wanted. Nanoseconds from the
/// transcript's zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Said {
    /// When.
    pub at: u64,
    /// What.
    pub output: Output,
    /// For calls: the answer is wanted by then.
    pub until: Option<u64>,
}

impl Said {
    const TOLERANCE: u64 = 1_000_000;

    /// The same output, each time within a millisecond.
    pub fn agrees(&self, other: &Self) -> bool {
        let close = |a: u64, b: u64| a.abs_diff(b) <= Self::TOLERANCE;
        self.output == other.output
            && close(self.at, other.at)
            && match (self.until, other.until) {
                (Some(a), Some(b)) => close(a, b),
                (None, None) => true,
                _ => false,
            }
    }
}

impl fmt::Display for Said {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} > {}", Seconds(self.at), self.output)?;
        self.until.map_or(Ok(()), |until| write!(f, " until {}", Seconds(until)))
    }
}

/// Nanoseconds as a transcript writes them: seconds, rounded to the millisecond.
struct Seconds(u64);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let millis = self.0.saturating_add(500_000) / 1_000_000;
        let text = format!("{}.{:03}", millis / 1000, millis % 1000);
        f.write_str(text.trim_end_matches('0').trim_end_matches('.'))
    }
}

/// Nanoseconds as seconds, to the last digit.
pub(crate) struct Exact(pub(crate) u64);

impl fmt::Display for Exact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = format!("{}.{:09}", self.0 / 1_000_000_000, self.0 % 1_000_000_000);
        f.write_str(text.trim_end_matches('0').trim_end_matches('.'))
    }
}

/// A place where what came is not what the transcript expects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disagreement {
    /// The line of the expected output, or the one behind which something unexpected came.
    pub line: usize,
    /// What the transcript expects, if anything.
    pub expected: Option<String>,
    /// What came instead, if anything.
    pub came: Option<String>,
}

impl fmt::Display for Disagreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let or_nothing = |text: &Option<String>| text.clone().unwrap_or_else(|| "nothing".to_owned());
        write!(
            f,
            "line {}: expected {}, came {}",
            self.line,
            or_nothing(&self.expected),
            or_nothing(&self.came)
        )
    }
}
