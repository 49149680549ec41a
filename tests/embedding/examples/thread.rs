//! A loop of its own: one thread, a condition variable, and blocking calls, each on a thread that ends with it.

use std::error::Error;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

use sqs_lease_core::{
    Call, Event, LeaseKey, LeaseSet, Policy, Received, SetPolicy, SettleError, StopReason, Visibility,
};
use sqs_lease_embedding::{Keep, Reply, Sqs, post, scenes};

struct Keeper {
    leases: Mutex<LeaseSet<Kept>>,
    changed: Condvar,
    sqs: Sqs,
}

/// What is kept with each lease; the core never looks at it.
struct Kept {
    receipt_handle: String,
    told: Sender<StopReason>,
}

impl Keeper {
    /// The loop.
    fn run(self: &Arc<Self>) {
        let mut leases = self.leases.lock().unwrap();
        loop {
            let now = self.sqs.now();
            // Take out: events and calls, until there are none.
            while let Some(event) = leases.poll_event(now) {
                println!("{now}  {event:?}");
                if let Event::Stopped { key, ended } = event
                    && let Some(kept) = leases.remove(key)
                {
                    // A handler that has gone needs no telling.
                    let _ = kept.told.send(ended.reason);
                }
            }
            if let Some(call) = leases.poll_call(now) {
                self.send(call, &leases);
                continue;
            }
            // Sleep: until something is due, or news come. The lock is open meanwhile.
            leases = match leases.poll_timeout().map(|at| self.sqs.sleep_until(at, &leases)) {
                Some(time) => self.changed.wait_timeout(leases, time).unwrap().0,
                None => self.changed.wait(leases).unwrap(),
            };
        }
    }

    /// Sends a call and puts its answer in. `SetPolicy` bounds how many are under way, and so the threads.
    fn send(self: &Arc<Self>, call: Call, leases: &LeaseSet<Kept>) {
        let entries: Vec<_> = call
            .entries
            .iter()
            .map(|entry| (leases.get(entry.key).expect("it is in the set"), entry.visibility()))
            .map(|(kept, visibility)| (&*kept.receipt_handle, visibility))
            .collect();
        let request = self.sqs.request(call.kind, &entries);
        let keeper = Arc::clone(self);
        thread::spawn(move || {
            // Ends by itself when the answer is wanted no more.
            let within = call.answer_by.since(keeper.sqs.now());
            let reply = match post(keeper.sqs.address(), &request, within) {
                Ok(response) => Reply::read(&response, call.entries.len()),
                Err(_) => Reply::NONE,
            };
            keeper.change(|leases| leases.handle_answer(call.id, reply.answer(), keeper.sqs.now()));
        });
    }

    /// Puts something in, and wakes the loop: what it sleeps for may have come nearer.
    fn change<R>(&self, change: impl FnOnce(&mut LeaseSet<Kept>) -> R) -> R {
        let result = change(&mut self.leases.lock().unwrap());
        self.changed.notify_all();
        result
    }
}

impl Keep for Keeper {
    fn hold(&self, receipt_handle: String, received: Received, told: Sender<StopReason>) -> LeaseKey {
        let kept = Kept { receipt_handle, told };
        self.change(|leases| leases.insert(&Policy::new(), received, kept, self.sqs.now()))
    }

    fn delete(&self, key: LeaseKey) -> Result<(), SettleError> {
        self.change(|leases| leases.delete(key, self.sqs.now()))
    }

    fn release(&self, key: LeaseKey, after: Visibility) -> Result<(), SettleError> {
        self.change(|leases| leases.release(key, after, self.sqs.now()))
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let bounds = SetPolicy::new().changes_in_flight(4)?.deletes_in_flight(4)?;
    let leases = Mutex::new(LeaseSet::new(bounds));
    let keeper = Arc::new(Keeper { leases, changed: Condvar::new(), sqs: Sqs::start()? });
    let running = Arc::clone(&keeper);
    thread::spawn(move || running.run());
    scenes(&keeper.sqs, &*keeper)
}
