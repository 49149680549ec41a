use std::collections::HashSet;
use std::fmt;

use super::error::{Error, ErrorKind};

/// One entry of a batch: its id in this batch, and what it asks for.
///
/// ```
/// use sqs_lease_sim::{Entry, Model, Moment, NewMessage};
///
/// let mut sqs = Model::default();
/// sqs.create_queue("jobs", &[], Moment::ORIGIN)?;
/// let entries = ["a", "b"].map(|id| Entry::new(id, NewMessage::new("work")));
/// for (id, outcome) in sqs.send_batch("jobs", &entries, Moment::ORIGIN)? {
///     println!("entry {id} is message {}", outcome?.message_id);
/// }
/// # Ok::<(), sqs_lease_sim::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Entry<T> {
    /// The entry's id: 1 to 80 letters, digits, `-` and `_`, distinct in its batch.
    pub id: String,
    /// What it asks for.
    pub request: T,
}

impl<T> Entry<T> {
    /// An entry with this id.
    pub fn new(id: impl Into<String>, request: T) -> Self {
        Self { id: id.into(), request }
    }
}

/// Only the id: a request names a receipt handle or a body.
impl<T> fmt::Debug for Entry<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Entry({})", self.id)
    }
}

/// A change of visibility in a batch: a receipt handle and seconds, which SQS's model lets one leave out.
///
/// ```
/// use sqs_lease_sim::{Change, Entry, Model, Moment, Receive};
///
/// let at = Moment::from_secs;
/// let mut sqs = Model::default();
/// sqs.create_queue("jobs", &[("VisibilityTimeout", "30")], at(0))?;
/// sqs.send("jobs", "work", at(0))?;
/// let job = sqs.receive("jobs", &Receive::new(), at(0))?.remove(0);
///
/// let entries = [Entry::new("0", Change::new(&job.receipt_handle, 30))];
/// sqs.change_visibility_batch("jobs", &entries, at(15))?;
/// // Hidden for 30 seconds from the change, not from the receive.
/// assert!(sqs.receive("jobs", &Receive::new(), at(44))?.is_empty());
/// assert_eq!(sqs.receive("jobs", &Receive::new(), at(45))?.len(), 1);
/// # Ok::<(), sqs_lease_sim::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Change {
    /// The handle of the delivery.
    pub receipt_handle: String,
    /// The new visibility timeout in seconds, counted from the call. Without it the entry fails.
    pub secs: Option<i32>,
}

impl Change {
    /// A change to this many seconds from the call.
    pub fn new(receipt_handle: impl Into<String>, secs: i32) -> Self {
        Self { receipt_handle: receipt_handle.into(), secs: Some(secs) }
    }
}

/// Without the receipt handle.
impl fmt::Debug for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Change").field("secs", &self.secs).finish_non_exhaustive()
    }
}

/// What became of each entry of a batch, by the entry's id and in the order of the request.
///
/// ```
/// use sqs_lease_sim::{Change, Entry, Model, Moment, Outcomes};
///
/// let mut sqs = Model::default();
/// sqs.create_queue("jobs", &[], Moment::ORIGIN)?;
/// let entries = [Entry::new("0", Change::new("no handle", 30))];
/// // The batch is answered with 200; its entry has failed.
/// let outcomes: Outcomes<()> = sqs.change_visibility_batch("jobs", &entries, Moment::ORIGIN)?;
/// let (id, outcome) = &outcomes[0];
/// assert_eq!((&**id, outcome.as_ref().unwrap_err().entry_code()), ("0", "ReceiptHandleIsInvalid"));
/// # Ok::<(), sqs_lease_sim::Error>(())
/// ```
pub type Outcomes<T> = Vec<(String, Result<T, Error>)>;

/// Refuses the batches that SQS refuses as a whole. Nothing has been done by then.
pub(crate) fn check<T>(entries: &[Entry<T>], entry_type: &str) -> Result<(), Error> {
    if entries.is_empty() {
        let text = format!("There should be at least one {entry_type} in the request.");
        return Err(Error::new(ErrorKind::EmptyBatch, text));
    }
    if entries.len() > 10 {
        let text = format!("Maximum number of entries per request are 10. You have sent {}.", entries.len());
        return Err(Error::new(ErrorKind::TooManyEntries, text));
    }
    if entries.iter().any(|entry| !is_entry_id(&entry.id)) {
        return Err(Error::new(
            ErrorKind::InvalidEntryId,
            "A batch entry id can only contain alphanumeric characters, hyphens and underscores. \
             It can be at most 80 letters long.",
        ));
    }
    let mut seen = HashSet::new();
    match entries.iter().find(|entry| !seen.insert(&*entry.id)) {
        Some(entry) => Err(Error::new(ErrorKind::IdsNotDistinct, format!("Id {} repeated.", entry.id))),
        None => Ok(()),
    }
}

fn is_entry_id(id: &str) -> bool {
    (1..=80).contains(&id.len())
        && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
}
