//! A loop of its own: futures on one thread, with an executor that has neither timers nor sockets.
//!
//! The timer is a thread of futures-timer's, the calls are blocking ones on threads of blocking's. The leases and the
//! handlers never leave the one thread, so there is no lock.

use std::cell::RefCell;
use std::error::Error;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use async_channel::{Receiver, Sender, bounded};
use event_listener::Event as News;
use futures_executor::{LocalPool, LocalSpawner};
use futures_timer::Delay;
use futures_util::future::select;
use futures_util::task::LocalSpawnExt as _;
use sqs_lease_core::{Call, Event, LeaseKey, LeaseSet, Policy, SetPolicy, StopReason, Visibility};
use sqs_lease_embedding::{Message, Reply, Sqs, post};

const HOUR: Duration = Duration::from_hours(1);

/// What is kept with each lease; the core never looks at it.
type Kept = (String, Sender<StopReason>);

struct Keeper {
    leases: RefCell<LeaseSet<Kept>>,
    news: News,
    sqs: Arc<Sqs>,
    spawner: LocalSpawner,
}

impl Keeper {
    /// The loop.
    async fn run(self: Rc<Self>) {
        loop {
            // What happens from here on wakes the loop, also before it sleeps.
            let news = self.news.listen();
            // Take out: events and calls, until there are none.
            loop {
                let (now, mut leases) = (self.sqs.now(), self.leases.borrow_mut());
                while let Some(event) = leases.poll_event(now) {
                    println!("{now}  {event:?}");
                    if let Event::Stopped { key, ended } = event
                        && let Some((_, told)) = leases.remove(key)
                    {
                        // A handler that has gone needs no telling.
                        let _ = told.try_send(ended.reason);
                    }
                }
                let Some(call) = leases.poll_call(now) else { break };
                self.send(call, &leases);
            }
            // Sleep: until something is due, or news come. Waking for nothing is harmless, so an hour will do for ever.
            let sleep = {
                let leases = self.leases.borrow();
                let time = leases.poll_timeout().map_or(HOUR, |at| self.sqs.sleep_until(at, &leases));
                Delay::new(time)
            };
            select(sleep, news).await;
        }
    }

    /// Sends a call in a task of its own, and puts its answer in.
    fn send(self: &Rc<Self>, call: Call, leases: &LeaseSet<Kept>) {
        let entries: Vec<_> = call
            .entries
            .iter()
            .map(|entry| (&*leases.get(entry.key).expect("it is in the set").0, entry.visibility()))
            .collect();
        let (keeper, request) = (Rc::clone(self), self.sqs.request(call.kind, &entries));
        let exchange = async move {
            let sqs = Arc::clone(&keeper.sqs);
            // Ends by itself when the answer is wanted no more.
            let within = call.answer_by.since(sqs.now());
            let reply = match blocking::unblock(move || post(sqs.address(), &request, within)).await {
                Ok(response) => Reply::read(&response, call.entries.len()),
                Err(_) => Reply::NONE,
            };
            keeper.change(|leases| leases.handle_answer(call.id, reply.answer(), keeper.sqs.now()));
        };
        self.spawner.spawn_local(exchange).expect("the pool is there");
    }

    /// Puts something in, and wakes the loop: what it sleeps for may have come nearer.
    fn change<R>(&self, change: impl FnOnce(&mut LeaseSet<Kept>) -> R) -> R {
        let result = change(&mut self.leases.borrow_mut());
        self.news.notify(usize::MAX);
        result
    }

    /// Receives a message and keeps it from there on.
    async fn receive(
        &self,
        timeout: u32,
    ) -> Result<(Message, LeaseKey, Receiver<StopReason>), Box<dyn Error>> {
        let (sqs, timeout) = (Arc::clone(&self.sqs), Visibility::new(timeout)?);
        let (message, received) = blocking::unblock(move || sqs.receive(timeout)).await?;
        let (told, end) = bounded(1);
        let kept = (message.receipt_handle.clone(), told);
        let key = self.change(|leases| leases.insert(&Policy::new(), received, kept, self.sqs.now()));
        Ok((message, key, end))
    }
}

async fn handlers(keeper: Rc<Keeper>) -> Result<(), Box<dyn Error>> {
    let sqs = &*keeper.sqs;
    println!("-- slow work, then a delete");
    sqs.send("slow work")?;
    let (_, key, end) = keeper.receive(3).await?;
    Delay::new(Duration::from_secs(7)).await;
    assert_eq!(sqs.rival(), None);
    keeper.change(|leases| leases.delete(key, sqs.now()))?;
    assert_eq!(end.recv().await?, StopReason::Deleted);
    println!("-- the way to SQS is cut");
    sqs.send("work that is lost")?;
    sqs.cut();
    let (message, _, end) = keeper.receive(3).await?;
    assert_eq!(end.recv().await?, StopReason::Expired);
    sqs.let_go(&message)?;
    assert_eq!(sqs.rival(), None);
    sqs.mend();
    println!("-- a release");
    let (message, key, end) = keeper.receive(3).await?;
    sqs.let_go(&message)?;
    keeper.change(|leases| leases.release(key, Visibility::ZERO, sqs.now()))?;
    assert_eq!(end.recv().await?, StopReason::Released);
    assert_eq!(sqs.rival(), Some(3));
    println!("-- twelve hours");
    sqs.hurry(true);
    let (message, _, end) = keeper.receive(600).await?;
    assert_eq!(end.recv().await?, StopReason::Limit);
    sqs.let_go(&message)?;
    assert_eq!(sqs.rival(), None);
    sqs.wait(Duration::from_secs(10));
    assert_eq!(sqs.rival(), Some(5));
    assert!(!sqs.was_shared());
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut pool = LocalPool::new();
    let (leases, news) = (RefCell::new(LeaseSet::new(SetPolicy::new())), News::new());
    let keeper = Rc::new(Keeper { leases, news, sqs: Arc::new(Sqs::start()?), spawner: pool.spawner() });
    pool.spawner().spawn_local(Rc::clone(&keeper).run())?;
    pool.run_until(handlers(keeper))
}
