//! Leases at scale: ours beside what people write by hand.
//!
//! ```text
//! cargo bench -p sqs-lease-suite                  # measures everything, writes docs/benchmarks.md
//! cargo bench -p sqs-lease-suite -- --quick       # a tenth of it, in less than a minute; writes nothing
//! cargo bench -p sqs-lease-suite -- measure ours w1 120000 60      # one measure, in this process
//! ```
#![allow(missing_docs, reason = "a program, not a library")]
#![allow(unreachable_pub, reason = "what is public is so within the program")]
#![allow(clippy::cast_precision_loss, reason = "counts that are far below 2^52")]

mod lateness;
mod null;
mod page;
mod plan;
mod process;
mod table;
mod variants;
mod work;

use plan::Plan;
use sqs_lease_heap::Heap;

#[global_allocator]
static HEAP: Heap = Heap;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|it| it != "--bench").collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["measure", variant, measure, ref numbers @ ..] => {
            let numbers: Vec<u32> = numbers.iter().map(|it| number(it)).collect();
            for (name, figure) in work::measure(variant, measure, &numbers) {
                println!("{name}={figure}");
            }
        }
        ["--quick"] => println!("{}", compare(Plan::QUICK)),
        [] => {
            let text = compare(Plan::WHOLE);
            println!("{text}");
            page::write(&text);
        }
        _ => panic!("usage: [--quick | measure VARIANT MEASURE NUMBERS]"),
    }
}

fn compare(plan: Plan) -> String {
    let machine = page::machine();
    let all = plan::run(plan);
    let Plan { rounds, leases, seconds, mixed, .. } = plan;
    format!(
        "{machine}\n\n{rounds} rounds, {leases} leases; w1 over {seconds} virtual seconds, w2 over {mixed}. Median [least..most]; \
         one figure alone is the same in every round.\n\n{}\n{}\n{}",
        table::aims(&all),
        table::figures(&all),
        table::sizes(&all)
    )
}

fn number(text: &str) -> u32 {
    text.parse().unwrap_or_else(|_| panic!("{text:?} is not a number"))
}
