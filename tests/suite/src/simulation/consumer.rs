use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sqs_lease_driver::{
    ChangeVisibility, Delivery, Failure, Keeper, OnDrop, Policy, Queue, Receipt, ReceiptHandle, Refusal,
    Reply, Scope, Settings, SettleError, Visibility,
};
use sqs_lease_sim::{Change, Entry, Error, Fate, MessageId, Model, Moment, Network, Outcomes, Receive, Trip};

use super::client::Client;
use super::scenario::{Dice, Feature, Scenario, small};
use super::wire::Wire;
use crate::virtual_time::Spawner;

pub(crate) const QUEUE: &str = "jobs";

/// What a run notes beside the model's own record.
#[derive(Default)]
pub(crate) struct Notes {
    /// Each entry of each call, in the order of sending.
    pub(crate) calls: Vec<Call>,
    /// By receipt handle: what became of the delivery.
    pub(crate) ends: BTreeMap<String, End>,
    /// Who has held which delivery: the message and its receive count, the consumer and the handle.
    pub(crate) holders: BTreeMap<(MessageId, u32), (u32, String)>,
    pub(crate) change_calls: u64,
}

pub(crate) struct Call {
    pub(crate) at: Moment,
    pub(crate) handle: String,
    pub(crate) is_delete: bool,
}

/// How the handler of a delivery learned that it is over.
pub(crate) struct End {
    /// By SQS's clock.
    pub(crate) at: Moment,
    /// By the loss of the lease, not by a settle of its own or SQS's word.
    pub(crate) by_clock: bool,
    /// From here on no change may be sent, and so many deletes.
    pub(crate) deletes_after: usize,
    /// A release outlives its handle.
    pub(crate) is_released: bool,
}

/// A queue behind a network; every call is noted.
pub(crate) struct FarQueue {
    pub(crate) client: Client,
    pub(crate) wire: Wire,
    pub(crate) network: Mutex<Network>,
    pub(crate) notes: Arc<Mutex<Notes>>,
    pub(crate) name: Arc<str>,
}

impl FarQueue {
    fn begin(&self, handles: impl Iterator<Item = String>, is_delete: bool) -> Trip {
        let at = self.client.truth();
        let mut notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        notes.change_calls += u64::from(!is_delete);
        notes.calls.extend(handles.map(|handle| Call { at, handle, is_delete }));
        self.network.lock().unwrap_or_else(PoisonError::into_inner).trip(at)
    }

    async fn call<T: Clone + Send + 'static>(
        &self,
        trip: Trip,
        entries: Vec<Entry<T>>,
        carry_out: impl FnOnce(&mut Model, &str, &[Entry<T>], Moment) -> Result<Outcomes<()>, Error>
        + Send
        + 'static,
    ) -> Reply {
        let broken = || Reply::Failed(Refusal::new(Failure::Transient, "connection broken"));
        match &trip.fate {
            Fate::RequestLost => return std::future::pending().await,
            Fate::BrokenBefore => {
                self.client.comes_in(trip.there).await;
                return broken();
            }
            Fate::Refused(error) => {
                self.client.comes_in(trip.there + trip.back).await;
                return failed(error);
            }
            _ => {}
        }
        let at = self.client.truth() + trip.there;
        let (name, refused) = (Arc::clone(&self.name), trip.refused_entries);
        let result = self.wire.send(at, move |model, now| {
            let is_refused = |i: &usize| refused >> *i & 1 == 1;
            let kept: Vec<_> = entries
                .iter()
                .enumerate()
                .filter(|(i, _)| !is_refused(i))
                .map(|(_, it)| it.clone())
                .collect();
            if kept.is_empty() {
                return Ok(vec![None; entries.len()]);
            }
            let mut outcomes =
                carry_out(model, &name, &kept, now)?.into_iter().map(|(_, outcome)| Some(outcome));
            Ok((0..entries.len())
                .map(|i| if is_refused(&i) { None } else { outcomes.next().flatten() })
                .collect())
        });
        let result: Result<Vec<Option<Result<(), Error>>>, Error> = result.await;
        match trip.fate {
            Fate::AnswerLost => return std::future::pending().await,
            Fate::BrokenAfter => {
                self.client.comes_in(trip.back).await;
                return broken();
            }
            _ => self.client.comes_in(trip.back).await,
        }
        match result {
            Err(error) => failed(&error),
            Ok(outcomes) => {
                Reply::Entries(outcomes.iter().map(|outcome| Some(read(outcome.as_ref()))).collect())
            }
        }
    }
}

fn failed(error: &Error) -> Reply {
    let failure = Failure::read(Scope::Batch, Some(error.status()), Some(error.code()), &error.text());
    Reply::Failed(Refusal::new(failure, error.code().to_owned()))
}

