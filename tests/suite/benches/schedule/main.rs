//! What a schedule costs at scale: the core's, and what it could have been.
//!
//! ```sh
//! cargo bench -p sqs-lease-suite --bench schedule
//! ```
//!
//! A lease is taken out when it is due and comes back fifteen seconds later: that is an extension. The files of the
//! core are compiled in here as they are, for they are not public.

#![allow(
    dead_code,
    unused_imports,
    unreachable_pub,
    reason = "of the core's files only the schedule is used"
)]
#![allow(clippy::print_stdout, reason = "this is its output")]

extern crate alloc;

#[path = "../../../../core/src/group.rs"]
mod group;
#[path = "../../../../core/src/heap.rs"]
mod heap;
#[path = "../../../../core/src/links.rs"]
mod links;
mod others;
#[path = "../../../../core/src/schedule.rs"]
mod schedule;
#[path = "../../../../core/src/slots.rs"]
mod slots;
#[path = "../../../../core/src/time.rs"]
mod time;

/// What of it the schedule uses.
mod visibility {
    pub(crate) struct Visibility;

    impl Visibility {
        pub(crate) const BATCH: usize = 10;
    }
}

use std::time::Instant;

use others::{Lazy, Plan, Wheel};
use schedule::Schedule;

const LEASES: u32 = 120_000;
const HALF: u64 = 15_000_000_000;
const ROUNDS: usize = 9;

fn main() {
    println!("{LEASES} leases; median ns [least..most] of {ROUNDS} rounds, all in one run");
    println!("| leases due at one moment | | extension | insert | cancel |");
    println!("| --- | --- | --- | --- | --- |");
    for together in [1, 10, 160] {
        let mut figures = vec![[const { Vec::new() }; 3]; 3];
        for _ in 0..ROUNDS {
            let round: [[f64; 3]; 3] =
                [measure::<Schedule>(together), measure::<Lazy>(together), measure::<Wheel>(together)];
            for (figures, of_one) in figures.iter_mut().zip(round) {
                for (figures, figure) in figures.iter_mut().zip(of_one) {
                    figures.push(figure);
                }
            }
        }
        for (name, figures) in ["the core's", "binary heap, lazy", "hashed wheel"].iter().zip(figures) {
            let cells: Vec<String> = figures.into_iter().map(cell).collect();
            println!("| {together} | {name} | {} |", cells.join(" | "));
        }
    }
}

fn cell(mut figures: Vec<f64>) -> String {
    figures.sort_by(f64::total_cmp);
    format!("{:.1} [{:.1}..{:.1}]", figures[ROUNDS / 2], figures[0], figures[ROUNDS - 1])
}

/// Nanoseconds for an extension, an insert, a cancel.
fn measure<P: Plan>(together: u32) -> [f64; 3] {
    let mut plan = P::default();
    let step = HALF / u64::from(LEASES) * u64::from(together);
    let at = |slot: u32| HALF + u64::from(slot / together) * step;
    let began = Instant::now();
    for slot in 0..LEASES {
        plan.insert(slot, at(slot));
    }
    let insert = began.elapsed();

    // Whole calls are taken out and come back, as a set's are; three times each lease.
    let mut extended = 0;
    let mut call = Vec::with_capacity(10);
    let began = Instant::now();
    while extended < LEASES * 3 {
        let now = plan.next();
        loop {
            call.clear();
            plan.take(now, &mut call);
            if call.is_empty() {
                break;
            }
            plan.give(&call, now + HALF);
            extended += u32::try_from(call.len()).unwrap();
        }
    }
    let extend = began.elapsed() / (extended / LEASES);

    // In a scattered order.
    let mut slot = 0;
    let began = Instant::now();
    for _ in 0..LEASES {
        slot = (slot + 77_773) % LEASES;
        plan.cancel(slot);
    }
    let cancel = began.elapsed();
    assert!(plan.is_empty());
    [extend, insert, cancel].map(|time| time.as_secs_f64() * 1e9 / f64::from(LEASES))
}
