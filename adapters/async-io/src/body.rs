use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use aws_smithy_runtime_api::box_error::BoxError;
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;

use crate::pool::Lease;
use crate::timeout::Timeout;

/// How long the end of a body may wait for the connection to become ready for its next request.
///
/// As a rule that is the time in which another thread finishes a poll. It takes longer where a server
/// answers before it has read the request; such a connection is closed.
const SETTLING: Duration = Duration::from_millis(100);

/// A response's body as it comes in, which holds the connection until its end.
///
/// Dropping it earlier closes the connection: what is left of the answer would be in the way of the next.
pub(crate) struct ResponseBody {
    incoming: Incoming,
    lease: Lease,
    phase: Phase,
}

enum Phase {
    Reading,
    /// All is read, and the connection not yet given back.
    Settling(Timeout),
    Done,
}

impl ResponseBody {
    pub(crate) fn new(incoming: Incoming, lease: Lease) -> Self {
        // A body known to be empty is polled by nobody.
        let phase = if incoming.is_end_stream() { Phase::settling() } else { Phase::Reading };
        Self { incoming, lease, phase }
    }

    pub(crate) fn poll_settled(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if let Phase::Settling(timeout) = &mut self.phase {
            if self.lease.poll_give_back(cx).is_pending() {
                if timeout.poll(cx).is_pending() {
                    return Poll::Pending;
                }
                self.lease.close();
            }
            self.phase = Phase::Done;
        }
        Poll::Ready(())
    }

    /// Whether nothing is left to wait for before the response can be handed out.
    pub(crate) fn is_settling(&self) -> bool {
        matches!(self.phase, Phase::Settling(_))
    }
}

impl Phase {
    fn settling() -> Self {
        Self::Settling(Timeout::after(Some(SETTLING)))
    }
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let this = &mut *self;
        if let Phase::Reading = this.phase
            && let Some(conn) = this.lease.conn()
        {
            let incoming = &mut this.incoming;
            match conn.poll_with(cx, |cx| Pin::new(&mut *incoming).poll_frame(cx)) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Some(Ok(frame))) => return Poll::Ready(Some(Ok(frame))),
                Poll::Ready(Some(Err(error))) => {
                    this.lease.close();
                    this.phase = Phase::Done;
                    return Poll::Ready(Some(Err(error.into())));
                }
                Poll::Ready(None) => this.phase = Phase::settling(),
            }
        }
        this.poll_settled(cx).map(|()| None)
    }

    fn is_end_stream(&self) -> bool {
        // Not at the last byte already: a caller who polls no further would not give the connection back.
        matches!(self.phase, Phase::Done)
    }

    fn size_hint(&self) -> SizeHint {
        self.incoming.size_hint()
    }
}

impl Drop for ResponseBody {
    fn drop(&mut self) {
        // A caller that counted the bytes has no reason to poll for the end.
        if matches!(self.phase, Phase::Settling(_)) || self.incoming.is_end_stream() {
            let mut cx = Context::from_waker(std::task::Waker::noop());
            let _ = self.lease.poll_give_back(&mut cx);
        }
    }
}
