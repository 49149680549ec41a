//! Leases end to end: through `aws-sdk-sqs`, to a simulated SQS on loopback in a process of its own.
//!
//! ```text
//! cargo bench -p sqs-lease-tokio                                  # client CPU beside a task for each delivery
//! cargo bench -p sqs-lease-tokio -- measure ours 12000 10 5       # one measure: leases, timeout, seconds
//! cargo bench -p sqs-lease-tokio -- hold 120000 600               # leases, seconds: heap and losses as time passes
//! cargo bench -p sqs-lease-tokio -- hold 120000 600 interrupted   # no answers for 10 s of each minute
//! cargo bench -p sqs-lease-tokio -- hold 120000 600 throttled     # all is throttled for 10 s of each minute
//! ```
//!
//! `cargo bench -p sqs-lease-suite` runs this too, and has its figures in its table.
#![allow(missing_docs, reason = "a program, not a library")]
#![allow(clippy::cast_precision_loss, reason = "counts that are far below 2^52")]

mod hold;
mod server;
mod variants;

use std::process::Command;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use sqs_lease_heap::Heap;
use tokio::time::{Instant, sleep, sleep_until};

use server::Server;
use variants::{A, Ours, Variant};

#[global_allocator]
static HEAP: Heap = Heap;

/// What `cargo bench -p sqs-lease-suite` measures as well.
const ROUNDS: usize = 5;
const DEFAULT: [&str; 3] = ["12000", "10", "5"];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|it| it != "--bench").collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        [] => compare(),
        ["serve", messages, timeout] => server::serve(number(messages), timeout),
        ["where"] => println!("{}", this().display()),
        ["measure", variant, leases, timeout, seconds] => {
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            let (leases, timeout, seconds) = (number(leases), number(timeout), number(seconds));
            let nanos = match variant {
                "A" => runtime.block_on(measure::<A>(leases, timeout, seconds)),
                "ours" => runtime.block_on(measure::<Ours>(leases, timeout, seconds)),
                other => panic!("{other:?} is no variant"),
            };
            println!("cpu ns per extension={nanos}");
        }
        ["hold", leases, seconds] => hold::run(number(leases), number(seconds), None),
        ["hold", leases, seconds, trouble @ ("interrupted" | "throttled")] => {
            hold::run(number(leases), number(seconds), Some(trouble));
        }
        _ => panic!(
            "usage: [measure VARIANT LEASES TIMEOUT SECONDS | hold LEASES SECONDS [interrupted | throttled]]"
        ),
    }
}

fn number(text: &str) -> u32 {
    text.parse().unwrap_or_else(|_| panic!("{text:?} is not a number"))
}

fn this() -> std::path::PathBuf {
    std::env::current_exe().expect("this program")
}

fn compare() {
    let mut ratios = Vec::new();
    for _ in 0..ROUNDS {
        let [a, ours] = ["A", "ours"].map(apart);
        println!("A {:.1} us, ours {:.1} us per extension", a / 1000.0, ours / 1000.0);
        ratios.push(ours / a);
    }
    ratios.sort_by(f64::total_cmp);
    println!("ours / A: {:.3} [{:.3}..{:.3}]", ratios[ROUNDS / 2], ratios[0], ratios[ROUNDS - 1]);
}

/// Client CPU per extension, in a process of its own.
fn apart(variant: &str) -> f64 {
    let output =
        Command::new(this()).args(["measure", variant]).args(DEFAULT).output().expect("this program");
    let text = String::from_utf8_lossy(&output.stdout);
    let nanos = text.trim().split_once('=').and_then(|(_, it)| it.parse().ok());
    nanos.unwrap_or_else(|| panic!("{variant}: {}", String::from_utf8_lossy(&output.stderr)))
}

/// CPU time of this process, which is the client, in nanoseconds.
fn cpu_nanos() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    (time.tv_sec * 1_000_000_000 + time.tv_nsec) as f64
}

/// Leases received in tens, spread over half of their timeout, and CPU per extension once all are being extended.
async fn measure<V: Variant>(leases: u32, timeout: u32, seconds: u32) -> f64 {
    let server = Server::start(leases, timeout);
    let variant = V::open(server.client(), server.queue_url(), timeout).await;
    let half = Duration::from_secs(timeout.into()) / 2;
    let start = Instant::now();
    let mut guards = Vec::with_capacity(leases as usize);
    for ten in 0..leases / 10 {
        sleep_until(start + half * ten * 10 / leases).await;
        guards.extend(variant.receive().await);
    }
    assert_eq!(guards.len(), leases as usize, "every message was received");
    sleep_until(start + half + Duration::from_millis(500)).await;
    let (extensions, cpu) = (variant.extensions(), cpu_nanos());
    sleep(Duration::from_secs(seconds.into())).await;
    let cpu = cpu_nanos() - cpu;
    let extensions = variant.extensions() - extensions;
    let wanted = f64::from(leases) * f64::from(seconds) / half.as_secs_f64();
    if (extensions as f64) < wanted * 0.9 {
        eprintln!("{extensions} extensions of {wanted}: too much for this machine just now");
    }
    drop(guards);
    cpu / extensions as f64
}
