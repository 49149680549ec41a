//! HTTP client and sleep.
mod body;
mod client;
mod conn;
mod connect;
mod dns;
mod error;
mod exchange;
mod io;
mod pool;
mod proxy;
mod sleep;
mod spawn;
mod timeout;
mod tls;

pub use client::{Client, ClientBuilder};
pub use dns::SystemDns;
pub use error::{BuildError, RequestError, RequestErrorKind};
pub use sleep::AsyncIoSleep;
pub use spawn::{Spawn, Task};
