//! What the system says of this process, and children that measure.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

use rustix::time::{ClockId, clock_gettime};

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
/// The child fails.
pub fn measured_apart(arguments: &[String]) -> Figures {
    let output = Command::new(this()).arg("measure").args(arguments).output().expect("this program starts");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    read(&text)
}

pub fn read(text: &str) -> Figures {
    let figure = |line: &str| {
        let (name, value) = line.split_once('=')?;
        Some((name.to_owned(), value.parse().ok()?))
    };
    text.lines().filter_map(figure).collect()
}

pub fn this() -> PathBuf {
    std::env::current_exe().expect("this program")
}
