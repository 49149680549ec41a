//! Time lines: what became of a message's deliveries, as a picture.
//!
//! A picture comes [from a transcript](Timeline::of_transcript), with another consumer that asks the simulated SQS for
//! the message meanwhile, or [from a simulation](Timeline::of_simulation). `cargo run -p sqs-lease-suite --bin timeline`
//! writes either as SVG.
//!
//! ```
//! use sqs_lease_suite::timeline::Timeline;
//!
//! let text = "timeout 30\nanswer-after 0.1\n0 receive\n35 delete\n60 end\n";
//! let svg = Timeline::of_transcript("slow work", text)?.to_svg();
//! assert!(svg.starts_with("<svg "));
//! # Ok::<(), String>(())
//! ```

use std::path::Path;

use crate::simulation::Scenario;

mod simulated;
mod svg;
mod transcribed;

pub use svg::{DARK, LIGHT, Palette, SMALLEST_TEXT};

/// A picture before it is drawn. Times are nanoseconds from an origin of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timeline {
    pub(crate) title: String,
    pub(crate) deliveries: Vec<Delivery>,
    /// When another consumer asked for the message, and whether it got it.
    pub(crate) polls: Vec<(u64, bool)>,
    /// Where nothing can be extended any more, if that is in the picture.
    pub(crate) limit: Option<u64>,
    pub(crate) until: u64,
}

impl Timeline {
    /// Reads a picture's file, a transcript (`.lease`) or a scenario as `simulate` prints it (`.seed`). Its first line is
    /// a comment, and the title.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn of_file(name: &str, text: &str) -> Result<Self, String> {
        let (title, rest) = match text.split_once('\n') {
            Some((first, rest)) if first.starts_with("# ") => (first.trim_start_matches("# "), rest),
            _ => (name, text),
        };
        if Path::new(name).extension().is_some_and(|it| it == "seed") {
            return Self::of_simulation(title, &Scenario::parse(rest)?);
        }
        Self::of_transcript(title, text)
    }
}

/// One receive of the message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Delivery {
    pub(crate) who: String,
    pub(crate) received: u64,
    /// Until when its handler worked on it, and how that ended.
    pub(crate) end: Option<(u64, End, String)>,
    /// Each timeout that SQS granted: from when, until when.
    pub(crate) timeouts: Vec<(u64, u64)>,
    pub(crate) calls: Vec<Call>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Settled,
    Lost,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Call {
    pub(crate) sent: u64,
    pub(crate) kind: Kind,
    /// When it was known to have failed.
    pub(crate) failed: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Extension,
    Final,
    Delete,
    /// Visible again in so many seconds.
    Release(u32),
}

impl Kind {
    pub(crate) fn is_extension(self) -> bool {
        matches!(self, Self::Extension | Self::Final)
    }
}
