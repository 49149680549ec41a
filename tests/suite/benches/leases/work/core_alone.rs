//! The core without a loop, a queue or a clock: a set, its calls, and their answers.

use std::hint::black_box;
use std::time::Duration;

use sqs_lease_driver::core::{Answer, LeaseSet, Policy};
use sqs_lease_driver::{Moment, Received, SetPolicy, Visibility};

use super::random::Random;
use super::{TIMEOUT, figures, step};
use crate::process::{Figures, cpu_nanos};

pub fn measure(leases: u32, extensions: u32) -> Figures {
    let mut set = LeaseSet::new(SetPolicy::new());
    let (policy, timeout) = (Policy::new(), Visibility::new(30).expect("30 s"));
    let start = Moment::from_secs(1);
    let each = step(TIMEOUT / 2, leases);
    let mut keys = Vec::with_capacity(leases as usize);

    let cpu = cpu_nanos();
    for number in 0..leases {
        let now = start + each * (number / 10);
        keys.push(set.insert(&policy, Received::new(now, timeout), number, now));
    }
    let inserted = cpu_nanos() - cpu;

    let mut now = start + TIMEOUT / 2;
    let (mut extended, mut calls) = (0_u32, 0_u32);
    let mut cpu = 0.0;
    while extended < extensions {
        // The first round is warming up.
        if extended >= leases && cpu == 0.0 {
            (extended, calls) = (0, 0);
            cpu = cpu_nanos();
        }
        while let Some(call) = set.poll_call(now) {
            extended += u32::try_from(call.entries.len()).expect("ten at most");
            calls += 1;
            for entry in &call.entries {
                black_box(set.get(entry.key));
            }
            set.handle_answer(call.id, Answer::Done, now);
        }
        while let Some(event) = set.poll_event(now) {
            black_box(event);
        }
        now = set.poll_timeout().expect("something is due").max(now + Duration::from_nanos(1));
    }
    let extending = cpu_nanos() - cpu;

    Random::new(1).shuffle(&mut keys);
    let cpu = cpu_nanos();
    for key in &keys {
        black_box(set.remove(*key));
    }
    let cancelled = cpu_nanos() - cpu;
    let leases = f64::from(leases);
    figures([
        ("insert ns", inserted / leases),
        ("extension ns", extending / f64::from(extended)),
        ("cancel ns", cancelled / leases),
        ("entries per call", f64::from(extended) / f64::from(calls)),
    ])
}
