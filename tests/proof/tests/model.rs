//! Everything that can happen to the real lease, within the bounds of each setup.
//!
//! `MORE_FAULTS=1` adds a fault to each: many times the states. `--nocapture` shows the bounds.

use std::io::Write as _;

use sqs_lease_core::Lease;
use sqs_lease_proof::model::Checked;
use sqs_lease_proof::properties::{HIDDEN, NOT_UNDONE, TOLD};
use sqs_lease_proof::setups::{self, Setup};
use stateright::{Checker, HasDiscoveries, Model};

fn check(setup: &Setup, states: usize) {
    let more = std::env::var("MORE_FAULTS").ok().and_then(|it| it.parse().ok()).unwrap_or(0_u8);
    let faults = if setup.faults == 0 { 0 } else { setup.faults + more };
    let checker =
        Checked::<Lease>::new(Setup { faults, ..setup.clone() }).checker().threads(2).spawn_bfs().join();
    let tried = checker.unique_state_count();
    println!("{:?}", checker.model().setup);
    // Said also where the test harness captures: what a proof covers belongs to it.
    let said = writeln!(
        std::io::stderr(),
        "model {}: {tried} states, runs of {} steps, {faults} faults at most",
        setup.name,
        checker.max_depth()
    );
    said.expect("to say it");
    checker.assert_properties();
    // A model that lost what it tries proves nothing.
    assert!(tried >= states, "{tried} states were {states}");
}

#[test]
fn on_a_good_network() {
    check(&setups::GOOD, 55);
}

#[test]
fn on_a_bad_network() {
    check(&setups::EXTEND, 100_000);
}

#[test]
fn beside_a_server_that_refuses() {
    check(&setups::REFUSED, 500_000);
}

#[test]
fn with_a_delete_at_any_time() {
    check(&setups::DELETE, 250_000);
}

#[test]
fn with_a_release_at_any_time() {
    check(&setups::RELEASE, 500_000);
}

#[test]
fn near_the_limit() {
    check(&setups::LIMIT, 100_000);
}

#[test]
fn near_a_limit_that_comes_sooner_than_we_know() {
    check(&setups::SKEWED, 300_000);
}

#[test]
fn with_consumers_that_stand_still() {
    check(&setups::PAUSED, 200_000);
}

#[test]
fn with_extensions_by_hand() {
    check(&setups::BY_HAND, 300_000);
}

/// What the bounds are there for: beyond them no lease can keep its promise, and the checker finds how.
#[test]
fn beyond_the_bounds_it_can_be_lost_unseen() {
    for setup in setups::BEYOND {
        let checker = Checked::<Lease>::new(setup.clone()).checker();
        let checker = checker.finish_when(HasDiscoveries::AnyFailures).spawn_bfs().join();
        let all = checker.discoveries();
        let found =
            [HIDDEN, TOLD, NOT_UNDONE].into_iter().find_map(|name| Some((name, all.get(name)?.clone())));
        let (property, run) = found.unwrap_or_else(|| panic!("{}: found is {:?}", setup.name, all.keys()));
        println!("{}: not \"{property}\" after {:?}", setup.name, run.into_actions());
    }
}
