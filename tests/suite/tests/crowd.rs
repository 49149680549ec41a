//! Random runs of a set of several leases keep every promise of the set.

use sqs_lease_suite::harness::bytes::of_seed;
use sqs_lease_suite::harness::crowd::crowd;

/// `SEED=7 cargo test -p sqs-lease-suite --test crowd` plays one run; `RUNS=1000000` plays many.
#[test]
fn a_set_keeps_its_promises() {
    let number = |name: &str| std::env::var(name).ok().and_then(|it| it.parse::<u64>().ok());
    let seeds = match number("SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("RUNS").unwrap_or(4_000),
    };
    for seed in seeds {
        let bytes = of_seed(seed, 900);
        if let Err(panic) = std::panic::catch_unwind(|| crowd(&bytes)) {
            eprintln!("seed {seed}");
            std::panic::resume_unwind(panic);
        }
    }
}
