//! Runs simulations: many seeds, or one that failed.

use std::process::ExitCode;
use std::time::Instant;

use sqs_lease_suite::simulation::{Feature, Scenario, run, run_all, shrink};

const USAGE: &str = "\
Runs the driver against the simulated SQS through a faulty network, in virtual time.

Usage: simulate --seeds FROM..TO [--messages N] [--threads N]
       simulate --seed N [--messages N] [--consumers N] [--with FEATURE,...]

The first runs many seeds, with at most N messages each (50), prints how many failed and the smallest scenario that
fails as well. The second plays one, exactly as a failure was printed.";

fn main() -> ExitCode {
    match go() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("simulate: {message}\n\n{USAGE}");
            ExitCode::FAILURE
        }
    }
}

#[derive(Default)]
struct Arguments {
    seeds: Option<std::ops::Range<u64>>,
    seed: Option<u64>,
    messages: Option<u32>,
    consumers: Option<u32>,
    threads: Option<usize>,
    with: Option<Vec<Feature>>,
}

fn read() -> Result<Arguments, String> {
    let mut read = Arguments::default();
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        let value = arguments.next().ok_or(format!("{name} wants a value"))?;
        let bad = || format!("{name} does not take '{value}'");
        match &*name {
            "--seeds" => {
                let (from, to) = value.split_once("..").ok_or_else(bad)?;
                let bound = |text: &str| text.parse().map_err(|_| bad());
                read.seeds = Some(bound(from)?..bound(to)?);
            }
            "--seed" => read.seed = Some(value.parse().map_err(|_| bad())?),
            "--messages" => read.messages = Some(value.parse().map_err(|_| bad())?),
            "--consumers" => read.consumers = Some(value.parse().map_err(|_| bad())?),
            "--threads" => read.threads = Some(value.parse().map_err(|_| bad())?),
            "--with" if value == "nothing" => read.with = Some(Vec::new()),
            "--with" => {
                let features = value.split(',').map(|name| Feature::parse(name).ok_or_else(bad));
                read.with = Some(features.collect::<Result<_, _>>()?);
            }
            _ => return Err(format!("'{name}' is no option")),
        }
    }
    Ok(read)
}

fn go() -> Result<bool, String> {
    let Arguments { seeds, seed, messages, consumers, threads, with } = read()?;
    match (seeds, seed) {
        (Some(seeds), None) => {
            let started = Instant::now();
            let at_most = messages.unwrap_or(50);
            let summary = run_all(seeds, threads.unwrap_or(2), |seed| Scenario::of_seed(seed, at_most));
            println!("{} seeds in {:?}, {} failed", summary.seeds, started.elapsed(), summary.failed.len());
            println!("{}", Show(&summary.outcome));
            for &seed in summary.failed.iter().take(5) {
                let small = shrink(&Scenario::of_seed(seed, at_most));
                println!("seed {seed}; the smallest that fails as well:");
                println!("  {}", run(&small).violations.first().map_or("", |it| it));
            }
            Ok(summary.failed.is_empty())
        }
        (None, Some(seed)) => {
            let mut scenario = Scenario::of_seed(seed, 50);
            scenario.messages = messages.unwrap_or(scenario.messages);
            scenario.consumers = consumers.unwrap_or(scenario.consumers);
            scenario.features = with.unwrap_or(scenario.features);
            let outcome = run(&scenario);
            println!("{}", Show(&outcome));
            for violation in &outcome.violations {
                println!("{violation}");
            }
            Ok(outcome.violations.is_empty())
        }
        _ => Err("either --seeds or --seed".into()),
    }
}

struct Show<'a>(&'a sqs_lease_suite::simulation::Outcome);

impl std::fmt::Display for Show<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let it = self.0;
        write!(
            f,
            "{} messages, {} deliveries held, {} changes of visibility in {} calls, {} losses, {} crashes",
            it.messages, it.deliveries, it.changes, it.change_calls, it.losses, it.crashes
        )
    }
}
