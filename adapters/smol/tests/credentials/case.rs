//! One case: this test binary again, in a process of its own with a cleaned environment and an empty home.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, fs, process, thread};

/// Far more than any case takes: a case that runs longer hangs.
const HANGS: Duration = Duration::from_mins(1);
/// What two calls may take, answered or refused; on an idle machine none but silent metadata takes a second.
const SOON: Duration = Duration::from_secs(10);

pub(crate) const MODE: &str = "CREDENTIALS_TEST_MODE";
pub(crate) const RESULT: &str = "CREDENTIALS_TEST_RESULT";
const ALONE: &str = "OFF_TOKIO_ALONE";

/// One case: an environment, a home, and a simulated SQS to call.
pub(crate) struct Case {
    home: PathBuf,
    environment: Vec<(&'static str, String)>,
    pub(crate) mode: &'static str,
    server: sqs_lease_sim::Server,
}

/// What came of a case's two calls.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// Key id and session token that the calls were signed with.
    signed: Vec<String>,
    errors: Vec<String>,
    took: Duration,
}

impl Case {
    /// Nothing is configured but the region, and no real metadata service is asked.
    pub(crate) fn new(name: &str) -> Self {
        let home =
            Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("credentials-{name}-{}", process::id()));
        fs::create_dir_all(home.join(".aws/sso/cache")).unwrap();
        let server = sqs_lease_sim::Server::builder().start().unwrap();
        server.create_queue("jobs", &[]).unwrap();
        let case = Self { home, environment: Vec::new(), mode: "chain", server };
        case.env("AWS_REGION", "eu-west-1").env("AWS_EC2_METADATA_DISABLED", "true")
    }

    pub(crate) fn env(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.environment.retain(|(given, _)| *given != name);
        self.environment.push((name, value.into()));
        self
    }

    pub(crate) fn file(self, path: &str, text: &str) -> Self {
        fs::write(self.home.join(path), text).unwrap();
        self
    }

    pub(crate) fn path(&self, path: &str) -> String {
        self.home.join(path).to_str().unwrap().to_owned()
    }

    pub(crate) fn run(self) -> Outcome {
        self.try_run().unwrap_or_else(|said| panic!("{said}"))
    }

    /// The same for a source that the SDK serves by Tokio where another crate of the build has enabled that. Then it
    /// panics, whatever this crate does, and there is nothing to see here: `None`, said aloud. `OFF_TOKIO_ALONE` says
    /// that no such crate is in the build.
    pub(crate) fn run_off_tokio(self) -> Option<Outcome> {
        match self.try_run() {
            Err(said) if said.contains("there is no reactor running") && env::var_os(ALONE).is_none() => {
                eprintln!("SKIPPED: another crate of this build has enabled the SDK's Tokio features");
                None
            }
            outcome => Some(outcome.unwrap_or_else(|said| panic!("{said}"))),
        }
    }

    fn try_run(self) -> Result<Outcome, String> {
        let result = self.home.join("result");
        let mut command = Command::new(env::current_exe().unwrap());
        command.args(["--exact", "in_a_process_of_its_own", "--ignored", "--nocapture"]);
        command.env_clear().env("HOME", &self.home).env(RESULT, &result).env(MODE, self.mode);
        // Where the operating system's root certificates are, on a machine that has to say so.
        for name in ["SSL_CERT_FILE", "SSL_CERT_DIR"] {
            command.envs(env::var_os(name).map(|value| (name, value)));
        }
        command.env("AWS_ENDPOINT_URL_SQS", self.server.endpoint_url()).envs(self.environment);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let in_time = ends(&mut child);
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(in_time, "hangs: {said}");
        if !output.status.success() || said.contains("panicked") {
            return Err(said.into_owned());
        }
        let outcome = Outcome::read(&fs::read_to_string(result).unwrap());
        fs::remove_dir_all(&self.home).unwrap();
        Ok(outcome)
    }
}

/// Whether a process ends by itself; one that does not is killed.
fn ends(child: &mut Child) -> bool {
    let started = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if started.elapsed() > HANGS {
            child.kill().unwrap();
            return false;
        }
        thread::sleep(Duration::from_millis(10));
    }
    true
}

impl Outcome {
    fn read(text: &str) -> Self {
        let mut outcome = Self { signed: Vec::new(), errors: Vec::new(), took: Duration::MAX };
        for line in text.lines() {
            match line.split_once(' ').unwrap() {
                ("signed", with) => outcome.signed.push(with.to_owned()),
                ("error", error) => outcome.errors.push(error.to_owned()),
                ("took", millis) => outcome.took = Duration::from_millis(millis.parse().unwrap()),
                _ => panic!("{line}"),
            }
        }
        outcome
    }

    /// Both calls were signed with this key and its session token, and answered.
    #[track_caller]
    pub(crate) fn is_signed_with(&self, key: &str) {
        let with = format!("{key} {key}-token");
        assert_eq!(self.signed, [with.clone(), with], "{self:?}");
        assert!(self.errors.is_empty() && self.took < SOON, "{self:?}");
    }

    /// Both calls failed before anything was sent, and said this.
    #[track_caller]
    pub(crate) fn is_refused_with(&self, first: &str, second: &str) {
        assert!(self.signed.is_empty() && self.took < SOON, "{self:?}");
        let [one, two] = &*self.errors else { panic!("{self:?}") };
        assert!(one.contains(first) && two.contains(second), "{self:?}");
    }
}
