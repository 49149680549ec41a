use std::future::Future;
use std::io;
use std::net::{Shutdown, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker};

use aws_smithy_runtime_api::client::connection::{
    ConnectionEstablishmentMetadata, ConnectionId, ConnectionMetadata,
};
use aws_smithy_types::body::SdkBody;
use http::{Request, Response};
use hyper::body::Incoming;
use hyper::client::conn::TrySendError;
use hyper::client::conn::http1::{Builder, Connection, SendRequest};

use crate::connect::Dialed;
use crate::io::{HyperIo, Socket};
use crate::spawn::{Spawn, Task};

/// One connection to a server, as its one request at a time holds it.
///
/// Dropping it closes it.
pub(crate) struct Conn {
    requests: SendRequest<SdkBody>,
    driver: Driver,
    socket: Socket,
    facts: Arc<Facts>,
}

/// Who polls the connection itself.
enum Driver {
    /// A task on the user's executor.
    Spawned,
    /// Whoever holds the connection, beside waiting for what comes of it.
    Holder(Box<Connection<HyperIo, SdkBody>>),
    /// It has ended.
    Ended,
}

/// What outlives the connection in the SDK's hands.
#[derive(Debug)]
pub(crate) struct Facts {
    id: ConnectionId,
    remote: SocketAddr,
    local: Option<SocketAddr>,
    took: ConnectionEstablishmentMetadata,
    poisoned: AtomicBool,
}

impl Conn {
    pub(crate) async fn open(dialed: Dialed, id: u64, spawn: Option<&dyn Spawn>) -> hyper::Result<Self> {
        let Dialed { stream, socket, remote, took } = dialed;
        let (requests, connection) = Builder::new().handshake(HyperIo::new(stream)).await?;
        let driver = match spawn {
            Some(spawn) => {
                // How a connection ends is told to its request; here it is nobody's news.
                spawn.spawn(Task::new(async move { drop(connection.await) }));
                Driver::Spawned
            }
            None => Driver::Holder(Box::new(connection)),
        };
        let facts = Facts {
            id: ConnectionId::new(id),
            remote,
            local: socket.get_ref().local_addr().ok(),
            took,
            poisoned: AtomicBool::new(false),
        };
        Ok(Self { requests, driver, socket, facts: Arc::new(facts) })
    }

    pub(crate) fn facts(&self) -> &Arc<Facts> {
        &self.facts
    }

    /// Hands a request over. The future resolves only while the connection is driven.
    pub(crate) fn send(
        &mut self,
        request: Request<SdkBody>,
    ) -> impl Future<Output = Result<Response<Incoming>, TrySendError<Request<SdkBody>>>> + use<> {
        self.requests.try_send_request(request)
    }

    /// Polls `outcome`, which only the connection's own progress can complete, and the connection with it
    /// where nobody else does.
    ///
    /// In that case `outcome` is polled with no waker: this function has just let the connection do all it
    /// can, and what lets it do more wakes `cx` itself.
    pub(crate) fn poll_with<T>(
        &mut self,
        cx: &mut Context<'_>,
        mut outcome: impl FnMut(&mut Context<'_>) -> Poll<T>,
    ) -> Poll<T> {
        if let Driver::Spawned = self.driver {
            return outcome(cx);
        }
        let mut nobody = Context::from_waker(Waker::noop());
        // Before the connection: a body has to be asked for before it is read.
        if let Poll::Ready(ready) = outcome(&mut nobody) {
            return Poll::Ready(ready);
        }
        self.poll_driver(cx);
        outcome(&mut nobody)
    }

    fn poll_driver(&mut self, cx: &mut Context<'_>) {
        if let Driver::Holder(connection) = &mut self.driver
            && Pin::new(&mut **connection).poll(cx).is_ready()
        {
            self.driver = Driver::Ended;
        }
    }

    /// Whether the connection is ready for a next request; an error where it never will be.
    pub(crate) fn poll_reusable(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Unusable>> {
        self.poll_driver(cx);
        if self.facts.poisoned.load(Ordering::Acquire) || matches!(self.driver, Driver::Ended) {
            return Poll::Ready(Err(Unusable));
        }
        if self.requests.is_closed() {
            return Poll::Ready(Err(Unusable));
        }
        if self.requests.is_ready() {
            return Poll::Ready(Ok(()));
        }
        self.requests.poll_ready(cx).map_err(|_| Unusable)
    }

    /// Whether the server has said nothing since its last answer, not even goodbye.
    ///
    /// The kernel knows it before the reactor does. A request on a connection that the server has just closed
    /// would be written, lost, and not to be repeated; one system call is cheap beside that.
    pub(crate) fn is_quiet(&self) -> bool {
        let peeked = self.socket.get_ref().peek(&mut [0]);
        peeked.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
    }
}

/// The connection is closed, or poisoned.
#[derive(Debug)]
pub(crate) struct Unusable;

impl Drop for Conn {
    fn drop(&mut self) {
        // A spawned connection lives until its task is polled next, and the executor may be busy. The
        // server should not wait for that to learn that nobody is interested any more.
        if let Driver::Spawned = self.driver {
            // An error says that the connection is closed already.
            let _ = self.socket.get_ref().shutdown(Shutdown::Both);
        }
    }
}

impl Facts {
    pub(crate) fn metadata(self: &Arc<Self>) -> ConnectionMetadata {
        let facts = Arc::clone(self);
        let mut metadata = ConnectionMetadata::builder()
            .proxied(false)
            .remote_addr(self.remote)
            .connection_id(self.id)
            .establishment(self.took.clone())
            .poison_fn(move || facts.poisoned.store(true, Ordering::Release));
        metadata.set_local_addr(self.local);
        metadata.build()
    }
}
