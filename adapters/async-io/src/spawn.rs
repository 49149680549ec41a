use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Where a [`Client`](crate::Client) puts the tasks that drive its connections: your executor.
///
/// Every closure that takes a [`Task`] is one:
///
/// ```no_run
/// let client = aws_async_io::Client::builder().spawn(|task| smol::spawn(task).detach()).build()?;
/// # Ok::<(), aws_async_io::BuildError>(())
/// ```
///
/// With async-std it is `.spawn(|task| { async_std::task::spawn(task); })`. The executor must go on running for
/// as long as the client is in use: a connection whose task nobody polls answers nothing, and only a read
/// timeout ends its requests. A task that is dropped ends its connection, and the requests on it with an error.
pub trait Spawn: Send + Sync + 'static {
    /// Runs `task` to its end, detached.
    ///
    /// It is called while a request is being polled, once per connection and now and then for the
    /// connections that lie idle. A panic here is a panic of that request.
    fn spawn(&self, task: Task);
}

impl<F> Spawn for F
where
    F: Fn(Task) + Send + Sync + 'static,
{
    fn spawn(&self, task: Task) {
        self(task);
    }
}

/// What a [`Client`](crate::Client) asks its [`Spawn`] to run: one connection, or the watch over idle ones.
///
/// It ends by itself when its connection closes or its client is gone.
///
/// ```no_run
/// use aws_async_io::{Client, Task};
///
/// fn on_smol(connection: Task) {
///     smol::spawn(connection).detach();
/// }
///
/// let client = Client::builder().spawn(on_smol).build()?;
/// # Ok::<(), aws_async_io::BuildError>(())
/// ```
#[must_use = "a task that nobody polls drives no connection"]
pub struct Task(Pin<Box<dyn Future<Output = ()> + Send>>);

impl Task {
    pub(crate) fn new(future: impl Future<Output = ()> + Send + 'static) -> Self {
        Self(Box::pin(future))
    }
}

impl Future for Task {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.0.as_mut().poll(cx)
    }
}

impl fmt::Debug for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Task")
    }
}