/// None is an entry that the network's faults refused.
fn read(outcome: Option<&Result<(), Error>>) -> Result<(), Refusal> {
    match outcome {
        None => Err(Refusal::new(Failure::Transient, "InternalFailure")),
        Some(Ok(())) => Ok(()),
        Some(Err(error)) => {
            let (code, text) = (error.entry_code(), error.entry_text());
            Err(Refusal::new(Failure::read(Scope::Entry, Some(400), Some(code), &text), code.to_owned()))
        }
    }
}

impl Queue for FarQueue {
    async fn change_visibility(&self, entries: Vec<ChangeVisibility>) -> Reply {
        let trip = self.begin(entries.iter().map(|it| it.receipt_handle.expose().to_owned()), false);
        let entries: Vec<_> = (0..)
            .zip(entries)
            .map(|(id, entry): (u32, _)| {
                let secs = i32::try_from(entry.timeout.secs()).unwrap_or(i32::MAX);
                Entry::new(id.to_string(), Change::new(entry.receipt_handle.expose(), secs))
            })
            .collect();
        self.call(trip, entries, Model::change_visibility_batch).await
    }

    async fn delete(&self, entries: Vec<ReceiptHandle>) -> Reply {
        let trip = self.begin(entries.iter().map(|it| it.expose().to_owned()), true);
        let entries: Vec<_> = (0..)
            .zip(entries)
            .map(|(id, handle): (u32, _)| Entry::new(id.to_string(), handle.expose().to_owned()))
            .collect();
        self.call(trip, entries, Model::delete_batch).await
    }

    fn is_fifo(&self) -> bool {
        self.name.ends_with(".fifo")
    }
}

/// One consumer: receives, and has a handler for each message.
#[derive(Clone)]
pub(crate) struct Consumer {
    pub(crate) number: u32,
    pub(crate) scenario: Rc<Scenario>,
    pub(crate) client: Client,
    pub(crate) wire: Wire,
    pub(crate) keeper: Keeper,
    pub(crate) notes: Arc<Mutex<Notes>>,
    pub(crate) name: Arc<str>,
    pub(crate) spawner: Spawner,
}

impl Consumer {
    pub(crate) fn settings(scenario: &Scenario, number: u32) -> Settings {
        let mut policy = Policy::new();
        if let Some(secs) = scenario.extension() {
            policy = policy.extension(visibility(secs)).expect("at least a second");
        }
        let releases = scenario.dice(400 + u64::from(number)).below(2) == 0;
        let on_drop = if releases { OnDrop::Release(Visibility::ZERO) } else { OnDrop::Leave };
        Settings::new().policy(policy).on_drop(on_drop)
    }

    /// Receives until the last message is taken.
    pub(crate) async fn consume(self) {
        let mut dice = self.scenario.dice(500 + u64::from(self.number));
        let mut network = Network::new(self.scenario.receive_weather(self.number), dice.next());
        let busy = Rc::new(());
        let most = 1 + usize::try_from(dice.below(20)).unwrap_or(0);
        while self.client.truth() < self.scenario.stop_at() {
            let room = (most + 1).saturating_sub(Rc::strong_count(&busy));
            if room > 0 {
                for handler in
                    self.receive(&mut network, small(room.min(10).try_into().unwrap_or(1)), &mut dice).await
                {
                    let (consumer, busy) = (self.clone(), Rc::clone(&busy));
                    self.spawner.spawn(async move {
                        let crash = consumer.scenario.crash(consumer.number);
                        let handle = handler.handle.clone();
                        if crash::unless(&consumer.client, crash, consumer.clone().handle(handler))
                            .await
                            .is_none()
                        {
                            consumer
                                .wire
                                .model(|model, now| model.crash(&consumer.name, &handle, now))
                                .expect("its own");
                        }
                        drop(busy);
                    });
                }
            }
            self.client.sleep(dice.up_to(self.scenario.span() / 4) + Duration::from_millis(1)).await;
        }
    }

