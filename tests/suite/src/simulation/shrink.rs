use super::run::run;
use super::scenario::Scenario;

/// The most runs that one shrinking takes.
const MOST_RUNS: usize = 300;

/// The smallest scenario that still fails: fewer messages and consumers, and less that goes wrong.
pub fn shrink(failing: &Scenario) -> Scenario {
    let mut smallest = failing.clone();
    let mut runs = 0;
    'smaller: loop {
        for candidate in candidates(&smallest) {
            runs += 1;
            if runs > MOST_RUNS {
                return smallest;
            }
            if !run(&candidate).violations.is_empty() {
                smallest = candidate;
                continue 'smaller;
            }
        }
        return smallest;
    }
}

/// Scenarios a step smaller, the largest steps first.
fn candidates(of: &Scenario) -> Vec<Scenario> {
    let mut found = Vec::new();
    for messages in [of.messages / 2, of.messages.saturating_sub(1)] {
        if (1..of.messages).contains(&messages) {
            found.push(Scenario { messages, ..of.clone() });
        }
    }
    if of.consumers > 1 {
        found.push(Scenario { consumers: of.consumers - 1, ..of.clone() });
    }
    found.extend(of.features.iter().map(|feature| of.without(*feature)));
    found
}
