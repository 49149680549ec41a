//! What the handlers of the blocking examples do.

use std::error::Error;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use sqs_lease_core::{LeaseKey, Received, SettleError, StopReason, Visibility};

use crate::{Message, Sqs};

/// What a handler asks of a loop. Each of these brings the loop news, so each has to wake it.
pub trait Keep {
    /// Keeps a delivery from now on. Its end goes into `told`.
    fn hold(&self, receipt_handle: String, received: Received, told: Sender<StopReason>) -> LeaseKey;

    /// Wants the message deleted.
    ///
    /// # Errors
    /// The lease is over, or is being settled.
    fn delete(&self, key: LeaseKey) -> Result<(), SettleError>;

    /// Wants the message given back.
    ///
    /// # Errors
    /// The lease is over, or is being settled.
    fn release(&self, key: LeaseKey, after: Visibility) -> Result<(), SettleError>;
}

/// Four messages: one is worked on for longer than its visibility timeout, one is lost, one is given back, one is held for
/// twelve hours. The simulated SQS says whether somebody else could have had one.
///
/// # Errors
/// Something went wrong with SQS, or a lease ended before its time.
///
/// # Panics
/// Something is not as it should be.
pub fn scenes(sqs: &Sqs, keep: &impl Keep) -> Result<(), Box<dyn Error>> {
    println!("-- seven seconds of work on a message that SQS hides for three, then a delete");
    sqs.send("slow work")?;
    let (_, key, end) = receive(sqs, keep, 3)?;
    thread::sleep(Duration::from_secs(7));
    assert_eq!(sqs.rival(), None);
    keep.delete(key)?;
    assert_eq!(end.recv()?, StopReason::Deleted);

    println!("-- the way to SQS is cut: the loss is told before another consumer can have the message");
    sqs.send("work that is lost")?;
    sqs.cut();
    let (message, _, end) = receive(sqs, keep, 3)?;
    assert_eq!(end.recv()?, StopReason::Expired);
    sqs.let_go(&message)?;
    assert_eq!(sqs.rival(), None);
    sqs.mend();

    println!("-- whoever has it next gives it back, and another consumer has it at once");
    let (message, key, end) = receive(sqs, keep, 3)?;
    sqs.let_go(&message)?;
    keep.release(key, Visibility::ZERO)?;
    assert_eq!(end.recv()?, StopReason::Released);
    assert_eq!(sqs.rival(), Some(3));

    println!("-- twelve hours of work, on a clock that is put forward wherever the loop would sleep");
    sqs.hurry(true);
    let begin = sqs.now();
    let (message, _, end) = receive(sqs, keep, 600)?;
    assert_eq!(end.recv()?, StopReason::Limit);
    sqs.let_go(&message)?;
    let held = sqs.now() - begin;
    println!("held for {held:?}, by {} calls", sqs.changes());
    assert!(held > Duration::from_secs(43_190));
    assert_eq!(sqs.rival(), None);
    sqs.wait(Duration::from_secs(10));
    assert_eq!(sqs.rival(), Some(5));
    assert!(!sqs.was_shared());
    Ok(())
}

fn receive(
    sqs: &Sqs,
    keep: &impl Keep,
    timeout: u32,
) -> Result<(Message, LeaseKey, Receiver<StopReason>), Box<dyn Error>> {
    let (message, received) = sqs.receive(Visibility::new(timeout)?)?;
    let (told, end) = channel();
    let key = keep.hold(message.receipt_handle.clone(), received, told);
    Ok((message, key, end))
}
