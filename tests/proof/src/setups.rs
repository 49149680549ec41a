//! The bounds within which everything is tried.

use crate::consumer::Want;
use crate::held::{Terms, Time, Why};
use crate::message::SEC;

/// By when a request has come to SQS, where it comes at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Network {
    /// At once.
    Good,
    /// Before its answer is given up on: a driver that ends its calls then.
    ByAnswerBy,
    /// Before what the lease had left when it was sent has run out.
    BeforeTheEnd,
}

/// What may happen, and how much of it.
#[derive(Clone, Debug)]
pub struct Setup {
    /// A name to print.
    pub name: &'static str,
    /// What leases know from the start.
    pub terms: Terms,
    /// How long before a receive its request was sent.
    pub requested_before: Time,
    /// How much sooner than it was sent SQS believes that request to have come.
    pub skew: Time,
    /// How late requests may be.
    pub network: Network,
    /// The answer of a receive takes this long at most; no longer than the guard.
    pub way_back: Time,
    /// Other answers take this long at most.
    pub late: Time,
    /// How many requests or answers may be lost, refused, or come twice.
    pub faults: u8,
    /// What a server in trouble says.
    pub refusals: &'static [Why],
    /// What handlers may ask for.
    pub wants: &'static [Want],
    /// What extension they may ask for by hand.
    pub by_hand: &'static [u32],
    /// Of how many receives the handlers may ask for anything; those of later ones just work.
    pub asking: u8,
    /// How often one of those may stand still, and for how long at most.
    pub pauses: (u8, Time),
    /// The last receive is handed out by then, and everything is over at the second.
    pub until: (Time, Time),
    /// The clock moves by this much, or less where a lease wants to be woken.
    pub tick: Time,
}

const TERMS: Terms = Terms { timeout: 6, guard: SEC, max_hold: Some(11 * SEC) };

const PLAIN: Setup = Setup {
    name: "",
    terms: TERMS,
    requested_before: 0,
    skew: 0,
    network: Network::BeforeTheEnd,
    way_back: SEC,
    late: 2 * SEC,
    faults: 3,
    refusals: &[Why::Transient],
    wants: &[],
    by_hand: &[],
    asking: 1,
    pauses: (0, 0),
    until: (8 * SEC, 22 * SEC),
    tick: SEC,
};

const TWELVE_HOURS: Time = 43_200 * SEC;

/// Nothing goes wrong.
pub const GOOD: Setup =
    Setup { name: "good", network: Network::Good, late: 0, faults: 0, until: (12 * SEC, 26 * SEC), ..PLAIN };
/// Extensions only, on a network that loses, delays, reorders and repeats.
pub const EXTEND: Setup = Setup { name: "extend", ..PLAIN };
/// A server that throttles and denies.
pub const REFUSED: Setup = Setup {
    name: "refused",
    terms: Terms { max_hold: Some(13 * SEC), ..TERMS },
    network: Network::ByAnswerBy,
    late: SEC,
    faults: 2,
    refusals: &[Why::Throttled, Why::Denied],
    wants: &[Want::Delete],
    ..PLAIN
};
/// Handlers that succeed, at any time.
pub const DELETE: Setup = Setup {
    name: "delete",
    network: Network::ByAnswerBy,
    late: SEC,
    faults: 2,
    wants: &[Want::Delete],
    ..PLAIN
};
/// Handlers that give back or let go, at any time.
pub const RELEASE: Setup = Setup {
    name: "release",
    network: Network::ByAnswerBy,
    late: SEC,
    faults: 1,
    wants: &[Want::Release(0), Want::Release(3), Want::Leave],
    ..PLAIN
};
/// The 12 hours of SQS, near.
pub const LIMIT: Setup = Setup {
    name: "limit",
    terms: Terms { max_hold: None, ..TERMS },
    requested_before: TWELVE_HOURS - 9 * SEC - SEC / 4,
    ..PLAIN
};
/// The same, and SQS counts two seconds more than we do.
pub const SKEWED: Setup = Setup { name: "skewed", skew: 2 * SEC, ..LIMIT };
/// Consumers that stand still, with their clocks or without.
pub const PAUSED: Setup = Setup { name: "paused", faults: 1, pauses: (1, 4 * SEC), ..PLAIN };
/// Longer and shorter extensions, asked for by hand.
pub const BY_HAND: Setup = Setup { name: "by hand", network: Network::ByAnswerBy, by_hand: &[9, 4], ..PLAIN };

/// Beyond the bounds. A request that comes after its answer was given up on undoes a longer extension that was asked for
/// since, or a release; and a shorter extension cuts the guard at once, below what the answer of the receive took.
pub const BEYOND: &[Setup] = &[
    Setup {
        name: "a late request, and a longer extension by hand",
        terms: Terms { max_hold: Some(20 * SEC), ..TERMS },
        network: Network::BeforeTheEnd,
        by_hand: &[12],
        ..BY_HAND
    },
    Setup { name: "a late request, and a release", network: Network::BeforeTheEnd, ..RELEASE },
    Setup { name: "a guard below the way back", by_hand: &[2], ..BY_HAND },
];
