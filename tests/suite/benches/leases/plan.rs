//! What is run, how often, and what it is measured against.

use crate::process::{Figures, apart, instructions};

/// How much is measured.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    pub rounds: usize,
    pub leases: u32,
    /// Virtual seconds of w1.
    pub seconds: u32,
    /// Virtual seconds of w2.
    pub mixed: u32,
    /// Arrivals of w3.
    pub seeds: u32,
    /// Milliseconds of w1 in real time, twice.
    pub real: u32,
    /// Virtual seconds of w1 under valgrind.
    pub counted: u32,
}

impl Plan {
    pub const WHOLE: Self =
        Self { rounds: 5, leases: 120_000, seconds: 60, mixed: 900, seeds: 20, real: 2_500, counted: 15 };
    pub const QUICK: Self =
        Self { rounds: 3, leases: 12_000, seconds: 60, mixed: 120, seeds: 5, real: 1_000, counted: 15 };
}

pub const VARIANTS: [&str; 4] = ["A", "B", "C", "ours"];
const SMALLEST: u32 = 1_200;

/// The figures of one variant in one measure, round by round.
#[derive(Debug)]
pub struct Measured {
    pub variant: &'static str,
    pub measure: &'static str,
    pub rounds: Vec<Figures>,
}

/// Everything, interleaved: within a round each measure passes from variant to variant.
pub fn run(plan: Plan) -> Vec<Measured> {
    let mut all = Vec::new();
    let mut note = |variant, measure, figures| {
        let place = all.iter().position(|it: &Measured| it.variant == variant && it.measure == measure);
        let place = place.unwrap_or_else(|| {
            all.push(Measured { variant, measure, rounds: Vec::new() });
            all.len() - 1
        });
        all[place].rounds.push(figures);
    };
    // What is the same every time, once.
    for variant in VARIANTS {
        eprintln!("{variant}: calls, bytes, instructions");
        note(variant, "heap", apart(variant, "heap", &[plan.leases, plan.seconds]));
        note(variant, "w2", apart(variant, "w2", &[plan.mixed]));
        note(variant, "w3", apart(variant, "w3", &[plan.seeds]));
        note(variant, "w4", apart(variant, "w4", &[plan.leases]));
        if let Some(figures) = instructions(variant, plan.leases, plan.counted) {
            note(variant, "instructions", figures);
        }
    }
    for round in 1..=plan.rounds {
        eprintln!("round {round} of {}", plan.rounds);
        for variant in VARIANTS {
            note(variant, "w1", apart(variant, "w1", &[plan.leases, plan.seconds]));
        }
        for variant in VARIANTS {
            note(variant, "in and out", apart(variant, "in and out", &[plan.leases]));
        }
        for (measure, workers) in [("one thread", 0), ("two workers", 2)] {
            for variant in VARIANTS {
                note(variant, measure, apart(variant, "real", &[plan.leases, plan.real, workers]));
            }
        }
        for (measure, core, leases) in [
            ("1200", "core 1200", SMALLEST),
            ("12000", "core 12000", 12_000),
            ("120000", "core 120000", 120_000),
        ] {
            let seconds = plan.seconds * plan.leases / leases;
            note("ours", measure, apart("ours", "w1", &[leases, seconds]));
            note("ours", core, apart("ours", "core", &[leases, plan.leases * 5]));
        }
    }
    all
}
