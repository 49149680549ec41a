//! What is asked of the servers: sequences from a seed, in words that fit any of them.

use std::fmt;

use crate::harness::bytes::{Bytes, of_seed};

/// Deadlines fall halfway between two phases, so that no server's few seconds matter.
pub(super) const GRID: u64 = 40;

/// A sequence of operations on a queue and its dead-letter queue, in phases with waits between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sequence {
    pub(super) shape: Shape,
    /// For each phase, in order, what is asked.
    pub(super) phases: Vec<Vec<Operation>>,
}

/// How the queues are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) is_fifo: bool,
    pub(super) visibility: u32,
    pub(super) delay: u32,
    pub(super) retention: u32,
    pub(super) max_receive_count: Option<u32>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    Send(Message),
    SendBatch(Vec<(String, Message)>),
    Receive { queue: Which, max: u32, timeout: Option<i32> },
    Change { single: bool, queue: Which, entries: Vec<(String, Handle, i32)> },
    Delete { single: bool, queue: Which, entries: Vec<(String, Handle)> },
    Counts(Which),
    SetTimeout(&'static str),
    Purge,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Which {
    Main,
    Dead,
    Nowhere,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Message {
    pub(super) body: String,
    pub(super) delay: Option<i32>,
    pub(super) group: Option<&'static str>,
    pub(super) deduplication_id: Option<&'static str>,
    pub(super) attribute: Option<&'static str>,
}

/// A receipt handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Handle {
    /// That of the delivery of this number, modulo how many there were.
    Of(usize),
    /// One that no server ever gave out.
    Garbage,
}

/// How long the waits before the phases of a round are, in seconds. Shared by all sequences of the round.
pub(super) fn waits(round: u64) -> Vec<u64> {
    let bytes = of_seed(round.wrapping_mul(0x9e37_79b9), 64);
    let mut bytes = Bytes::new(&bytes);
    let mut waits: Vec<_> = (0..4).map(|_| GRID * bytes.pick(&[1, 1, 1, 2, 3, 8])).collect();
    // Beyond the 12 hours and the end of every handle.
    if bytes.below(2) == 0 {
        waits.push(GRID * 1_250);
    }
    waits.insert(0, 0);
    waits
}

impl Sequence {
    pub(super) fn of_seed(seed: u64, phases: usize) -> Self {
        let bytes = of_seed(seed, 4_096);
        let mut bytes = Bytes::new(&bytes);
        let is_fifo = bytes.below(3) == 0;
        let shape = Shape {
            is_fifo,
            visibility: bytes.pick(&[20, 60, 100]),
            delay: bytes.pick(&[0, 0, 0, 20]),
            retention: bytes.pick(&[345_600, 345_600, 345_600, 60]),
            max_receive_count: bytes.pick(&[None, None, Some(1), Some(2), Some(3)]),
        };
        let mut sent = 0;
        let phases = (0..phases)
            .map(|phase| {
                let first = if phase == 0 { 3 } else { 1 };
                (0..first + bytes.below(5))
                    .map(|i| Operation::random(&mut bytes, shape, phase == 0 && i < 2, &mut sent))
                    .collect()
            })
            .collect();
        Self { shape, phases }
    }

    /// Whether it uses deduplication ids of the sender's own.
    pub(super) fn deduplicates(&self) -> bool {
        self.phases.iter().flatten().any(|operation| match operation {
            Operation::Send(message) => message.deduplication_id.is_some(),
            Operation::SendBatch(entries) => entries.iter().any(|(_, it)| it.deduplication_id.is_some()),
            _ => false,
        })
    }

    /// The same with one operation less, each in turn.
    pub(super) fn shorter(&self) -> Vec<Self> {
        let mut all = Vec::new();
        for (phase, operations) in self.phases.iter().enumerate() {
            for index in 0..operations.len() {
                let mut shorter = self.clone();
                shorter.phases[phase].remove(index);
                all.push(shorter);
            }
        }
        all
    }
}

impl Operation {
    fn random(bytes: &mut Bytes<'_>, shape: Shape, sends: bool, sent: &mut u32) -> Self {
        let is_rare = bytes.below(24) == 0;
        // A receive gives ten at most. Which ones, of more, is no matter of right or wrong.
        let from = if *sent < 10 { 0 } else { 6 };
        match if sends { bytes.below(6) } else { from + bytes.below(32 - from) } {
            0..=3 => Self::Send(Message::random(bytes, shape, sent)),
            4..=5 => {
                let mut ids = ids(bytes, is_rare);
                if !is_rare {
                    ids.truncate(10_usize.saturating_sub(*sent as usize).max(1));
                }
                Self::SendBatch(ids.into_iter().map(|id| (id, Message::random(bytes, shape, sent))).collect())
            }
            6..=14 => Self::Receive {
                queue: bytes.pick(&[Which::Main, Which::Main, Which::Main, Which::Dead]),
                max: if is_rare { bytes.pick(&[0, 11]) } else { 10 },
                timeout: bytes.pick(&[
                    None,
                    None,
                    Some(0),
                    Some(20),
                    Some(20),
                    Some(60),
                    Some(100),
                    Some(620),
                ]),
            },
            15..=22 => {
                let (queue, single) = (which(bytes), bytes.below(2) == 0);
                let ids = if single { vec!["single".to_owned()] } else { ids(bytes, is_rare) };
                let entry = |id| (id, Handle::random(bytes), secs(bytes, is_rare && single));
                Self::Change { single, queue, entries: ids.into_iter().map(entry).collect() }
            }
            23..=27 => {
                let (queue, single) = (which(bytes), bytes.below(2) == 0);
                let ids = if single { vec!["single".to_owned()] } else { ids(bytes, is_rare) };
                let entry = |id| (id, Handle::random(bytes));
                Self::Delete { single, queue, entries: ids.into_iter().map(entry).collect() }
            }
            28..=29 => Self::Counts(bytes.pick(&[Which::Main, Which::Dead])),
            30 => Self::SetTimeout(bytes.pick(if is_rare {
                &["43201", "-1", "abc"]
            } else {
                &["20", "60", "100"]
            })),
            _ => Self::Purge,
        }
    }
}

fn which(bytes: &mut Bytes<'_>) -> Which {
    match bytes.below(16) {
        0 => Which::Nowhere,
        1..=2 => Which::Dead,
        _ => Which::Main,
    }
}

fn secs(bytes: &mut Bytes<'_>, is_out_of_range: bool) -> i32 {
    if is_out_of_range {
        return bytes.pick(&[43_201, -1]);
    }
    bytes.pick(&[0, 0, 20, 20, 60, 100, 620, 43_180])
}

/// The ids of a batch: one to four, and now and then a batch that SQS refuses as a whole.
fn ids(bytes: &mut Bytes<'_>, is_refused: bool) -> Vec<String> {
    let ids = |n: u64| (0..n).map(|i| format!("id-{i}")).collect::<Vec<_>>();
    if !is_refused {
        return ids(1 + bytes.below(4));
    }
    match bytes.below(5) {
        0 => ids(11),
        1 => Vec::new(),
        2 => vec!["a".into(), "b".into(), "a".into()],
        3 => vec!["a b".into()],
        _ => vec!["x".repeat(81)],
    }
}

impl Message {
    fn random(bytes: &mut Bytes<'_>, shape: Shape, sent: &mut u32) -> Self {
        *sent += 1;
        Self {
            body: format!("m{sent}"),
            // On a FIFO queue a message has no delay of its own.
            delay: if shape.is_fifo {
                None
            } else {
                bytes.pick(&[None, None, None, None, Some(0), Some(20), Some(60)])
            },
            group: shape.is_fifo.then(|| bytes.pick(&["a", "a", "b"])),
            deduplication_id: if shape.is_fifo {
                bytes.pick(&[None, None, None, Some("same")])
            } else {
                None
            },
            attribute: bytes.pick(&[None, None, Some("é")]),
        }
    }
}

impl Handle {
    fn random(bytes: &mut Bytes<'_>) -> Self {
        if bytes.below(12) == 0 { Self::Garbage } else { Self::Of(usize::from(bytes.byte() % 64)) }
    }
}

impl fmt::Display for Sequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:?}", self.shape)?;
        for (phase, operations) in self.phases.iter().enumerate() {
            writeln!(f, "phase {phase}")?;
            for operation in operations {
                writeln!(f, "    {operation:?}")?;
            }
        }
        Ok(())
    }
}
