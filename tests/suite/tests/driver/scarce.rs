//! Many deliveries at a queue that takes fewer calls than they need, or none for a while.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use sqs_lease_driver::{
    ChangeVisibility, Delivery, Failure, Keeper, Moment, Queue, Receipt, ReceiptHandle, Received, Refusal,
    Reply, Runtime, Settings, Visibility,
};
use sqs_lease_suite::virtual_time::{Spawner, VirtualTime, World};

const T: Duration = Duration::from_secs(30);
const LATENCY: Duration = Duration::from_millis(20);
/// A FIFO queue takes so many batches a second.
const CALLS: u32 = 30;

/// What the queue does with a call.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Takes {
    All,
    /// So many a second, of which it saves up one second's; the others are throttled.
    Calls,
    /// None: nobody answers.
    Nothing,
}

/// The queue, and until when it hides each message.
#[derive(Clone)]
struct Scarce(Arc<Mutex<Inner>>, VirtualTime);

struct Inner {
    takes: Takes,
    /// What it would take, in calls, and when that was.
    tokens: (f64, Moment),
    hidden_until: HashMap<String, Moment>,
    in_flight: usize,
    most_in_flight: usize,
}

/// Counts a call that is under way, also where it is dropped.
struct UnderWay(Scarce);

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.0.lock().unwrap().in_flight -= 1;
    }
}

impl Scarce {
    fn new(time: VirtualTime) -> Self {
        let tokens = (f64::from(CALLS), time.now());
        let inner = Inner {
            takes: Takes::All,
            tokens,
            hidden_until: HashMap::new(),
            in_flight: 0,
            most_in_flight: 0,
        };
        Self(Arc::new(Mutex::new(inner)), time)
    }

    fn takes(&self, takes: Takes) {
        self.0.lock().unwrap().takes = takes;
    }

    fn hidden_until(&self, number: u32) -> Moment {
        self.0.lock().unwrap().hidden_until[&name(number)]
    }

    fn most_in_flight(&self) -> usize {
        self.0.lock().unwrap().most_in_flight
    }

    /// What it does with a call that arrives now; `None`: it never answers.
    fn arrives(&self, entries: &[ChangeVisibility]) -> Option<Reply> {
        let now = self.1.now();
        let mut inner = self.0.lock().unwrap();
        let more = (now - inner.tokens.1).as_secs_f64() * f64::from(CALLS);
        inner.tokens = ((inner.tokens.0 + more).min(f64::from(CALLS)), now);
        match inner.takes {
            Takes::Nothing => return None,
            Takes::Calls if inner.tokens.0 < 1.0 => {
                return Some(Reply::Failed(Refusal::new(Failure::Throttled, "RequestThrottled")));
            }
            _ => inner.tokens.0 = (inner.tokens.0 - 1.0).max(0.0),
        }
        for it in entries {
            let until = now + Duration::from_secs(it.timeout.secs().into());
            let handle = it.receipt_handle.expose().to_owned();
            let hidden = inner.hidden_until.insert(handle, until).expect("received");
            assert!(hidden > now, "extended after somebody else may have it");
        }
        Some(Reply::Done)
    }
}

impl Queue for Scarce {
    async fn change_visibility(&self, entries: Vec<ChangeVisibility>) -> Reply {
        let under_way = UnderWay(self.clone());
        {
            let mut inner = self.0.lock().unwrap();
            inner.in_flight += 1;
            inner.most_in_flight = inner.most_in_flight.max(inner.in_flight);
        }
        self.1.sleep(LATENCY / 2).await;
        let Some(reply) = self.arrives(&entries) else { return std::future::pending().await };
        self.1.sleep(LATENCY / 2).await;
        drop(under_way);
        reply
    }

    async fn delete(&self, _: Vec<ReceiptHandle>) -> Reply {
        Reply::Done
    }
}

fn name(number: u32) -> String {
    format!("receipt handle {number}")
}

/// When each handler that was told of its loss was told, by number.
type Told = Rc<RefCell<HashMap<u32, Moment>>>;

