use std::io::{self, IoSlice};
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

use async_io::Timer;
use futures_lite::{AsyncRead, AsyncWrite, Future};

/// A stream whose writes fail when the other side takes nothing for too long.
///
/// Without it a client that asks for ten messages of a megabyte and never reads holds them, and its connection, for good.
pub(crate) struct Patient<S> {
    stream: S,
    patience: Duration,
    /// Runs while a write waits.
    until: Option<Timer>,
}

impl<S> Patient<S> {
    pub(crate) fn new(stream: S, patience: Duration) -> Self {
        Self { stream, patience, until: None }
    }

    fn wait<T>(&mut self, cx: &mut Context<'_>, step: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if step.is_ready() {
            self.until = None;
            return step;
        }
        let patience = self.patience;
        let until = self.until.get_or_insert_with(|| Timer::after(patience));
        match pin!(until).poll(cx) {
            Poll::Ready(_) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Patient<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut [u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Patient<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let step = Pin::new(&mut self.stream).poll_write(cx, buf);
        self.wait(cx, step)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let step = Pin::new(&mut self.stream).poll_write_vectored(cx, bufs);
        self.wait(cx, step)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let step = Pin::new(&mut self.stream).poll_flush(cx);
        self.wait(cx, step)
    }

    fn poll_close(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let step = Pin::new(&mut self.stream).poll_close(cx);
        self.wait(cx, step)
    }
}
