//! A loop of its own: epoll by mio, non-blocking sockets, and one thread that owns the leases.

use std::collections::HashMap;
use std::error::Error;
use std::io::ErrorKind::{Interrupted, NotConnected, WouldBlock};
use std::io::{self, Read as _, Write as _};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token, Waker};
use sqs_lease_core::{
    Call, Event, LeaseKey, LeaseSet, Moment, Policy, Received, SetPolicy, SettleError, StopReason, Visibility,
};
use sqs_lease_embedding::{Keep, Reply, Sqs, scenes};

/// What is kept with each lease; the core never looks at it.
type Kept = (String, Sender<StopReason>);
type News = Box<dyn FnOnce(&mut LeaseSet<Kept>, Moment) + Send>;

const NEWS: Token = Token(0);

/// A call under way.
struct Exchange {
    call: Call,
    stream: TcpStream,
    unsent: Vec<u8>,
    response: Vec<u8>,
}

impl Exchange {
    /// Writes and reads until the socket would block. Whether the response is complete: the server closes then.
    fn go_on(&mut self) -> io::Result<bool> {
        loop {
            let mut part = [0; 4096];
            let moved = if self.unsent.is_empty() {
                match self.stream.read(&mut part) {
                    Ok(0) => return Ok(true),
                    read => read.map(|n| self.response.extend_from_slice(&part[..n])),
                }
            } else {
                self.stream.write(&self.unsent).map(|n| drop(self.unsent.drain(..n)))
            };
            match moved {
                Err(error) if matches!(error.kind(), WouldBlock | NotConnected) => return Ok(false),
                Err(error) if error.kind() != Interrupted => return Err(error),
                _ => {}
            }
        }
    }
}

/// The loop.
fn run(mut poll: Poll, sqs: &Sqs, news: &Receiver<News>) -> io::Result<()> {
    let mut leases: LeaseSet<Kept> = LeaseSet::new(SetPolicy::new());
    let mut exchanges: HashMap<Token, Exchange> = HashMap::new();
    let (mut ready, mut last) = (Events::with_capacity(64), NEWS.0);
    loop {
        // Take out: events and calls, until there are none.
        loop {
            let now = sqs.now();
            while let Some(event) = leases.poll_event(now) {
                println!("{now}  {event:?}");
                if let Event::Stopped { key, ended } = event
                    && let Some((_, told)) = leases.remove(key)
                {
                    // A handler that has gone needs no telling.
                    let _ = told.send(ended.reason);
                }
            }
            let Some(call) = leases.poll_call(now) else { break };
            let entries: Vec<_> = call
                .entries
                .iter()
                .map(|entry| (&*leases.get(entry.key).expect("it is in the set").0, entry.visibility()))
                .collect();
            let (mut stream, unsent) = (TcpStream::connect(sqs.address())?, sqs.request(call.kind, &entries));
            last += 1;
            poll.registry().register(&mut stream, Token(last), Interest::READABLE | Interest::WRITABLE)?;
            exchanges.insert(Token(last), Exchange { call, stream, unsent, response: Vec::new() });
        }
        // End calls whose answer is wanted no more: dropping one closes its socket.
        exchanges.retain(|_, exchange| leases.awaits(exchange.call.id));
        // Sleep: until something is due, an answer, or news.
        let wait = leases.poll_timeout().map(|at| sqs.sleep_until(at, &leases));
        match poll.poll(&mut ready, wait) {
            Err(error) if error.kind() != Interrupted => return Err(error),
            _ => {}
        }
        // Put in: answers, and what handlers want.
        for token in ready.iter().map(mio::event::Event::token) {
            let Some(exchange) = exchanges.get_mut(&token) else { continue };
            let reply = match exchange.go_on() {
                Ok(false) => continue,
                Ok(true) => Reply::read(&exchange.response, exchange.call.entries.len()),
                Err(_) => Reply::NONE,
            };
            leases.handle_answer(exchange.call.id, reply.answer(), sqs.now());
            exchanges.remove(&token);
        }
        for news in news.try_iter() {
            news(&mut leases, sqs.now());
        }
    }
}

/// What handlers on other threads have of the loop.
struct Keeper(Sender<News>, Waker);

impl Keeper {
    /// Has something done in the loop's thread, and waits for the outcome.
    fn ask<R: Send + 'static>(
        &self,
        ask: impl FnOnce(&mut LeaseSet<Kept>, Moment) -> R + Send + 'static,
    ) -> R {
        let (done, outcome) = channel();
        self.0.send(Box::new(move |leases, now| drop(done.send(ask(leases, now))))).expect("the loop runs");
        self.1.wake().expect("the loop's descriptor is open");
        outcome.recv().expect("the loop runs")
    }
}

impl Keep for Keeper {
    fn hold(&self, receipt_handle: String, received: Received, told: Sender<StopReason>) -> LeaseKey {
        self.ask(move |leases, now| leases.insert(&Policy::new(), received, (receipt_handle, told), now))
    }

    fn delete(&self, key: LeaseKey) -> Result<(), SettleError> {
        self.ask(move |leases, now| leases.delete(key, now))
    }

    fn release(&self, key: LeaseKey, after: Visibility) -> Result<(), SettleError> {
        self.ask(move |leases, now| leases.release(key, after, now))
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let (sqs, poll, (sender, news)) = (Arc::new(Sqs::start()?), Poll::new()?, channel());
    let keeper = Keeper(sender, Waker::new(poll.registry(), NEWS)?);
    let its_sqs = Arc::clone(&sqs);
    thread::spawn(move || run(poll, &its_sqs, &news));
    scenes(&sqs, &keeper)
}