/// Receives in tens over half of the timeout; of each a handler waits for its loss.
async fn receive(
    leases: u32,
    queue: &Scarce,
    keeper: &Keeper,
    spawner: &Spawner,
    told: &Told,
) -> Vec<Rc<Delivery<u32>>> {
    let timeout = Visibility::from_duration(T).unwrap();
    let mut held = Vec::new();
    for number in 0..leases {
        if number % 10 == 0 {
            queue.1.sleep(T / 2 * 10 / leases).await;
        }
        queue.0.lock().unwrap().hidden_until.insert(name(number), queue.1.now() + T);
        let receipt = Receipt::new(name(number), Received::new(queue.1.now(), timeout));
        let delivery = Rc::new(keeper.hold(receipt, number));
        let (handler, told, time) = (Rc::clone(&delivery), Rc::clone(told), queue.1.clone());
        spawner.spawn(async move {
            handler.lost().await;
            told.borrow_mut().insert(number, time.now());
        });
        held.push(delivery);
    }
    held
}

fn scene() -> (World, Scarce, Keeper, Told) {
    let world = World::new();
    let queue = Scarce::new(world.time());
    let keeper = Keeper::new(queue.clone(), world.time(), Settings::new());
    world.spawner().spawn(keeper.run());
    (world, queue, keeper, Told::default())
}

#[test]
fn a_third_of_the_timeout_without_an_answer_loses_none() {
    let (mut world, queue, keeper, told) = scene();
    let spawner = world.spawner();
    world.run(async move {
        let held = receive(6_000, &queue, &keeper, &spawner, &told).await;
        queue.1.sleep(T).await;
        queue.takes(Takes::Nothing);
        queue.1.sleep(T / 3).await;
        queue.takes(Takes::All);
        queue.1.sleep(2 * T).await;
        assert_eq!(keeper.stats().lost(), 0);
        assert!(told.borrow().is_empty());
        assert!(queue.most_in_flight() <= 128, "{}", queue.most_in_flight());
        // Caught up: none has less left than from its middle on.
        let least = held.iter().map(|it| it.remaining()).min().unwrap();
        assert!(least >= Duration::from_millis(13_800), "{least:?}");
        assert!(held.iter().all(|it| it.deadline() <= queue.hidden_until(*it.message())));
    });
}

/// 30 % of the calls that would keep all in the middle of their timeouts.
#[test]
fn throttled_it_keeps_what_the_calls_allow_and_tells_each_loss_in_time() {
    let (mut world, queue, keeper, told) = scene();
    let spawner = world.spawner();
    queue.takes(Takes::Calls);
    world.run(async move {
        let leases = CALLS * 10 * 15 * 10 / 3;
        let held = receive(leases, &queue, &keeper, &spawner, &told).await;
        queue.1.sleep(15 * T).await;
        let (kept, lost): (Vec<_>, Vec<_>) = held.iter().partition(|it| it.is_held());
        let possible = usize::try_from(CALLS * 10 * 29).unwrap();
        assert!(kept.len() * 100 >= possible * 97, "{} of {possible}", kept.len());
        // Each handler was told, and while the message was still hidden by the queue's own count.
        let told = told.borrow();
        assert_eq!(told.len(), lost.len());
        for it in &lost {
            let at = told[it.message()];
            assert!(at <= queue.hidden_until(*it.message()), "{} was told too late", it.message());
            assert!(it.loss().is_some());
        }
        let stats = keeper.stats();
        assert_eq!((stats.leases_held, stats.lost()), (kept.len(), lost.len() as u64));
        assert_eq!(stats.lost_waiting.expired, stats.lost());
    });
}

/// Virtual time whose timers say that they are late.
struct Late(VirtualTime);

impl Runtime for Late {
    fn now(&self) -> Moment {
        self.0.now()
    }

    fn sleep_until(&self, at: Moment) -> impl Future<Output = ()> + Send + use<> {
        self.0.sleep_until(at)
    }

    fn timer_step(&self) -> Duration {
        Duration::from_millis(2)
    }
}

#[test]
fn where_timers_are_late_the_driver_wakes_so_much_before_the_middle() {
    let mut world = World::new();
    let queue = Scarce::new(world.time());
    let keeper = Keeper::new(queue.clone(), Late(world.time()), Settings::new());
    world.spawner().spawn(keeper.run());
    let spawner = world.spawner();
    world.run(async move {
        let start = queue.1.now();
        let _held = receive(10, &queue, &keeper, &spawner, &Told::default()).await;
        queue.1.sleep(T / 2 + LATENCY).await;
        // Received after half of the timeout, sent two milliseconds before the middle.
        let sent = start + T - Duration::from_millis(2);
        assert_eq!(queue.hidden_until(0), sent + LATENCY / 2 + T);
    });
}