    async fn receive(&self, network: &mut Network, max: u32, dice: &mut Dice) -> Vec<Handler> {
        let (client, timeout) = (&self.client, self.scenario.timeout());
        let trip = network.trip(client.truth());
        let lost = match trip.fate {
            Fate::Arrives => false,
            Fate::AnswerLost | Fate::BrokenAfter => true,
            _ => {
                client.comes_in(trip.there).await;
                return Vec::new();
            }
        };
        let ask = Receive::new()
            .max(i32::try_from(max).unwrap_or(1))
            .visibility(i32::try_from(timeout).unwrap_or(0));
        let name = Arc::clone(&self.name);
        let (back, death, clients) = (trip.back, self.scenario.crash(self.number), client.clone());
        let answer = self.wire.send(client.truth() + trip.there, move |model, now| {
            let messages = model.receive(&name, &ask, now).unwrap_or_default();
            // An answer that is lost, or that comes to the dead, reaches no handler.
            let is_late = death.is_some_and(|death| death <= clients.awake_after(now + back));
            for message in messages.iter().filter(|_| lost || is_late) {
                model.let_go(&name, &message.receipt_handle, now).expect("it was just given out");
            }
            messages
        });
        let call = async {
            let messages = answer.await;
            client.comes_in(trip.back).await;
            messages
        };
        let (messages, received) = self.keeper.receiving(visibility(timeout), call).await;
        if lost {
            return Vec::new();
        }
        let mut notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        for message in &messages {
            let who = (self.number, message.receipt_handle.clone());
            notes.holders.insert((message.message_id, message.receive_count), who);
        }
        drop(notes);
        let hold = |message: sqs_lease_sim::Delivery| {
            let receipt = Receipt::new(message.receipt_handle.as_str(), received)
                .message_id(message.message_id.to_string())
                .receive_count(message.receive_count);
            let work = match dice.below(10) {
                0 => self.scenario.span() * 25,
                1..=3 => self.scenario.span() * 8,
                _ => self.scenario.span() * 2,
            };
            let (work, then) = (dice.up_to(work), dice.below(12));
            Handler { handle: message.receipt_handle, delivery: self.keeper.hold(receipt, ()), work, then }
        };
        messages.into_iter().map(hold).collect()
    }

    async fn handle(self, handler: Handler) {
        let Handler { handle, delivery, work, then } = handler;
        let kept = if self.scenario.has(Feature::Deaf) {
            self.client.sleep(work).await;
            Ok(())
        } else {
            delivery.keep(self.client.sleep(work)).await
        };
        let at = self.client.truth();
        let end = |by_clock, deletes_after| End { at, by_clock, deletes_after, is_released: false };
        if kept.is_err() || !delivery.is_held() {
            // Told of the loss, by the lease or, first thing after a stop, by the clock.
            let by_clock =
                delivery.ended().is_none_or(|it| it.reason != sqs_lease_driver::StopReason::Refused);
            self.let_go(&handle);
            self.end(&handle, end(by_clock, 1));
            if then < 6 {
                // The work is done, or nearly: a late delete. What it says proves nothing.
                let _ = delivery.delete().await;
            }
            return;
        }
        match then {
            0..8 => {
                // Until SQS confirms, or the delivery is lost, it is this handler's.
                let deleted = delivery.delete().await;
                self.let_go(&handle);
                let at = self.client.truth();
                let by_clock = matches!(deleted, Err(SettleError::NotConfirmed { reason }) if reason != sqs_lease_driver::StopReason::Refused);
                self.end(&handle, End { at, by_clock, deletes_after: 0, is_released: false });
            }
            8 | 9 => {
                self.let_go(&handle);
                let _ = delivery.release(visibility(small(then) - 8)).await;
                let at = self.client.truth();
                self.end(&handle, End { at, by_clock: false, deletes_after: 0, is_released: false });
            }
            10 => {
                self.let_go(&handle);
                self.end(&handle, end(false, 0));
                // A client that stopped until now may have lost it meanwhile.
                let _ = delivery.leave();
            }
            _ => {
                self.let_go(&handle);
                self.end(&handle, End { is_released: true, ..end(false, 0) });
                drop(delivery);
            }
        }
    }

    fn let_go(&self, handle: &str) {
        self.wire.model(|model, now| model.let_go(&self.name, handle, now)).expect("a handle of this queue");
    }

    fn end(&self, handle: &str, end: End) {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner).ends.insert(handle.to_owned(), end);
    }
}

pub(crate) struct Handler {
    handle: String,
    delivery: Delivery<()>,
    work: Duration,
    then: u64,
}

fn visibility(secs: u32) -> Visibility {
    Visibility::new(secs).expect("at most 12 hours")
}

/// Death: whatever a consumer does ends at that moment.
pub(crate) mod crash {
    use std::future::Future;
    use std::pin::pin;

    use futures_util::future::{Either, select};
    use sqs_lease_sim::Moment;

    use crate::simulation::client::Client;

    /// None if death came first.
    pub(crate) async fn unless<F: Future>(client: &Client, at: Option<Moment>, task: F) -> Option<F::Output> {
        let Some(at) = at else { return Some(task.await) };
        // By SQS's clock; and looked at first, so that nothing happens at the very moment.
        let death = pin!(client.until_truth(at));
        match select(death, pin!(task)).await {
            Either::Left(_) => None,
            Either::Right((output, _)) => Some(output),
        }
    }
}
