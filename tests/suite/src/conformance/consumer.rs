//! The consumer's scenes, which every adapter has to pass as well: real calls, real tasks, and handlers of all kinds.
//!
//! [`consumer_tests!`](crate::consumer_tests) makes a test of each.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use sqs_lease_driver::{
    Consumer, ConsumerOptions, Delivery, OnFailure, Report, Shutdown, Source, Visibility,
};
use sqs_lease_sim::{Event, MessageId, Server};

use super::{Platform, millis};

/// A runtime whose consumer is under test.
pub trait Consumes: Platform {
    /// What the adapter receives from.
    type Queue: Source;

    /// A queue of 2 s of visibility timeout and long polls of 1 s, as the adapter opens it.
    fn open(&self, endpoint_url: &str, queue_url: &str) -> impl Future<Output = Self::Queue> + Send;

    /// The adapter's consumer.
    fn consumer<F, E>(
        &self,
        queue: Self::Queue,
        options: ConsumerOptions,
        handler: impl Fn(Arc<Delivery<<Self::Queue as Source>::Message>>) -> F + Send + Sync + 'static,
    ) -> Consumer<Self::Queue>
    where
        F: Future<Output = Result<(), E>> + Send + 'static;

    /// Runs something that blocks its thread, the way the runtime has for that.
    fn block(&self, work: impl FnOnce() + Send + 'static) -> impl Future<Output = ()> + Send;
}

/// Makes a test of each scene of the consumer: `consumer_tests!(platform, block_on)`.
#[macro_export]
macro_rules! consumer_tests {
    ($platform:expr, $block_on:expr) => {
        $crate::consumer_tests!(
            @each $platform, $block_on,
            handles_whatever_handlers_do,
            keeps_what_handlers_that_block_work_on,
            accounts_for_all_at_a_shutdown
        );
    };
    (@each $platform:expr, $block_on:expr, $($scene:ident),*) => {
        $(
            #[test]
            fn $scene() {
                $block_on($crate::conformance::consumer::$scene($platform));
            }
        )*
    };
}

/// What SQS knows of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Gone.
    Deleted,
    /// There for everybody.
    Visible,
    /// Hidden for that long yet.
    Hidden(Duration),
}

/// What became of each message that was ever sent to this server, and how often it was received.
pub fn fates(server: &Server) -> HashMap<String, (Fate, usize)> {
    server.model(|model, now| {
        let fate = |events: &[sqs_lease_sim::Recorded]| {
            let (mut until, mut receives) = (now, 0);
            for recorded in events {
                match recorded.event {
                    Event::Deleted { .. } => return (Fate::Deleted, receives),
                    Event::Received { until: to, .. } => (until, receives) = (to, receives + 1),
                    Event::Changed { to, .. } => until = to,
                    _ => {}
                }
            }
            (if until > now { Fate::Hidden(until - now) } else { Fate::Visible }, receives)
        };
        model.histories().map(|(id, events)| (id.to_string(), fate(events))).collect()
    })
}

fn send(server: &Server, count: usize) -> Vec<MessageId> {
    (0..count)
        .map(|i| server.model(|model, now| model.send("jobs", format!("{i}"), now).expect("sent").message_id))
        .collect()
}

fn server() -> (Server, String) {
    let server = Server::builder().start().expect("a server");
    let queue_url = server.create_queue("jobs", &[]).expect("the queue");
    (server, queue_url)
}

/// Runs a consumer beside something that stops it, for a minute at most.
async fn run<P: Consumes>(
    platform: &P,
    consumer: Consumer<P::Queue>,
    how: Shutdown,
    grace: Duration,
    is_time: impl Fn() -> bool + Send + 'static,
) -> Report {
    let stopper = consumer.stopper();
    let sleeper = platform.clone();
    platform.spawn(async move {
        let begin = Instant::now();
        while !is_time() && begin.elapsed() < Duration::from_mins(1) {
            sleeper.sleep(millis(20)).await;
        }
        stopper.shutdown(how, grace);
    });
    consumer.run().await.expect("it ends by the shutdown")
}

/// At its first receive a handler fails, panics, leaks its delivery, leaves or releases it, and later succeeds: in the
/// end every message is deleted, and none was worked on twice at a time.
pub async fn handles_whatever_handlers_do<P: Consumes>(platform: P) {
    let (server, queue_url) = server();
    let server = Arc::new(server);
    let sent = send(&server, 60);
    let queue = platform.open(server.endpoint_url(), &queue_url).await;
    let options = ConsumerOptions::new().concurrency(20).expect("in range").prefetch(5);
    let options = options.on_failure(OnFailure::Release(Visibility::ZERO));
    let at_work: Arc<Mutex<HashMap<String, usize>>> = Arc::default();
    let overlaps = Arc::new(AtomicUsize::new(0));
    let (sleeper, working, overlapping) = (platform.clone(), Arc::clone(&at_work), Arc::clone(&overlaps));
    let consumer =
        platform.consumer(queue, options, move |delivery: Arc<Delivery<<P::Queue as Source>::Message>>| {
            let (platform, at_work, overlaps) =
                (sleeper.clone(), Arc::clone(&working), Arc::clone(&overlapping));
            async move {
                let id = delivery.message_id().to_owned();
                let _work = AtWork::begin(&at_work, &id, &overlaps);
                // Some longer than the visibility timeout.
                let kind = id.bytes().map(usize::from).sum::<usize>();
                platform.sleep(millis(if kind % 7 == 0 { 3_000 } else { 100 })).await;
                if delivery.receive_count() > 1 {
                    return Ok(());
                }
                match kind % 6 {
                    0 => Err("fails"),
                    1 => panic!("the test wants it"),
                    2 => {
                        std::mem::forget(Arc::clone(&delivery));
                        Err("leaks")
                    }
                    3 => {
                        delivery.leave().expect("it is held");
                        Err("leaves")
                    }
                    4 => {
                        delivery.release(Visibility::ZERO).await.expect("it is held");
                        Ok(())
                    }
                    _ => Ok(()),
                }
            }
        });
    let truth = Arc::clone(&server);
    let all_deleted = move || fates(&truth).values().all(|(fate, _)| *fate == Fate::Deleted);
    let report = run(&platform, consumer, Shutdown::Drain, Duration::from_secs(10), all_deleted).await;
    let fates = fates(&server);
    assert_eq!(fates.len(), sent.len());
    let open: Vec<_> = fates.iter().filter(|(_, (fate, _))| *fate != Fate::Deleted).collect();
    assert!(open.is_empty(), "{open:?} {report}");
    assert_eq!(overlaps.load(Ordering::Relaxed), 0, "a message was worked on twice at a time");
}

