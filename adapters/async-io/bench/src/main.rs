//! Calls per second and CPU time per call of `aws-async-io` beside the SDK's own client on Tokio.
//!
//! ```text
//! cargo run --release -- [rounds] [calls]
//! ```
//!
//! A responder in a process of its own answers `{}`. Each client runs in a process of its own too, one after the
//! other, round by round, so that what else the machine does falls on all of them alike; only the client's CPU time counts.
//! Every figure is the median of the rounds, with the least and the most; a comparison with Tokio's CPU time is made within each round.

mod clients;
mod responder;

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use clients::{CLIENTS, Measured};

/// How many calls are under way at a time.
const AT_A_TIME: [usize; 2] = [1, 64];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["respond"] => responder::run(),
        ["measure", client, threads, at_a_time, calls, uri] => {
            let measured = clients::measure(client, number(threads), number(at_a_time), number(calls), uri);
            println!("{} {}", measured.calls_per_second, measured.cpu_micros);
        }
        [] => compare(7, 20_000),
        [rounds] => compare(number(rounds), 20_000),
        [rounds, calls] => compare(number(rounds), number(calls)),
        _ => panic!("usage: aws-async-io-bench [rounds] [calls]"),
    }
}

fn number(text: &str) -> usize {
    text.parse().unwrap_or_else(|_| panic!("{text:?} is not a number"))
}

fn compare(rounds: usize, calls: usize) {
    let mut responder =
        Command::new(this()).arg("respond").stdout(Stdio::piped()).spawn().expect("a responder");
    let uri = first_line(&mut responder);
    println!("{rounds} rounds of {calls} calls; median [least..most]\n");
    println!("| at a time | threads | client | calls/s | CPU per call, us | to Tokio's |");
    println!("| --- | --- | --- | --- | --- | --- |");
    for at_a_time in AT_A_TIME {
        for threads in [1, 2] {
            let mut results = vec![Vec::new(); CLIENTS.len()];
            for _ in 0..rounds {
                for (client, results) in CLIENTS.iter().zip(&mut results) {
                    // One at a time takes longer, and varies less.
                    let calls = if at_a_time == 1 { calls / 4 } else { calls };
                    results.push(measured(client, threads, at_a_time, calls, &uri));
                }
            }
            for (client, measured) in CLIENTS.iter().zip(&results) {
                let rate = Spread::of(measured.iter().map(|measured| measured.calls_per_second));
                let cpu = Spread::of(measured.iter().map(|measured| measured.cpu_micros));
                let tokio = results[0].iter().map(|measured| measured.cpu_micros);
                let ratio = Spread::of(
                    measured.iter().zip(tokio).map(|(measured, tokio)| measured.cpu_micros / tokio),
                );
                println!("| {at_a_time} | {threads} | {client} | {rate:.0} | {cpu:.1} | {ratio:.2} |");
            }
        }
    }
    responder.kill().expect("the responder runs");
    responder.wait().expect("the responder ends");
}

fn this() -> std::path::PathBuf {
    std::env::current_exe().expect("this program")
}

fn first_line(child: &mut Child) -> String {
    let mut line = String::new();
    let output = child.stdout.take().expect("piped");
    BufReader::new(output).read_line(&mut line).expect("a line");
    line.trim().to_owned()
}

fn measured(client: &str, threads: usize, at_a_time: usize, calls: usize, uri: &str) -> Measured {
    let arguments = ["measure".into(), client.to_owned(), threads.to_string(), at_a_time.to_string()];
    let output =
        Command::new(this()).args(arguments).args([&calls.to_string(), uri]).output().expect("a client");
    let text = String::from_utf8_lossy(&output.stdout);
    let figures =
        text.trim().split_once(' ').and_then(|(rate, cpu)| Some((rate.parse().ok()?, cpu.parse().ok()?)));
    let Some((calls_per_second, cpu_micros)) = figures else {
        panic!("{client} failed: {}", String::from_utf8_lossy(&output.stderr))
    };
    Measured { calls_per_second, cpu_micros }
}

struct Spread {
    least: f64,
    median: f64,
    most: f64,
}

impl Spread {
    fn of(figures: impl Iterator<Item = f64>) -> Self {
        let mut figures: Vec<_> = figures.collect();
        figures.sort_by(f64::total_cmp);
        Self { least: figures[0], median: figures[figures.len() / 2], most: figures[figures.len() - 1] }
    }
}

impl std::fmt::Display for Spread {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let digits = f.precision().unwrap_or(1);
        write!(f, "{:.digits$} [{:.digits$}..{:.digits$}]", self.median, self.least, self.most)
    }
}
