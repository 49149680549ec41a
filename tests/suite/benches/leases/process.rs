//! What the system says of this process, and children that measure.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Command, Output};

use rustix::time::{ClockId, clock_gettime};

use crate::work::STEADY;

/// CPU time of all threads so far, in nanoseconds.
pub fn cpu_nanos() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    #[expect(clippy::cast_precision_loss, reason = "a few minutes of nanoseconds")]
    let nanos = (time.tv_sec * 1_000_000_000 + time.tv_nsec) as f64;
    nanos
}

/// Context switches of all threads so far; `None` where the system does not tell.
pub fn context_switches() -> Option<u64> {
    let mut sum = 0;
    for task in std::fs::read_dir("/proc/self/task").ok()? {
        let status = std::fs::read_to_string(task.ok()?.path().join("status")).ok()?;
        let switches = status.lines().filter(|line| line.contains("ctxt_switches"));
        sum += switches.filter_map(|line| line.split_whitespace().last()?.parse::<u64>().ok()).sum::<u64>();
    }
    Some(sum)
}

/// Figures by their names.
pub type Figures = BTreeMap<String, f64>;

/// Measures in a process of its own, with a heap of its own.
///
/// # Panics
/// It fails.
pub fn apart(variant: &str, measure: &str, numbers: &[u32]) -> Figures {
    figures_of(Command::new(this()).args(arguments(variant, measure, numbers)))
}

/// Instructions per extension of w1, counted by valgrind; `None` where it is not installed.
///
/// # Panics
/// It fails.
pub fn instructions(variant: &str, leases: u32, seconds: u32) -> Option<Figures> {
    Command::new("valgrind").arg("--version").output().ok().filter(|it| it.status.success())?;
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
    valgrind.arg(format!("--toggle-collect={STEADY}")).arg(this());
    let output = run(valgrind.args(arguments(variant, "instructions", &[leases, seconds])));
    let told = String::from_utf8_lossy(&output.stderr);
    let collected = told.lines().find_map(|line| line.split_once("Collected : "));
    let collected: f64 =
        collected.and_then(|(_, it)| it.trim().parse().ok()).expect("valgrind says how many");
    let extensions = read(&String::from_utf8_lossy(&output.stdout))["extensions"];
    Some(Figures::from([("instructions".to_owned(), collected / extensions)]))
}

fn arguments(variant: &str, measure: &str, numbers: &[u32]) -> Vec<String> {
    let words = ["measure", variant, measure].map(str::to_owned).into_iter();
    words.chain(numbers.iter().map(u32::to_string)).collect()
}

/// What a program prints, as `name=figure` lines.
///
/// # Panics
/// It fails.
pub fn figures_of(command: &mut Command) -> Figures {
    read(&String::from_utf8_lossy(&run(command).stdout))
}

fn run(command: &mut Command) -> Output {
    let output = command.output().expect("the program starts");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    output
}

fn read(text: &str) -> Figures {
    let figure = |line: &str| {
        let (name, value) = line.split_once('=')?;
        Some((name.to_owned(), value.parse().ok()?))
    };
    text.lines().filter_map(figure).collect()
}

fn this() -> PathBuf {
    std::env::current_exe().expect("this program")
}
