//! Whole runs against the simulated SQS, from seeds. A seed that fails is printed with how to replay it.

use std::process::Command;
use std::time::Instant;

use sqs_lease_suite::simulation::{Feature, Scenario, run, run_all, saturated, shrink};

/// How many seeds a gate runs. `simulate --seeds` runs more.
const SEEDS: u64 = 3_000;
const MOST_MESSAGES: u32 = 50;

#[test]
fn no_seed_fails() {
    let started = Instant::now();
    let summary = run_all(0..SEEDS, 2, |seed| Scenario::of_seed(seed, MOST_MESSAGES));
    let it = &summary.outcome;
    println!(
        "{} seeds in {:?}: {} deliveries held, {} changes of visibility, {} losses, {} crashes",
        summary.seeds,
        started.elapsed(),
        it.deliveries,
        it.changes,
        it.losses,
        it.crashes
    );
    if let Some(&seed) = summary.failed.first() {
        let small = shrink(&Scenario::of_seed(seed, MOST_MESSAGES));
        let why = run(&small).violations.remove(0);
        panic!(
            "seed {seed} fails, {} of {SEEDS} in all; replay the smallest that fails as well with\n\
             cargo run -p sqs-lease-suite --bin simulate -- {small}\n{why}",
            summary.failed.len()
        );
    }
    // That it went well says something only if there was something to do, and enough that went wrong.
    assert!(it.deliveries > 30 * SEEDS && it.changes > 100 * SEEDS, "{it:?}");
    assert!(it.losses > 3 * SEEDS && it.crashes > SEEDS / 2, "{it:?}");
}

#[test]
fn a_seed_is_one_run_and_always_the_same() {
    for seed in [1, 17, 59, 1_927, 3_084] {
        let scenario = Scenario::of_seed(seed, MOST_MESSAGES);
        assert_eq!(run(&scenario), run(&scenario), "{scenario}");
    }
    assert_ne!(run(&Scenario::of_seed(1, MOST_MESSAGES)), run(&Scenario::of_seed(2, MOST_MESSAGES)));
}

#[test]
fn many_leases_need_a_tenth_of_the_calls_and_two_percent() {
    for leases in [200, 1_000, 2_000] {
        let it = saturated(leases, 7);
        println!("{leases} leases: {it:?}");
        let (calls, extensions) = (it.calls * 1_000, it.extensions as u64 * 102);
        assert!(calls <= extensions, "{leases} leases: {it:?}");
        // The middle of 30 seconds, at most a tenth of the timeout early: 240 to 300 in an hour.
        let each = it.extensions / usize::try_from(leases).unwrap();
        assert!((240..=305).contains(&each), "{leases} leases: {it:?}");
    }
}

/// Whoever looks for a bug is shown to find one: handlers that hear of no loss.
#[test]
fn a_bug_is_found_shrunk_and_replayed_alone() {
    let seeds = 0..200;
    let deaf = |seed| Scenario::of_seed(seed, MOST_MESSAGES).with(Feature::Deaf);
    let summary = run_all(seeds, 2, deaf);
    let found = summary.failed.len();
    assert!(found > 20, "only {found} of {} seeds show it", summary.seeds);

    // A large one, so that there is something to take away.
    let scenario = summary.failed.iter().map(|&seed| deaf(seed)).max_by_key(|it| it.messages).unwrap();
    let small = shrink(&scenario);
    assert!(small.messages <= 3 && small.messages < scenario.messages, "{scenario} shrinks to {small}");
    assert!(small.consumers <= 2 && small.has(Feature::Deaf), "{scenario} shrinks to {small}");
    assert!(small.features.len() < scenario.features.len(), "{scenario} shrinks to {small}");
    for feature in &small.features {
        let without = small.without(*feature);
        assert!(run(&without).violations.is_empty(), "it fails without {feature:?} as well: {without}");
    }

    // As it is printed, it is replayed by the command, and fails with the same words.
    let violation = run(&small).violations.remove(0);
    let replayed =
        Command::new(env!("CARGO_BIN_EXE_simulate")).args(small.to_string().split(' ')).output().unwrap();
    let said = String::from_utf8(replayed.stdout).unwrap();
    assert!(!replayed.status.success() && said.contains(&violation), "{said}");
    assert!(violation.starts_with(&small.to_string()), "{violation}");
}
