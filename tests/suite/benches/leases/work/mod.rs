//! What is measured, each in a process of its own.

use std::fmt::Write as _;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};

use crate::process::Figures;
use crate::variants::{Variant, with_variant};

mod core_alone;
mod idle;
mod in_and_out;
mod lone;
mod mixed;
mod random;
mod real;
mod steady;

pub use steady::STEADY;
use steady::What;

/// The timeout of w1, w2 and w3.
const TIMEOUT: Duration = Duration::from_secs(30);
/// How long receipt handles of SQS are.
const HANDLE: usize = 412;

/// Measures one thing of one variant, in this process.
///
/// # Panics
/// There is no such measure.
pub fn measure(variant: &str, measure: &str, numbers: &[u32]) -> Figures {
    match (measure, numbers) {
        ("core", &[leases, extensions]) => core_alone::measure(leases, extensions),
        ("w1", &[leases, seconds]) => with_variant!(variant, w1(leases, seconds)),
        ("instructions", &[leases, seconds]) => with_variant!(variant, instructions(leases, seconds)),
        ("heap", &[leases, seconds]) => with_variant!(variant, heap(leases, seconds)),
        ("real", &[leases, millis, workers]) => with_variant!(variant, real(leases, millis, workers)),
        ("w2", &[seconds]) => with_variant!(variant, w2(seconds)),
        ("w3", &[seeds]) => with_variant!(variant, w3(seeds)),
        ("w4", &[leases]) => with_variant!(variant, w4(leases)),
        ("in and out", &[leases]) => with_variant!(variant, in_and_out(leases)),
        _ => panic!("{measure} {numbers:?} is no measure"),
    }
}

fn w1<V: Variant>(leases: u32, seconds: u32) -> Figures {
    steady::measure::<V>(leases, seconds, What::Cpu)
}

fn heap<V: Variant>(leases: u32, seconds: u32) -> Figures {
    steady::measure::<V>(leases, seconds, What::Heap)
}

fn instructions<V: Variant>(leases: u32, seconds: u32) -> Figures {
    steady::measure::<V>(leases, seconds, What::Instructions)
}

fn real<V: Variant>(leases: u32, millis: u32, workers: u32) -> Figures {
    real::measure::<V>(leases, millis, workers)
}

fn w2<V: Variant>(seconds: u32) -> Figures {
    mixed::measure::<V>(seconds)
}

fn w3<V: Variant>(seeds: u32) -> Figures {
    lone::measure::<V>(seeds)
}

fn w4<V: Variant>(leases: u32) -> Figures {
    idle::measure::<V>(leases)
}

fn in_and_out<V: Variant>(leases: u32) -> Figures {
    in_and_out::measure::<V>(leases)
}

/// A receipt handle that begins with its number.
fn handle<V: Variant>(number: u32) -> V::Handle {
    // Of no more capacity than it needs.
    let filling = "A".repeat(HANDLE - 8);
    let mut text = String::with_capacity(HANDLE);
    write!(text, "{number:<8}{filling}").expect("a string takes it");
    V::Handle::from(text)
}

/// One thread, and a clock that jumps to the next timer when nothing can go on.
fn paused() -> Runtime {
    Builder::new_current_thread().enable_time().start_paused(true).build().expect("a runtime")
}

fn figures<const N: usize>(of: [(&str, f64); N]) -> Figures {
    of.into_iter().map(|(name, figure)| (name.to_owned(), figure)).collect()
}

/// How far apart two receives of ten are, when so many leases are spread over this time.
fn step(spread: Duration, leases: u32) -> Duration {
    spread * 10 / leases
}
