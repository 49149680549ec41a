//! Leases at scale: ours beside what people write by hand.
#![allow(missing_docs, reason = "a program, not a library")]
#![allow(unreachable_pub, reason = "what is public is so within the program")]
#![allow(clippy::cast_precision_loss, reason = "counts that are far below 2^52")]

mod lateness;
mod null;
mod process;
mod variants;
mod w1;

use process::{Figures, measured_apart};
use sqs_lease_heap::Heap;
use variants::with_variant;

#[global_allocator]
static HEAP: Heap = Heap;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["measure", variant, measure, ref numbers @ ..] => {
            for (name, figure) in child(variant, measure, numbers) {
                println!("{name}={figure}");
            }
        }
        _ => compare(),
    }
}

fn number<T: std::str::FromStr>(text: &str) -> T {
    text.parse().unwrap_or_else(|_| panic!("{text:?} is not a number"))
}

/// Measures one thing of one variant, in this process.
fn child(variant: &str, measure: &str, numbers: &[&str]) -> Figures {
    match (measure, numbers) {
        ("w1", [leases, seconds]) => {
            with_variant!(variant, w1_cpu(number(leases), number(seconds)))
        }
        ("w1-heap", [leases, seconds]) => {
            with_variant!(variant, w1_heap(number(leases), number(seconds)))
        }
        ("w1-real", [leases, seconds, workers]) => {
            with_variant!(variant, w1_real(number(leases), number(seconds), number(workers)))
        }
        _ => panic!("{measure} {numbers:?} is no measure"),
    }
}

use w1::in_real_time as w1_real;
fn w1_cpu<V: variants::Variant>(leases: usize, seconds: u64) -> Figures {
    w1::in_virtual_time::<V>(leases, seconds, false)
}
fn w1_heap<V: variants::Variant>(leases: usize, seconds: u64) -> Figures {
    w1::in_virtual_time::<V>(leases, seconds, true)
}

fn compare() {
    for v in ["A", "B", "C", "ours"] {
        for m in [
            &["w1", "120000", "60"][..],
            &["w1-heap", "120000", "60"],
            &["w1-real", "120000", "4", "0"],
            &["w1-real", "120000", "4", "2"],
        ] {
            let mut args = vec![v.to_owned()];
            args.extend(m.iter().map(|it| (*it).to_owned()));
            println!("{args:?} {:?}", measured_apart(&args));
        }
    }
}
