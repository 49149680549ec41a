//! The transitions of docs/state-machine.md against those that random runs of a lease go through.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use sqs_lease_core::{Action, AttemptId, Failure, Lease, Moment, Policy, Received, Visibility};

use super::{page, table};

type Transition = [String; 4];

#[test]
fn every_transition_of_a_lease_is_a_row_and_every_row_is_one() {
    let rows = table(&page("state-machine.md"), "| part | from | on | to |");
    let written: BTreeSet<Transition> = rows
        .into_iter()
        .flat_map(|row| {
            let [part, from, on, to] = row.try_into().expect("four columns");
            let split = |cell: &str| cell.split(", ").map(str::to_owned).collect::<Vec<_>>();
            let (from, on, to) = (split(&from), split(&on), split(&to));
            let mut all = Vec::new();
            for (from, on, to) in from
                .iter()
                .flat_map(|f| on.iter().map(move |o| (f, o)))
                .flat_map(|(f, o)| to.iter().map(move |t| (f, o, t)))
            {
                all.push([part.clone(), from.clone(), on.clone(), to.clone()]);
            }
            all
        })
        .collect();
    let seen = observed().clone();
    let show =
        |set: BTreeSet<&Transition>| set.into_iter().map(|it| it.join(" | ")).collect::<Vec<_>>().join("\n");
    assert!(
        seen == written,
        "not in the table:\n{}\n\nnever seen:\n{}",
        show(seen.difference(&written).collect()),
        show(written.difference(&seen).collect())
    );
}

#[test]
fn the_diagrams_have_an_arrow_for_each_pair_of_states() {
    let text = page("state-machine.md");
    let mut drawn = BTreeSet::new();
    for block in text.split("```mermaid\n").skip(1).map(|it| it.split("```").next().unwrap()) {
        for line in block.lines().filter(|line| line.contains(" --> ") && !line.contains("[*]")) {
            let (from, to) = line.trim().split_once(" --> ").unwrap();
            let to = to.split(':').next().unwrap().trim();
            drawn.insert((from.replace('_', " "), to.replace('_', " ")));
        }
    }
    let seen: BTreeSet<_> = observed().iter().map(|[_, from, _, to]| (from.clone(), to.clone())).collect();
    assert_eq!(drawn, seen);
}

/// The state as the machine's `Debug` shows it: of the extending, of the settling, and whether it has stopped.
fn states(lease: &Lease) -> [String; 3] {
    let text = format!("{lease:?}");
    let after = |name: &str| text.split(name).nth(1).expect("a field of the machine");
    let word = |text: &str| text.chars().take_while(|c| c.is_alphanumeric()).collect::<String>();
    let extending = match &*word(after("renewal: ")) {
        "Middle" => "middle",
        "Due" => "due",
        "InFlight" => "in flight",
        "GivenUp" | "Spent" | "Ending" | "Ended" => "over",
        other => panic!("an unknown state, {other}"),
    };
    let settle = after("settle: ");
    let call = match &*word(settle) {
        "None" => None,
        "Due" => Some("due"),
        "InFlight" => Some("in flight"),
        "GivenUp" => Some("given up"),
        other => panic!("an unknown state, {other}"),
    };
    let settling = call.map_or_else(
        || "none".to_owned(),
        |call| {
            let wish = settle.split_once('(').expect("what is wanted").1;
            format!("{} {call}", word(wish).to_lowercase())
        },
    );
    let end = if lease.ended().is_some() { "stopped" } else { "running" };
    [extending.to_owned(), settling, end.to_owned()]
}

struct Run {
    lease: Lease,
    now: u64,
    seen: BTreeSet<Transition>,
    extension: Option<AttemptId>,
    settle: Option<AttemptId>,
}

impl Run {
    /// Does one thing, and notes what it changed.
    fn step(&mut self, on: &str, change: impl FnOnce(&mut Lease, Moment)) {
        let before = states(&self.lease);
        change(&mut self.lease, Moment::from_nanos(self.now));
        let after = states(&self.lease);
        if before[2] == "stopped" {
            assert_eq!(before, after, "something changed after the stop");
            return;
        }
        if after[2] == "stopped" {
            self.note(["end", &before[2], on, &after[2]]);
            return;
        }
        for (part, index) in [("extending", 0), ("settling", 1)] {
            if before[index] != after[index] {
                self.note([part, &before[index], on, &after[index]]);
            }
        }
    }

