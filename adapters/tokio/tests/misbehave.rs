//! A thousand handlers of all bad manners at once: what the simulated SQS knows in the end is what the guarantees say.

mod common;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use sqs_lease_sim::{Event, Moment, Recorded, Server, redrive_policy};
use sqs_lease_tokio::aws_sdk_sqs::types::Message;
use sqs_lease_tokio::{ConsumerOptions, Delivery, Options, Policy, Shutdown, Visibility};

const MESSAGES: usize = 1_000;
const TIMEOUT: u32 = 2;
const MAX_HOLD: Duration = Duration::from_secs(5);
/// What a handler does at a message's first receive, by the message's number; at the second it succeeds.
const KINDS: [Kind; 10] = [
    Kind { name: "sleeps", receives: 1, is_buried: false },
    Kind { name: "blocks a thread of its own", receives: 1, is_buried: false },
    Kind { name: "blocks a worker", receives: 1, is_buried: false },
    Kind { name: "leaks and succeeds", receives: 1, is_buried: false },
    Kind { name: "panics", receives: 2, is_buried: false },
    Kind { name: "fails", receives: 2, is_buried: false },
    Kind { name: "leaks and fails", receives: 2, is_buried: false },
    Kind { name: "leaks and never ends", receives: 2, is_buried: false },
    Kind { name: "ignores its cancellation", receives: 2, is_buried: false },
    Kind { name: "fails always", receives: 2, is_buried: true },
];

struct Kind {
    name: &'static str,
    receives: usize,
    is_buried: bool,
}

/// When each handler ended, on the simulated SQS' clock, by the message's number and the receive count.
type Ends = Mutex<HashMap<(usize, u32), Moment>>;

/// A handler's work, from its begin to its end by itself, by a panic, or by being dropped at the loss.
struct AtWork {
    server: Arc<Server>,
    ends: Arc<Ends>,
    key: (usize, u32),
}

impl Drop for AtWork {
    fn drop(&mut self) {
        let now = self.server.now();
        self.ends.lock().unwrap_or_else(PoisonError::into_inner).insert(self.key, now);
    }
}

async fn misbehave(
    server: Arc<Server>,
    ends: Arc<Ends>,
    delivery: Arc<Delivery<Message>>,
) -> Result<(), &'static str> {
    let number: usize = delivery.message().body().unwrap_or_default().parse().expect("a number");
    let at_work = AtWork { server, ends, key: (number, delivery.receive_count()) };
    let kind = KINDS[number % KINDS.len()].name;
    if delivery.receive_count() > 1 && kind != "fails always" {
        return Ok(());
    }
    match kind {
        // Longer than the visibility timeout.
        "sleeps" => tokio::time::sleep(Duration::from_millis(3_500)).await,
        "blocks a thread of its own" => {
            let blocked = tokio::task::spawn_blocking(move || {
                std::thread::sleep(Duration::from_millis(3_500));
                drop(at_work);
            });
            blocked.await.expect("it ends");
        }
        "blocks a worker" => std::thread::sleep(Duration::from_millis(10)),
        "leaks and succeeds" => std::mem::forget(delivery),
        "panics" => panic!("the test wants it"),
        "leaks and fails" => {
            std::mem::forget(delivery);
            return Err(kind);
        }
        "leaks and never ends" => {
            std::mem::forget(delivery);
            std::future::pending::<()>().await;
        }
        "ignores its cancellation" => {
            // It goes on although nobody awaits it any more.
            let blocked = tokio::task::spawn_blocking(|| std::thread::sleep(MAX_HOLD * 3 / 2));
            blocked.await.expect("it ends");
        }
        _ => return Err(kind),
    }
    Ok(())
}

