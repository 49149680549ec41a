//! Random operation sequences: the model and the servers of others answer alike, or differ in a way that has a name.
//!
//! Without those servers (`tests/servers/servers.sh`) this says that it is skipped.

use sqs_lease_suite::differential::{play, shrink};
use sqs_lease_suite::servers::{Kind, Server, say};

/// How many sequences a round has.
const ROUND: u64 = 48;

/// `SEED=7 cargo test -p sqs-lease-suite --test differential` plays one sequence, `ROUNDS=100` many more than the two
/// rounds of 48 that are played otherwise.
fn agrees(kind: Kind) {
    let Some(server) = Server::find_with_clock(kind) else { return };
    let number = |name: &str| std::env::var(name).ok().and_then(|it| it.parse::<u64>().ok());
    let rounds = match number("SEED") {
        Some(seed) => seed / ROUND..seed / ROUND + 1,
        None => 0..number("ROUNDS").unwrap_or(2),
    };
    let mut agreed = 0;
    for round in rounds {
        let seeds = number("SEED").map_or(round * ROUND..(round + 1) * ROUND, |seed| seed..seed + 1);
        let report = play(&server, round, seeds);
        say(&format!("the model and {}, round {round}: {report}", kind.name()));
        agreed += report.agreed;
        if let Some((seed, what)) = report.unknown.first() {
            let all: Vec<_> = report.unknown.iter().map(|(seed, _)| seed).collect();
            say(&format!(
                "differences that are not known at SEED={all:?}. The first of them, SEED={seed}:\n{what}"
            ));
            panic!("shortened:\n{}", shrink(&server, round, *seed));
        }
    }
    assert!(agreed > 0, "nothing was compared");
}

#[test]
fn model_and_localstack() {
    agrees(Kind::LocalStack);
}

#[test]
fn model_and_ministack() {
    agrees(Kind::Ministack);
}