/// Counts how many handlers work on a message at this moment.
struct AtWork<'a> {
    all: &'a Mutex<HashMap<String, usize>>,
    id: String,
}

impl<'a> AtWork<'a> {
    fn begin(all: &'a Mutex<HashMap<String, usize>>, id: &str, overlaps: &AtomicUsize) -> Self {
        let mut map = all.lock().unwrap_or_else(PoisonError::into_inner);
        let count = map.entry(id.to_owned()).or_default();
        *count += 1;
        overlaps.fetch_add(usize::from(*count > 1), Ordering::Relaxed);
        Self { all, id: id.to_owned() }
    }
}

impl Drop for AtWork<'_> {
    fn drop(&mut self) {
        let mut map = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        *map.entry(self.id.clone()).or_default() -= 1;
    }
}

/// Handlers that block a thread for longer than the visibility timeout, the way the runtime has for that: each message
/// is received once.
pub async fn keeps_what_handlers_that_block_work_on<P: Consumes>(platform: P) {
    let (server, queue_url) = server();
    let server = Arc::new(server);
    send(&server, 8);
    let queue = platform.open(server.endpoint_url(), &queue_url).await;
    let options = ConsumerOptions::new().concurrency(8).expect("in range");
    let blocker = platform.clone();
    let consumer = platform.consumer(queue, options, move |_| {
        let platform = blocker.clone();
        async move {
            platform.block(|| std::thread::sleep(millis(3_500))).await;
            Ok::<(), ()>(())
        }
    });
    let truth = Arc::clone(&server);
    let all_deleted = move || fates(&truth).values().all(|(fate, _)| *fate == Fate::Deleted);
    let report = run(&platform, consumer, Shutdown::Drain, Duration::from_secs(10), all_deleted).await;
    let fates = fates(&server);
    assert!(fates.values().all(|it| *it == (Fate::Deleted, 1)), "{fates:?} {report}");
}

/// In the middle of the load, with handlers that end, fail, panic, and never end: what the report says is what SQS
/// knows.
pub async fn accounts_for_all_at_a_shutdown<P: Consumes>(platform: P) {
    let (server, queue_url) = server();
    let server = Arc::new(server);
    let sent = send(&server, 100);
    let queue = platform.open(server.endpoint_url(), &queue_url).await;
    let options = ConsumerOptions::new().concurrency(30).expect("in range").prefetch(10);
    let done: Arc<Mutex<Vec<String>>> = Arc::default();
    let (sleeper, noted) = (platform.clone(), Arc::clone(&done));
    let consumer =
        platform.consumer(queue, options, move |delivery: Arc<Delivery<<P::Queue as Source>::Message>>| {
            let (platform, done) = (sleeper.clone(), Arc::clone(&noted));
            async move {
                let kind = delivery.message_id().bytes().map(usize::from).sum::<usize>();
                platform.sleep(millis(300)).await;
                match kind % 5 {
                    0 => Err("fails"),
                    1 => panic!("the test wants it"),
                    2 => std::future::pending().await,
                    _ => {
                        let id = delivery.message_id().to_owned();
                        done.lock().unwrap_or_else(PoisonError::into_inner).push(id);
                        Ok(())
                    }
                }
            }
        });
    let noted = Arc::clone(&done);
    let is_time = move || noted.lock().unwrap_or_else(PoisonError::into_inner).len() >= 5;
    let report = run(&platform, consumer, Shutdown::ReleaseUnstarted, millis(1_500), is_time).await;
    let fates = fates(&server);
    assert_eq!(fates.len(), sent.len());
    assert!(report.left.is_empty() && !report.released.is_empty(), "{report:?}");
    for id in done.lock().unwrap_or_else(PoisonError::into_inner).iter() {
        assert_eq!(fates[id].0, Fate::Deleted, "{id} was handled");
    }
    for id in &report.released {
        assert_eq!(fates[&**id].0, Fate::Visible, "{id} was released");
    }
    for (id, (fate, receives)) in &fates {
        // What failed, and what nobody received, comes or is there by itself.
        let longest = Duration::from_secs(2);
        assert!(
            !matches!(fate, Fate::Hidden(left) if *left > longest),
            "{id}: {fate:?}, {receives} receives"
        );
    }
}