    fn note(&mut self, transition: [&str; 4]) {
        self.seen.insert(transition.map(str::to_owned));
    }

    fn poll(&mut self) {
        loop {
            let mut action = None;
            self.step("time", |lease, now| action = lease.poll(now));
            match action {
                Some(Action::Extend(it)) => self.extension = Some(it.attempt.id),
                Some(Action::Delete(attempt) | Action::Release { attempt, .. }) => {
                    self.settle = Some(attempt.id);
                }
                Some(_) => {}
                None => return,
            }
        }
    }
}

fn observed() -> &'static BTreeSet<Transition> {
    static SEEN: OnceLock<BTreeSet<Transition>> = OnceLock::new();
    SEEN.get_or_init(observe)
}

fn observe() -> BTreeSet<Transition> {
    let mut dice = Dice(7);
    let mut seen = BTreeSet::new();
    for _ in 0..4_000 {
        let start = 1_000_000_000_000;
        let timeout = [2, 10, 30, 40_000][dice.below(4)];
        let mut policy = Policy::new();
        if dice.below(3) == 0 {
            policy = policy.max_hold(std::time::Duration::from_mins(1)).unwrap();
        }
        if dice.below(3) == 0 {
            policy = policy.extension(Visibility::new([1, 20, 43_200][dice.below(3)]).unwrap()).unwrap();
        }
        let received = Received::new(Moment::from_nanos(start), Visibility::new(timeout).unwrap());
        let lease = Lease::new(&policy, received);
        let mut run = Run { lease, now: start, seen, extension: None, settle: None };
        for _ in 0..25 {
            match dice.below(12) {
                0..=4 => {
                    // On to what is due next, or a little before or after.
                    let next = run.lease.poll_timeout().map_or(run.now, Moment::as_nanos);
                    run.now = run.now.max(next) + [0, 0, 0, 1_000_000, 700_000_000][dice.below(5)];
                    run.poll();
                }
                5 => {
                    run.now += [1_000_000, 100_000_000, 900_000_000][dice.below(3)];
                    run.poll();
                }
                what @ (6..=9) => {
                    let is_extension = what < 8;
                    let call = if is_extension { run.extension } else { run.settle };
                    let (on, answer) = [
                        ("acknowledged", Ok(())),
                        ("acknowledged", Ok(())),
                        ("failed", Err(Failure::Transient)),
                        ("failed", Err(Failure::Throttled)),
                        ("failed", Err(Failure::Denied)),
                        ("failed", Err(Failure::Limit)),
                        ("gone", Err(Failure::Gone)),
                    ][dice.below(7)];
                    if let Some(call) = call {
                        let on = format!("{} {on}", if is_extension { "extension" } else { "settle" });
                        run.step(&on, |lease, now| lease.handle_answer(call, answer, now));
                    }
                }
                10 => {
                    let by = Visibility::new([1, 10, 100][dice.below(3)]).unwrap();
                    run.step("`extend`", |lease, now| lease.extend(by, now).unwrap());
                }
                _ => {
                    let after = Visibility::new([0, 100][dice.below(2)]).unwrap();
                    match dice.below(6) {
                        0..=2 => run.step("`delete`", |lease, now| {
                            let _ = lease.delete(now);
                        }),
                        3 | 4 => run.step("`release`", |lease, now| {
                            let _ = lease.release(after, now);
                        }),
                        _ => run.step("`leave`", |lease, now| {
                            let _ = lease.leave(now);
                        }),
                    }
                }
            }
        }
        seen = run.seen;
    }
    // An answer that comes after the end, and finds the lease over, is the time's doing.
    let is_late = |it: &Transition| it[0] == "end" && it[2] != "time" && !ENDS.contains(&&*it[2]);
    seen.retain(|it| !is_late(it));
    seen
}

/// What can end a lease beside time.
const ENDS: [&str; 4] = ["`leave`", "settle acknowledged", "settle gone", "extension gone"];

struct Dice(u64);

impl Dice {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % end
    }
}