fn is_over(events: &[Recorded]) -> bool {
    events.iter().any(|it| matches!(it.event, Event::Deleted { .. } | Event::Moved { .. }))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_thousand_handlers_of_all_bad_manners() {
    let server = Arc::new(Server::builder().start().unwrap());
    server.create_queue("dead", &[]).unwrap();
    let arn = server.model(|model, _| model.queue_arn("dead")).unwrap();
    let url = server.create_queue("jobs", &[("RedrivePolicy", &redrive_policy(&arn, 2))]).unwrap();
    for number in 0..MESSAGES {
        server.model(|model, now| model.send("jobs", number.to_string(), now)).unwrap();
    }
    let options = Options::new()
        .visibility_timeout(Visibility::new(TIMEOUT).unwrap())
        .wait(Duration::from_secs(1))
        .unwrap()
        .policy(Policy::new().max_hold(MAX_HOLD).unwrap());
    let queue = sqs_lease_tokio::open(common::client(server.endpoint_url()), url, options).await.unwrap();
    let keeper = queue.keeper().clone();
    let options = ConsumerOptions::new().concurrency(MESSAGES).unwrap();
    let ends: Arc<Ends> = Arc::default();
    let (clock, noted) = (Arc::clone(&server), Arc::clone(&ends));
    let consumer = sqs_lease_tokio::consumer(queue, options, move |it| {
        misbehave(Arc::clone(&clock), Arc::clone(&noted), it)
    })
    .unwrap();
    let (stopper, truth) = (consumer.stopper(), Arc::clone(&server));
    tokio::spawn(async move {
        let begin = Instant::now();
        let all_over = || truth.model(|model, _| model.histories().all(|(_, events)| is_over(events)));
        while !all_over() && begin.elapsed() < Duration::from_secs(18) {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        stopper.shutdown(Shutdown::Drain, Duration::from_secs(1));
    });
    let report = consumer.run().await.unwrap();

    assert_eq!(keeper.stats().leases_held, 0, "what was leaked is kept no longer: {report}");
    let ends = ends.lock().unwrap_or_else(PoisonError::into_inner);
    server.model(|model, _| {
        let histories: Vec<_> = model.histories().collect();
        assert_eq!(histories.len(), MESSAGES);
        for (number, (_, events)) in histories.into_iter().enumerate() {
            let kind = &KINDS[number % KINDS.len()];
            let name = format!("{number} {}", kind.name);
            assert_fate(&name, kind, events);
            assert_no_overlap(&name, number, &ends, events);
        }
    });
}

/// Deleted or buried as its handler's manners say, and never hidden for longer than the longest hold.
fn assert_fate(name: &str, kind: &Kind, events: &[Recorded]) {
    assert!(is_over(events), "{name}: neither deleted nor buried: {events:?}");
    let is_buried = events.iter().any(|it| matches!(it.event, Event::Moved { .. }));
    assert_eq!(is_buried, kind.is_buried, "{name}: {events:?}");
    let deliveries = events.iter().filter(|it| matches!(it.event, Event::Received { .. })).count();
    assert_eq!(deliveries, kind.receives, "{name}: {events:?}");
    // SQS counts an extension from when it gets the call, which is a little after the lease has sent it.
    let under_way = Duration::from_millis(500);
    // What has failed is given up at once, whoever still has a hold of it.
    let longest = if kind.name.ends_with("fails") { MAX_HOLD * 4 / 5 } else { MAX_HOLD + under_way };
    let mut received = Moment::ORIGIN;
    for recorded in events {
        match recorded.event {
            Event::Received { requested, .. } => received = requested,
            Event::Changed { to, .. } => assert!(to - received <= longest, "{name}: {events:?}"),
            _ => {}
        }
    }
}

/// Each delivery began after the handler of the one before had ended.
fn assert_no_overlap(name: &str, number: usize, ends: &HashMap<(usize, u32), Moment>, events: &[Recorded]) {
    for recorded in events {
        if let Event::Received { delivery, .. } = recorded.event {
            let before = ends.get(&(number, delivery - 1)).copied();
            assert_eq!(before.is_some(), delivery > 1, "{name}: a handler has not ended: {events:?}");
            assert!(before.is_none_or(|it| it <= recorded.at), "{name}: ended at {before:?}: {events:?}");
        }
    }
}
