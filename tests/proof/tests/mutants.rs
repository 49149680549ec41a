//! The checker finds each mistake that is put into a copy of the core: in this setup, against this property.

use sqs_lease_proof::held::Held;
use sqs_lease_proof::model::Checked;
use sqs_lease_proof::mutants;
use sqs_lease_proof::properties::{HIDDEN, KEPT, OLD_HANDLE, ONE_HOLDER, TOLD};
use sqs_lease_proof::setups::{self, Setup};
use stateright::{Checker, HasDiscoveries, Model};

fn caught<L: Held>(name: &str, setup: &Setup, property: &'static str) {
    assert!(!mutants::NOT_FOUND.contains(&name), "the text of {name} is not in the core: change mistakes.rs");
    // On one thread, so that it is the same run each time: the shortest.
    let checker = Checked::<L>::new(setup.clone()).checker();
    let checker = checker.finish_when(HasDiscoveries::AnyFailures).spawn_bfs().join();
    let found = checker.discoveries();
    let names: Vec<_> = found.keys().collect();
    let run = found
        .get(property)
        .unwrap_or_else(|| panic!("{name} is not caught by \"{property}\" but by {names:?}"));
    println!("{name}: not \"{property}\" after {:?}", run.clone().into_actions());
}

macro_rules! mutants {
    ($($name:ident: $setup:ident, $property:expr;)*) => {
        $(#[test]
        fn $name() {
            caught::<mutants::$name::Lease>(stringify!($name), &setups::$setup, $property);
        })*

        #[test]
        fn none_is_left_out() {
            assert_eq!(mutants::NAMES, [$(stringify!($name)),*]);
        }
    };
}

mutants! {
    guard_forgotten: EXTEND, ONE_HOLDER;
    end_counted_from_the_answer: PAUSED, HIDDEN;
    release_not_waiting: RELEASE, "a release waits for an extension";
    retry_without_bound: RELEASE, "retries have a bound";
    retry_at_the_last_moment: RELEASE, "retries have a bound";
    final_extension_rounded_up: LIMIT, "nothing beyond the limit";
    delete_given_up_for_good: REFUSED, "a delete is not forgotten";
    any_answer_counts: EXTEND, "one call of a kind at a time";
    answers_count_after_the_end: PAUSED, "nothing is sent after the end";
    unknown_release_forgotten: RELEASE, OLD_HANDLE;
    extension_during_a_delete: DELETE, "no extension while a delete is under way";
    extension_after_a_release: RELEASE, "no extension after a release";
    gap_forgotten: PAUSED, TOLD;
    middle_never_comes: GOOD, KEPT;
    never_given_up: EXTEND, "nothing waits without a wake-up";
}
