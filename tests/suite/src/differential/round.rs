//! Many sequences side by side, on clocks that jump from phase to phase.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::time::{Duration, Instant, SystemTime};

use futures_util::stream::{self, StreamExt as _};
use serde_json::json;
use sqs_lease_sim::Settings;

use super::differences;
use super::duel::Duel;
use super::operation::{Sequence, waits};
use crate::servers::{Client, Server, unique};

/// How many sequences are on the wire at once.
const AT_ONCE: usize = 8;
/// How long a phase may take, by the real clock: deadlines are half a grid away from it, and a server's clock goes on.
const PATIENCE: Duration = Duration::from_secs(12);

/// What came of a round.
#[derive(Debug, Default)]
pub struct Report {
    /// How many sequences were played.
    pub sequences: usize,
    /// How many operations were answered alike.
    pub agreed: u64,
    /// How often each known difference was met.
    pub known: BTreeMap<&'static str, u64>,
    /// Sequences with a difference that is not known, by their seed: what was asked and answered.
    pub unknown: Vec<(u64, String)>,
    /// How many sequences were given up because the machine was too slow.
    pub cut: u64,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} sequences, {} operations alike", self.sequences, self.agreed)?;
        if self.cut > 0 {
            write!(f, ", {} sequences given up: the machine is too slow", self.cut)?;
        }
        for (name, times) in &self.known {
            write!(f, "\n    {times} x {name}")?;
        }
        Ok(())
    }
}

/// Plays the sequences of these seeds on the model and on a server. The round decides the waits between phases.
///
/// # Panics
/// The server does not answer, or its clock cannot be put forward.
pub fn play(server: &Server, round: u64, seeds: Range<u64>) -> Report {
    let phases = waits(round).len();
    let sequences: Vec<_> = seeds.map(|seed| (seed, Sequence::of_seed(seed, phases))).collect();
    async_io::block_on(run(server, &waits(round), &sequences))
}

/// The shortest sequence that can be had from this one by leaving operations out and that still differs.
///
/// # Panics
/// As [`play`].
pub fn shrink(server: &Server, round: u64, seed: u64) -> String {
    let waits = waits(round);
    let mut shortest = Sequence::of_seed(seed, waits.len());
    let mut differs = String::new();
    for _ in 0..12 {
        // All at once: each has queues of its own, and what takes long is the waiting.
        let shorter: Vec<_> = shortest.shorter().into_iter().zip(0..).map(|(it, i)| (i, it)).collect();
        let mut report = async_io::block_on(run(server, &waits, &shorter));
        let Some((index, found)) = report.unknown.pop() else { break };
        differs = found;
        let index = usize::try_from(index).expect("an index");
        shortest = shorter.into_iter().nth(index).expect("one of them").1;
    }
    format!("{shortest}{differs}")
}

async fn run(server: &Server, waits: &[u64], sequences: &[(u64, Sequence)]) -> Report {
    let settings = differences::settings(server.kind, Settings::default());
    let model = sqs_lease_sim::Server::builder().settings(settings).manual_clock().start().expect("a server");
    server.set_ahead(Duration::ZERO);
    let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    // The model's clock begins with the year 2026.
    let origins =
        (490_896 * 3_600_000, i64::try_from(since_1970.as_millis()).expect("before the year 292 000 000"));
    let began = Instant::now();
    let mut report = Report { sequences: sequences.len(), ..Report::default() };
    let duels = stream::iter(sequences).map(async |(seed, sequence)| {
        let duel = Duel::new(server.kind, sequence, &model, server.client(), origins).await;
        (*seed, duel.expect("queues"))
    });
    let mut duels: Vec<_> = duels.buffered(AT_ONCE).collect().await;
    let sweeper = Sweeper::new(server.client()).await;
    let mut nominal = Duration::ZERO;
    for (phase, wait) in waits.iter().enumerate() {
        if phase > 0 {
            sweeper.before_a_jump().await;
            nominal += Duration::from_secs(*wait);
            model.advance(Duration::from_secs(*wait));
            server.set_ahead(nominal.saturating_sub(began.elapsed()));
            sweeper.after_a_jump().await;
        }
        let phase_began = Instant::now();
        let cut =
            stream::iter(&mut duels).map(async |(_, duel)| duel.play(phase, phase_began + PATIENCE).await);
        report.cut +=
            cut.buffer_unordered(AT_ONCE).filter(|cut| std::future::ready(*cut)).count().await as u64;
    }
    server.set_ahead(Duration::ZERO);
    for (seed, duel) in duels {
        report.agreed += duel.agreed;
        for (name, times) in duel.known {
            *report.known.entry(name).or_default() += times;
        }
        report.unknown.extend(duel.unknown.map(|what| (seed, what)));
    }
    report
}

/// Knows when a server has looked at all its queues since its clock was put forward.
///
/// `LocalStack` does so once a second, one queue after the other: when a message of the last queue has come back twice,
/// every queue was looked at.
struct Sweeper {
    client: Client,
    queue_url: String,
}

impl Sweeper {
    async fn new(client: Client) -> Self {
        let created =
            client.call("CreateQueue", &json!({"QueueName": unique("sweeper")})).await.expect("a queue");
        let queue_url = created["QueueUrl"].as_str().expect("its URL").to_owned();
        client
            .call("SendMessage", &json!({"QueueUrl": queue_url, "MessageBody": "hello"}))
            .await
            .expect("sent");
        Self { client, queue_url }
    }

    async fn receives(&self, timeout: u32) -> bool {
        let body = json!({"QueueUrl": self.queue_url, "VisibilityTimeout": timeout, "WaitTimeSeconds": 0});
        let answer = self.client.call("ReceiveMessage", &body).await.expect("received");
        answer["Messages"].as_array().is_some_and(|messages| !messages.is_empty())
    }

    async fn comes_back(&self, timeout: u32) {
        let began = Instant::now();
        while !self.receives(timeout).await {
            assert!(began.elapsed() < Duration::from_secs(30), "a message does not come back");
            async_io::Timer::after(Duration::from_millis(100)).await;
        }
    }

    async fn before_a_jump(&self) {
        self.comes_back(10).await;
    }

    async fn after_a_jump(&self) {
        self.comes_back(1).await;
        self.comes_back(0).await;
    }
}
