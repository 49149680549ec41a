use std::io::{self, IoSlice, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use async_io::Async;
use futures_io::{AsyncRead, AsyncWrite};
use futures_rustls::client::TlsStream;
use hyper::rt::ReadBufCursor;

/// A connected socket, shared with whoever may have to close it before its task comes to it.
pub(crate) type Socket = Arc<Async<TcpStream>>;

/// What hyper reads and writes: a stream and the buffer that bytes pass on their way in.
///
/// hyper's own buffer may be uninitialized, and writing a socket's bytes straight into it takes `unsafe`.
/// One copy of at most a buffer is what not using it costs.
pub(crate) struct HyperIo {
    stream: Stream,
    passage: Box<[u8]>,
}

/// As much as one TLS record holds.
const PASSAGE: usize = 16 * 1024;

impl HyperIo {
    pub(crate) fn new(stream: Stream) -> Self {
        Self { stream, passage: vec![0; PASSAGE].into_boxed_slice() }
    }
}

impl hyper::rt::Read for HyperIo {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        mut buf: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let Self { stream, passage } = self.get_mut();
        let room = passage.len().min(buf.remaining());
        let read = ready!(Pin::new(stream).poll_read(cx, &mut passage[..room]))?;
        buf.put_slice(&passage[..read]);
        Poll::Ready(Ok(()))
    }
}

impl hyper::rt::Write for HyperIo {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_close(cx)
    }
}

/// A connection to a server, with TLS or without.
pub(crate) enum Stream {
    Plain(TcpIo),
    Tls(Box<TlsStream<TcpIo>>),
}

impl AsyncRead for Stream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut [u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(io) => Pin::new(io).poll_read(cx, buf),
            Self::Tls(io) => Pin::new(io).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(io) => Pin::new(io).poll_write(cx, buf),
            Self::Tls(io) => Pin::new(io).poll_write(cx, buf),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(io) => Pin::new(io).poll_write_vectored(cx, bufs),
            Self::Tls(io) => Pin::new(io).poll_write_vectored(cx, bufs),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(io) => Pin::new(io).poll_flush(cx),
            Self::Tls(io) => Pin::new(io).poll_flush(cx),
        }
    }

    fn poll_close(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(io) => Pin::new(io).poll_close(cx),
            Self::Tls(io) => Pin::new(io).poll_close(cx),
        }
    }
}

/// A socket that asks the kernel for bytes only where some may be there.
///
/// `Async`'s own `poll_read` tries the system call at every poll. hyper polls a connection several times per
/// answer, so most of those calls return nothing.
pub(crate) struct TcpIo {
    socket: Socket,
    /// The last read took all there was. The reactor watches levels, not edges, so waiting for it loses
    /// nothing that arrives in between.
    drained: bool,
}

impl TcpIo {
    /// A socket that has just been connected: the server does not speak first.
    pub(crate) fn new(socket: Socket) -> Self {
        Self { socket, drained: true }
    }

    fn poll_write_with<T>(
        &self,
        cx: &mut Context<'_>,
        mut write: impl FnMut(&mut &TcpStream) -> io::Result<T>,
    ) -> Poll<io::Result<T>> {
        loop {
            match write(&mut self.socket.get_ref()) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                result => return Poll::Ready(result),
            }
            ready!(self.socket.poll_writable(cx))?;
        }
    }
}

impl AsyncRead for TcpIo {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut [u8]) -> Poll<io::Result<usize>> {
        loop {
            if self.drained {
                ready!(self.socket.poll_readable(cx))?;
                self.drained = false;
            }
            match self.socket.get_ref().read(buf) {
                Ok(read) => {
                    self.drained = read < buf.len();
                    return Poll::Ready(Ok(read));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.drained = true,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }
}

impl AsyncWrite for TcpIo {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_write_with(cx, |socket| socket.write(buf))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_with(cx, |socket| socket.write_vectored(bufs))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.socket.get_ref().shutdown(Shutdown::Write) {
            // The peer has hung up already.
            Err(error) if error.kind() == io::ErrorKind::NotConnected => Poll::Ready(Ok(())),
            result => Poll::Ready(result),
        }
    }
}
