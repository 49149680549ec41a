//! From figures to tables.

use std::fmt::{self, Write as _};

use crate::plan::{Measured, VARIANTS};

/// A ratio that has an aim.
struct Aim {
    what: &'static str,
    measure: &'static str,
    figure: &'static str,
    against: Against,
    at_most: f64,
}

enum Against {
    /// The same figure of a baseline.
    Variant(&'static str),
    /// The same figure of ours in another measure.
    Measure(&'static str),
    /// The figure is the ratio, or a number, already.
    Nothing,
}

use Against::{Measure, Nothing, Variant};

const AIMS: &[Aim] = &[
    aim("w1: calls / least possible", "w1", "calls to least", Nothing, 1.005),
    aim("w2: calls / least possible", "w2", "calls to least", Nothing, 1.01),
    aim("w2: calls / A", "w2", "calls", Variant("A"), 0.101),
    aim("w2: calls / C", "w2", "calls", Variant("C"), 0.73),
    aim("w3: calls / A", "w3", "calls per lease-hour", Variant("A"), 0.33),
    aim("w1: CPU per extension, paused clock / A", "w1", CPU, Variant("A"), 0.25),
    aim("w1: CPU per extension, paused clock / C", "w1", CPU, Variant("C"), 0.20),
    aim("w1: instructions per extension / A", "instructions", "instructions", Variant("A"), 0.45),
    aim("w1: instructions per extension / C", "instructions", "instructions", Variant("C"), 0.25),
    aim("w1: CPU per extension, real clock, one thread / A", "one thread", CPU, Variant("A"), 0.25),
    aim("w1: CPU per extension, real clock, two workers / A", "two workers", CPU, Variant("A"), 0.18),
    aim("w1: client CPU with the SDK / A", "sdk", CPU, Variant("A"), 0.14),
    aim("w1: heap per lease beyond handle and message / A", "heap", "heap per lease", Variant("A"), 0.40),
    aim("w1: peak / steady heap beyond handles", "heap", "peak to steady", Nothing, 1.1),
    aim("insert / A", "in and out", "insert ns", Variant("A"), 0.30),
    aim("cancel / A", "in and out", "cancel ns", Variant("A"), 0.50),
    aim("w1: CPU per extension at 120 000 leases / at 1 200", "120000", CPU, Measure("1200"), 1.3),
    aim("w1: lateness p50, real clock, one thread / A", "one thread", "lateness p50 ms", Variant("A"), 0.1),
    aim("w1: lateness p99, real clock, one thread / A", "one thread", "lateness p99 ms", Variant("A"), 0.5),
    aim("w4: wakes in an idle hour", "w4", "wakes", Nothing, 0.0),
];

const CPU: &str = "cpu ns per extension";

const fn aim(
    what: &'static str,
    measure: &'static str,
    figure: &'static str,
    against: Against,
    at_most: f64,
) -> Aim {
    Aim { what, measure, figure, against, at_most }
}

/// Median, least and most.
struct Spread {
    median: f64,
    least: f64,
    most: f64,
    rounds: usize,
}

impl Spread {
    fn of(mut figures: Vec<f64>) -> Option<Self> {
        figures.sort_by(f64::total_cmp);
        let (least, most) = (*figures.first()?, *figures.last()?);
        Some(Self { median: figures[figures.len() / 2], least, most, rounds: figures.len() })
    }
}

impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&short(self.median))?;
        if self.rounds > 1 { write!(f, " [{}..{}]", short(self.least), short(self.most)) } else { Ok(()) }
    }
}

/// Three digits that count.
fn short(figure: f64) -> String {
    match figure.abs() {
        0.0 => "0".to_owned(),
        ..0.0995 => format!("{figure:.4}"),
        ..9.995 => format!("{figure:.3}"),
        ..99.95 => format!("{figure:.1}"),
        _ => format!("{figure:.0}"),
    }
}

fn rounds(all: &[Measured], variant: &str, measure: &str, figure: &str) -> Vec<f64> {
    let measured = all.iter().find(|it| it.variant == variant && it.measure == measure);
    measured.map_or_else(Vec::new, |it| it.rounds.iter().filter_map(|it| it.get(figure).copied()).collect())
}

