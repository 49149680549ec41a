//! The worker example as a process of its own, stopped by signals in the middle of its load: the simulated SQS accounts for
//! every message.
#![cfg(unix)]

use std::collections::HashSet;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use sqs_lease_sim::{Action, Server};
use sqs_lease_suite::conformance::consumer::{Fate, fates};

const MESSAGES: usize = 60;
/// Longer than the middle of the worker's visibility timeout of 2 s, so that it extends.
const WORK: u64 = 1_300;
const TIMEOUT: Duration = Duration::from_secs(2);

/// Cargo builds examples with the tests, beside them.
fn worker() -> PathBuf {
    let mut path = std::env::current_exe().unwrap();
    path.pop();
    path.pop();
    path.push("examples/worker");
    assert!(path.exists(), "no {}: `cargo build --example worker` makes it", path.display());
    path
}

struct Scene {
    server: Server,
    worker: Child,
}

impl Scene {
    fn new() -> Self {
        let server = Server::builder().start().unwrap();
        let queue_url = server.create_queue("jobs", &[]).unwrap();
        for i in 0..MESSAGES {
            server.model(|model, now| model.send("jobs", format!("{i}"), now)).unwrap();
        }
        let worker = Command::new(worker())
            .args(["--endpoint-url", server.endpoint_url(), "--queue-url", &queue_url])
            .args(["--work", &WORK.to_string()])
            .env("AWS_REGION", "us-east-1")
            .env("AWS_ACCESS_KEY_ID", "test")
            .env("AWS_SECRET_ACCESS_KEY", "test")
            .env("AWS_EC2_METADATA_DISABLED", "true")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        Self { server, worker }
    }

    /// Waits until that many handlers are done.
    fn wait_for_deletes(&self, count: usize) {
        let begin = Instant::now();
        let deleted = || fates(&self.server).values().filter(|(fate, _)| *fate == Fate::Deleted).count();
        while deleted() < count {
            assert!(begin.elapsed() < Duration::from_mins(1), "the worker does not get on");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn signal(&self, name: &str) {
        let sent = Command::new("kill").args([&format!("-{name}"), &self.worker.id().to_string()]).status();
        assert!(sent.unwrap().success());
    }

    fn end(self) -> (Server, Output) {
        (self.server, self.worker.wait_with_output().unwrap())
    }
}

/// The ids of the messages that the worker says it has handled.
fn handled(output: &Output) -> HashSet<String> {
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let ids = text.lines().filter_map(|line| line.split_once("handled ")?.1.split_once(','));
    ids.map(|(id, _)| id.to_owned()).collect()
}

/// At several moments of the load: handlers end and their messages are deleted, all others are there for the next
/// consumer at once.
#[test]
fn sigterm_in_the_middle_of_the_load() {
    let scenes: Vec<_> = [1, 11, 25].map(|deletes| (deletes, Scene::new())).into();
    for (deletes, scene) in scenes {
        scene.wait_for_deletes(deletes);
        scene.signal("TERM");
        let (server, output) = scene.end();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{:?} {text}", output.status);
        let (fates, handled) = (fates(&server), handled(&output));
        assert_eq!(fates.len(), MESSAGES);
        assert!(handled.len() >= deletes && handled.len() < MESSAGES, "{} handled", handled.len());
        for (id, (fate, receives)) in &fates {
            let expected = if handled.contains(id) { Fate::Deleted } else { Fate::Visible };
            assert_eq!(*fate, expected, "{id}, received {receives} times\n{text}");
            assert!(*receives <= 1, "{id} was received {receives} times\n{text}");
        }
        let received = fates.values().filter(|(fate, receives)| *fate == Fate::Visible && *receives > 0);
        let stopped = format!("stopped: {} messages released, 0 left, 0 handlers", received.count());
        assert!(text.contains(&stopped), "{stopped} is not in\n{text}");
        assert!(server.calls(Action::ChangeMessageVisibilityBatch) > 0, "it has extended");
        assert!(!text.contains("AQEB"), "a receipt handle is seen");
    }
}

/// The second one ends it at once, as a crash would: no message is lost, and none is hidden for longer than a timeout.
#[test]
fn a_second_sigterm_and_a_sigkill() {
    let scenes = [("TERM", Scene::new()), ("KILL", Scene::new())];
    for (name, scene) in scenes {
        scene.wait_for_deletes(5);
        if name == "TERM" {
            scene.signal("TERM");
            std::thread::sleep(Duration::from_millis(50));
        }
        let begin = Instant::now();
        scene.signal(name);
        let (server, output) = scene.end();
        assert!(begin.elapsed() < Duration::from_secs(1), "at once");
        assert_eq!(output.status.code(), (name == "TERM").then_some(130));
        let (fates, handled) = (fates(&server), handled(&output));
        assert_eq!(fates.len(), MESSAGES);
        for (id, (fate, _)) in &fates {
            match fate {
                Fate::Deleted => assert!(handled.contains(id), "{id} was deleted and not handled"),
                Fate::Visible => {}
                Fate::Hidden(left) => assert!(*left <= TIMEOUT, "{id} is hidden for {left:?}"),
            }
        }
    }
}
