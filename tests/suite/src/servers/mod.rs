//! The SQS-compatible servers of others, as independent witnesses: where they run, what they get wrong, and scenes that
//! every adapter plays on them.
//!
//! `tests/servers/servers.sh` installs, starts and stops them, and says what to export so that they are found here.

mod client;
mod off_tokio;
mod scenes;
mod stage;
mod twelve_hours;

use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

pub use client::{Client, Refused};
pub use scenes::*;
pub use stage::{Adapter, Terms};
pub use twelve_hours::told_of_the_limit_by_refusal;

/// A server of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `LocalStack` 4.13.1: the closest to recorded answers of AWS; up to 1.2 s late.
    LocalStack,
    /// ministack 1.5.33: exact in time.
    Ministack,
    /// moto 5.2.5: the one that refuses what reaches beyond 12 hours.
    Moto,
}

impl Kind {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::LocalStack => "LocalStack",
            Self::Ministack => "ministack",
            Self::Moto => "moto",
        }
    }

    fn variable(self) -> String {
        format!("SQS_LEASE_{}", self.name().to_uppercase())
    }
}

/// Where it runs.
#[derive(Clone, Debug)]
pub struct Server {
    /// Which one.
    pub kind: Kind,
    /// Its URL.
    pub endpoint_url: String,
    clock: Option<PathBuf>,
}

impl Server {
    /// The server that the environment names, `SQS_LEASE_LOCALSTACK=http://127.0.0.1:4601` for instance.
    ///
    /// Where it names none, that is said aloud, once for each kind.
    pub fn find(kind: Kind) -> Option<Self> {
        static SAID: Mutex<Vec<String>> = Mutex::new(Vec::new());
        let variable = kind.variable();
        let Some(endpoint_url) = std::env::var(&variable).ok().filter(|url| !url.is_empty()) else {
            let mut said = SAID.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            if !said.contains(&variable) {
                say(&format!("SKIPPED: everything on {}: {variable} is not set", kind.name()));
                said.push(variable);
            }
            return None;
        };
        let clock = std::env::var(format!("{variable}_CLOCK")).ok().map(PathBuf::from);
        Some(Self { kind, endpoint_url, clock })
    }

    /// As [`find`](Self::find), where its clock can be put forward.
    pub fn find_with_clock(kind: Kind) -> Option<Self> {
        let found = Self::find(kind)?;
        if found.clock.is_none() {
            say(&format!(
                "SKIPPED: whatever needs the clock of {}: {}_CLOCK is not set",
                kind.name(),
                kind.variable()
            ));
            return None;
        }
        Some(found)
    }

    /// The server, unless it gets this wrong; then that is said aloud.
    pub fn find_for(kind: Kind, scene: &str) -> Option<Self> {
        let found = Self::find(kind)?;
        if let Some((.., reason)) = WRONG.iter().find(|(who, what, _)| *who == kind && *what == scene) {
            say(&format!("SKIPPED: {scene} on {}: {reason}", kind.name()));
            return None;
        }
        Some(found)
    }

    /// A client without an SDK.
    pub fn client(&self) -> Client {
        Client::new(&self.endpoint_url)
    }

    /// Puts its clock this far ahead of ours.
    ///
    /// # Panics
    /// The clock's file is not set, or cannot be written.
    pub fn set_ahead(&self, by: Duration) {
        let clock = self.clock.as_ref().expect("the clock's file");
        let aside = clock.with_extension("aside");
        std::fs::write(&aside, format!("+{:.3}\n", by.as_secs_f64()))
            .expect("the clock's file can be written");
        // A server that reads half of it would jump back.
        std::fs::rename(&aside, clock).expect("the clock's file can be replaced");
    }
}

/// What a server gets wrong, and so does not prove.
const WRONG: &[(Kind, &str, &str)] = &[(
    Kind::Ministack,
    "told_of_a_delete_by_an_older_handle",
    "it refuses the delete by an older handle with ReceiptHandleIsInvalid; SQS may delete the message \
         (documented), and LocalStack does",
)];

/// Prints past the capture of passing tests.
pub fn say(line: &str) {
    // Nobody listens: nothing to be done about it.
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// A name that no other queue has, in this process or another.
pub fn unique(name: &str) -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let nanos = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_nanos();
    format!("{name}-{nanos:x}-{}", NEXT.fetch_add(1, Ordering::Relaxed))
}
