//! Random runs of one lease: a `Lease`, a `LeaseSet` of one and the reference say the same, always.

use sqs_lease_suite::harness::bytes::of_seed;
use sqs_lease_suite::harness::duel::duel;

/// `SEED=7 cargo test -p sqs-lease-suite --test duel` plays one run; `RUNS=1000000` plays many.
#[test]
fn three_opinions_agree() {
    let number = |name: &str| std::env::var(name).ok().and_then(|it| it.parse::<u64>().ok());
    let seeds = match number("SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("RUNS").unwrap_or(20_000),
    };
    for seed in seeds {
        let bytes = of_seed(seed, 400);
        if duel(&bytes).is_err() {
            // The shortest beginning of it that still differs.
            let shortest = (0..=bytes.len()).find_map(|len| duel(&bytes[..len]).err());
            panic!("seed {seed}:\n{}", shortest.expect("the whole of it differs"));
        }
    }
}
