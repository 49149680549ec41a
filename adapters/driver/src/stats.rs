//! What a keeper has done so far, in numbers.

use std::time::Duration;

use sqs_lease_core::{CallKind, StopReason};

/// A snapshot of what a [`Keeper`](crate::Keeper) has done since it was made.
///
/// Counts only grow. The names are stable; fields may be added.
///
/// ```
/// # fn example(keeper: &sqs_lease_driver::Keeper) {
/// let stats = keeper.stats();
/// println!("{} held, {} lost", stats.leases_held, stats.lost());
/// # }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Leases that are held now.
    pub leases_held: usize,
    /// Acknowledged extensions.
    pub extensions: u64,
    /// How many of them took one try, two, three, four, five or more.
    pub attempts_per_extension: [u64; 5],
    /// `ChangeMessageVisibilityBatch` calls: extensions and releases.
    pub change_calls: u64,
    /// Their entries, 1 to 10 a call.
    pub change_entries: u64,
    /// `DeleteMessageBatch` calls.
    pub delete_calls: u64,
    /// Their entries, 1 to 10 a call.
    pub delete_entries: u64,
    /// Deliveries lost while their handler ran: in [`keep`](crate::Delivery::keep).
    pub lost_started: Losses,
    /// Deliveries lost before a handler had started.
    pub lost_waiting: Losses,
    /// How long the lease was still held when each extension was acknowledged: the safety margin.
    pub margin: Margins,
    /// How long until the first of the leases that are there reaches its limit: the 12 hours, or the longest hold.
    /// `None`: none is there.
    pub time_to_limit: Option<Duration>,
}

impl Stats {
    /// All losses.
    pub fn lost(&self) -> u64 {
        self.lost_started.sum() + self.lost_waiting.sum()
    }
}

/// Losses by their reason.
///
/// ```
/// # use sqs_lease_driver::{ChangeVisibility, Queue, ReceiptHandle, Reply};
/// # struct Jobs;
/// # impl Queue for Jobs {
/// #     async fn change_visibility(&self, _: Vec<ChangeVisibility>) -> Reply { Reply::Done }
/// #     async fn delete(&self, _: Vec<ReceiptHandle>) -> Reply { Reply::Done }
/// # }
/// use std::time::Duration;
/// use sqs_lease_driver::{Keeper, NoRuntime, Receipt, Received, Settings, Visibility};
///
/// let keeper = Keeper::new(Jobs, NoRuntime::new(), Settings::new());
/// // A delivery that was held too late: its timeout had run out half a minute before.
/// let received = Received::new(keeper.now() - Duration::from_secs(60), Visibility::new(30)?);
/// let delivery = keeper.hold(Receipt::new("AQEB…", received), ());
/// futures_executor::block_on(delivery.lost());
/// assert_eq!(keeper.stats().lost_waiting.expired, 1);
/// # Ok::<(), sqs_lease_driver::VisibilityError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Losses {
    /// The timeout ran out before an extension was acknowledged.
    pub expired: u64,
    /// The 12 hours, or the longest hold, were over.
    pub limit: u64,
    /// SQS said that the delivery is gone.
    pub refused: u64,
}

impl Losses {
    fn sum(&self) -> u64 {
        self.expired + self.limit + self.refused
    }
}

/// A histogram of the time that was left at each acknowledged extension.
///
/// ```
/// use sqs_lease_driver::Stats;
///
/// let stats = Stats::default(); // or `keeper.stats()`
/// // As Prometheus wants a histogram: each bucket counts what is in those below as well.
/// let mut count = 0;
/// for (bound, more) in stats.margin.buckets() {
///     count += more;
///     let bound = bound.map_or("+Inf".to_owned(), |it| it.as_secs_f64().to_string());
///     println!("margin_seconds_bucket{{le=\"{bound}\"}} {count}");
/// }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Margins([u64; Self::BOUNDS.len() + 1]);

impl Margins {
    /// The upper bounds of all buckets but the last, which has none. A value on a bound counts below it.
    pub const BOUNDS: [Duration; 9] = [
        Duration::from_millis(100),
        Duration::from_millis(500),
        Duration::from_secs(1),
        Duration::from_secs(5),
        Duration::from_secs(10),
        Duration::from_secs(30),
        Duration::from_mins(1),
        Duration::from_mins(5),
        Duration::from_mins(30),
    ];

    /// Each bucket's upper bound, `None` for the last, and its count.
    pub fn buckets(&self) -> impl Iterator<Item = (Option<Duration>, u64)> {
        Self::BOUNDS.into_iter().map(Some).chain([None]).zip(self.0)
    }

    fn add(&mut self, count: u64, margin: Duration) {
        let index = Self::BOUNDS.partition_point(|bound| *bound < margin);
        self.0[index] += count;
    }
}

impl Stats {
    /// Counts extensions that were acknowledged at that try.
    pub(crate) fn extended(&mut self, count: u64, attempt: u32, margin: Duration) {
        self.extensions += count;
        let index =
            usize::try_from(attempt).unwrap_or(usize::MAX).clamp(1, self.attempts_per_extension.len());
        self.attempts_per_extension[index - 1] += count;
        self.margin.add(count, margin);
    }

    pub(crate) fn called(&mut self, kind: CallKind, entries: usize) {
        let (calls, sum) = match kind {
            CallKind::Delete => (&mut self.delete_calls, &mut self.delete_entries),
            _ => (&mut self.change_calls, &mut self.change_entries),
        };
        *calls += 1;
        *sum += entries as u64;
    }

    pub(crate) fn stopped(&mut self, reason: StopReason, started: bool) {
        let losses = if started { &mut self.lost_started } else { &mut self.lost_waiting };
        match reason {
            StopReason::Expired => losses.expired += 1,
            StopReason::Limit => losses.limit += 1,
            StopReason::Refused => losses.refused += 1,
            _ => {}
        }
    }
}