/// The ratios beside what they should be. A ratio is made within each round, before the median.
pub fn aims(all: &[Measured]) -> String {
    let mut text =
        "| ours against | ours | baseline | ratio | at most | |\n| --- | --- | --- | --- | --- | --- |\n"
            .to_owned();
    for Aim { what, measure, figure, against, at_most } in AIMS {
        let ours = rounds(all, "ours", measure, figure);
        let theirs = match against {
            Variant(variant) => Some(rounds(all, variant, measure, figure)),
            Measure(measure) => Some(rounds(all, "ours", measure, figure)),
            Nothing => None,
        };
        let ratios = match &theirs {
            Some(theirs) => ours.iter().zip(theirs).map(|(ours, theirs)| ours / theirs).collect(),
            None => ours.clone(),
        };
        let cell = |figures| Spread::of(figures).map_or("not measured".to_owned(), |it| it.to_string());
        let verdict = match Spread::of(ratios.clone()) {
            Some(ratio) if ratio.median <= *at_most => "met",
            Some(_) => "**missed**",
            None => "",
        };
        let theirs = theirs.map_or(String::new(), cell);
        writeln!(text, "| {what} | {} | {theirs} | {} | {at_most} | {verdict} |", cell(ours), cell(ratios))
            .expect("a string takes it");
    }
    text
}

/// The figures of all variants.
pub fn figures(all: &[Measured]) -> String {
    let columns = [
        ("w1: CPU ns, paused clock", "w1", CPU),
        ("instructions", "instructions", "instructions"),
        ("CPU ns, real clock, one thread", "one thread", CPU),
        ("two workers", "two workers", CPU),
        ("client CPU ns with the SDK", "sdk", CPU),
        ("heap B per lease", "heap", "heap per lease"),
        ("left when all are gone", "heap", "left per lease"),
        ("allocations per extension", "heap", "allocations per extension"),
        ("calls per lease-hour", "w1", "calls per lease-hour"),
        ("context switches/s, one thread", "one thread", "context switches per s"),
        ("lateness p50 ms", "one thread", "lateness p50 ms"),
        ("p99", "one thread", "lateness p99 ms"),
        ("lateness p50 ms, two workers", "two workers", "lateness p50 ms"),
        ("p99", "two workers", "lateness p99 ms"),
        ("insert ns", "in and out", "insert ns"),
        ("cancel ns", "in and out", "cancel ns"),
        ("w2: calls", "w2", "calls"),
        ("entries a call", "w2", "entries per call"),
        ("w3: calls per lease-hour", "w3", "calls per lease-hour"),
        ("w4: CPU ms in an hour", "w4", "cpu ms"),
    ];
    let mut text = format!("| | {} |\n| --- {}|\n", VARIANTS.join(" | "), "| --- ".repeat(VARIANTS.len()));
    for (title, measure, figure) in columns {
        write!(text, "| {title} |").expect("a string takes it");
        for variant in VARIANTS {
            let spread = Spread::of(rounds(all, variant, measure, figure));
            text += &spread.map_or(" not measured |".to_owned(), |it| format!(" {it} |"));
        }
        text.push('\n');
    }
    text
}

/// Ours at three sizes: with driver and runtime, and the core alone.
pub fn sizes(all: &[Measured]) -> String {
    let mut text =
        "| leases | CPU ns per extension, driver and all | core alone: extension | insert | cancel |\n\
        | --- | --- | --- | --- | --- |\n"
            .to_owned();
    for (measure, core) in [("1200", "core 1200"), ("12000", "core 12000"), ("120000", "core 120000")] {
        let cell = |measure, figure| {
            Spread::of(rounds(all, "ours", measure, figure))
                .map_or("not measured".to_owned(), |it| it.to_string())
        };
        writeln!(
            text,
            "| {measure} | {} | {} | {} | {} |",
            cell(measure, CPU),
            cell(core, "extension ns"),
            cell(core, "insert ns"),
            cell(core, "cancel ns")
        )
        .expect("a string takes it");
    }
    text
}
