//! What is run, how often, and what it is measured against.

use std::path::PathBuf;
use std::process::Command;

use crate::process::{Figures, apart, figures_of, instructions};

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
    /// Whether the AWS SDK is measured with it, which takes minutes to build.
    pub end_to_end: bool,
}

impl Plan {
    pub const WHOLE: Self = Self {
        rounds: 5,
        leases: 120_000,
        seconds: 60,
        mixed: 900,
        seeds: 20,
        real: 2_500,
        counted: 15,
        end_to_end: true,
    };
    pub const QUICK: Self = Self {
        rounds: 3,
        leases: 12_000,
        seconds: 60,
        mixed: 120,
        seeds: 5,
        real: 600,
        counted: 15,
        end_to_end: false,
    };
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
    let end_to_end = if plan.end_to_end { end_to_end() } else { None };
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
        if let Some(program) = &end_to_end {
            for variant in ["A", "ours"] {
                let mut command = Command::new(program);
                note(variant, "sdk", figures_of(command.args(["measure", variant]).args(END_TO_END)));
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

/// Leases, timeout and seconds with the SDK: 2 400 extensions a second, each a call of its own for A.
const END_TO_END: [&str; 3] = ["12000", "10", "5"];

/// The program that measures with the SDK, which a package without it cannot have; built where it is not yet.
fn end_to_end() -> Option<PathBuf> {
    eprintln!("building what measures with the AWS SDK");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["bench", "-q", "-p", "sqs-lease-tokio", "--bench", "end_to_end", "--", "where"]);
    let output = command.output().ok().filter(|it| it.status.success());
    if output.is_none() {
        eprintln!("it cannot be built: nothing is measured with the SDK");
    }
    Some(String::from_utf8(output?.stdout).ok()?.trim().into())
}
