//! The worker example as a process of its own, stopped by signals in the middle of its load: the simulated SQS accounts for
//! every message.
#![cfg(unix)]

use std::collections::HashSet;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
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
    stdout: BufReader<ChildStdout>,
    /// What of it was read.
    printed: String,
}

impl Scene {
    fn new() -> Self {
        let server = Server::builder().start().unwrap();
        let queue_url = server.create_queue("jobs", &[]).unwrap();
        for i in 0..MESSAGES {
            server.model(|model, now| model.send("jobs", format!("{i}"), now)).unwrap();
        }
        let mut worker = Command::new(worker())
            .args(["--endpoint-url", server.endpoint_url(), "--queue-url", &queue_url])
            .args(["--work", &WORK.to_string()])
            .env("AWS_REGION", "us-east-1")
            .env("AWS_ACCESS_KEY_ID", "test")
            .env("AWS_SECRET_ACCESS_KEY", "test")
            .env("AWS_EC2_METADATA_DISABLED", "true")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let stdout = BufReader::new(worker.stdout.take().unwrap());
        Self { server, worker, stdout, printed: String::new() }
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

    /// Waits until it says so: two signals that it has not looked at yet are one.
    fn wait_for(&mut self, words: &str) {
        while !self.printed.lines().any(|line| line.contains(words)) {
            assert!(self.stdout.read_line(&mut self.printed).unwrap() > 0, "it ended:\n{}", self.printed);
        }
    }

    fn signal(&self, name: &str) {
        let sent = Command::new("kill").args([&format!("-{name}"), &self.worker.id().to_string()]).status();
        assert!(sent.unwrap().success());
    }

    /// Waits for its end; what it has printed.
    fn end(mut self) -> (Server, ExitStatus, String) {
        self.stdout.read_to_string(&mut self.printed).unwrap();
        (self.server, self.worker.wait().unwrap(), self.printed)
    }
}

/// The ids of the messages that the worker says it has handled.
fn handled(text: &str) -> HashSet<String> {
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
        let (server, status, text) = scene.end();
        assert!(status.success(), "{status:?} {text}");
        let (fates, handled) = (fates(&server), handled(&text));
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
    for (name, mut scene) in scenes {
        scene.wait_for_deletes(5);
        if name == "TERM" {
            scene.signal("TERM");
            scene.wait_for("stopping: ");
        }
        scene.signal(name);
        let (server, status, text) = scene.end();
        assert_eq!(status.code(), (name == "TERM").then_some(130), "{text}");
        let (fates, handled) = (fates(&server), handled(&text));
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
