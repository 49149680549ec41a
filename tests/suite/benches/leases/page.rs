//! The page of the documentation that a whole run writes.

use std::path::Path;
use std::process::Command;

const BEGIN: &str = "<!-- leases: written by `cargo bench -p sqs-lease-suite` -->\n";
const END: &str = "<!-- leases: end -->\n";

/// Puts a text between the marks.
///
/// # Panics
/// The page is not there, or has no marks.
pub fn write(text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/benchmarks.md");
    let page = std::fs::read_to_string(&path).expect("the page is there");
    let (before, rest) = page.split_once(BEGIN).expect("a mark where it begins");
    let (_, after) = rest.split_once(END).expect("a mark where it ends");
    std::fs::write(&path, format!("{before}{BEGIN}\n{text}\n{END}{after}")).expect("the page is written");
    eprintln!("written: docs/benchmarks.md");
}

/// What was measured on.
pub fn machine() -> String {
    let cpus = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let models = cpus.lines().filter_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let model = models.map(|(_, model)| model).next().unwrap_or("a processor that does not tell its name");
    let count = std::thread::available_parallelism().map_or(0, usize::from);
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split(' ').next().unwrap_or_default();
    format!(
        "Measured on {count} cores of {model}, {} {}, {}; load when it began: {}.",
        std::env::consts::OS,
        std::env::consts::ARCH,
        told_by("rustc", "--version"),
        if load.is_empty() { "not told" } else { load }
    )
}

fn told_by(program: &str, argument: &str) -> String {
    let output = Command::new(program).arg(argument).output();
    let text = output
        .map_or_else(|_| format!("no {program}"), |it| String::from_utf8_lossy(&it.stdout).into_owned());
    // `rustc 1.95.0 (hash date)`
    text.split(" (").next().unwrap_or_default().trim().to_owned()
}
