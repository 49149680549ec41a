//! An HTTP client and a sleep for the AWS SDK for Rust on [async-io]: for smol, for async-std, and for
//! programs with no runtime at all.
//!
//! The SDK itself runs anywhere. What it comes with does not: its own HTTP client and timers end in "there is no reactor
//! running" unless a Tokio runtime is there. This crate has the two things that are then missing, for
//! **any AWS service**: [`Client`], which connects, speaks TLS and keeps connections, and
//! [`AsyncIoSleep`], which retries and timeouts wait with.
//!
//! # Use
//!
//! Depend on the service with `default-features = false`, which leaves out the SDK's own client, and set both:
//!
//! ```no_run
//! use aws_async_io::{AsyncIoSleep, Client};
//! use aws_sdk_sqs::config::{BehaviorVersion, Credentials, Region};
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let http = Client::builder().spawn(|task| smol::spawn(task).detach()).build()?;
//!     let config = aws_sdk_sqs::Config::builder()
//!         .behavior_version(BehaviorVersion::v2026_01_12())
//!         .region(Region::new("eu-west-1"))
//!         .credentials_provider(Credentials::new("id", "secret", None, None, "static"))
//!         .http_client(http)
//!         .sleep_impl(AsyncIoSleep::new())
//!         .build();
//!     let sqs = aws_sdk_sqs::Client::from_conf(config);
//!     let queues = smol::block_on(sqs.list_queues().send())?;
//!     println!("{:?}", queues.queue_urls());
//!     Ok(())
//! }
//! ```
//!
//! With `aws-config`, also with `default-features = false`, credentials and region come from where they always do.
//! Hand both to its loader, or it panics while loading:
//!
//! ```ignore
//! let config = aws_config::defaults(BehaviorVersion::v2026_01_12())
//!     .http_client(http)
//!     .sleep_impl(AsyncIoSleep::new())
//!     .load()
//!     .await;
//! let sqs = aws_sdk_sqs::Client::new(&config);
//! ```
//!
//! On async-std it is `.spawn(|task| { async_std::task::spawn(task); })`; do not enable async-std's `tokio1`
//! feature, which starts a hidden Tokio runtime. With no executor, leave `spawn` out: each request then drives its own connection.
//! [`ClientBuilder::spawn`] says what differs.
//!
//! Set both even where another crate of the build enables the SDK's Tokio features. Cargo unifies features, so the
//! defaults are then Tokio's, and panic at the first request.
//!
//! # What it does
//!
//! - Keeps connections for the next request, per server, within [limits](ClientBuilder::max_connections) of number and time.
//! - Notices when a server has closed an idle connection, and sends the request over a new one, once, if none of it was
//!   written. Everything else is left to the SDK's retries, which are told what may go better next time and what
//!   may not: a certificate that is refused is not tried again.
//! - Closes the socket of a dropped request at once, so that timeouts, `select` and cancelled tasks leave nothing behind. What
//!   the server makes of a request that it had received already is not known.
//! - Streams bodies both ways, so that the SDK's stalled-stream protection works.
//! - Honours the SDK's connect and read timeouts, and its verdict that a connection is not to be used again.
//! - Says why not: every failure is a [`RequestError`] that names the server, the values and the cause.
//!
//! # What it does not
//!
//! - **HTTP/1.1 only.** As many requests at a time, as many connections.
//! - **No proxies.** A request that `HTTPS_PROXY` or its like applies to is
//!   [refused](ClientBuilder::ignore_proxy_variables), not sent past the proxy.
//! - **No happy eyeballs.** The addresses of a name are tried one after the other, in the resolver's order, each for
//!   its share of the connect timeout. Names are resolved by the operating system, on threads of [`blocking`]'s pool.
//! - **No client certificates**, no revocation lists, and no choice of TLS provider: rustls with *ring*, named explicitly, so
//!   that no process-wide provider has to be installed and another one does not matter.
//! - `credential_process` profiles need Tokio's processes whatever the HTTP client. Container credentials at a host
//!   name need a resolver: give them [`SystemDns`].
//!
//! It contains no `unsafe` code. The connections wake by async-io's, hyper's and async-lock's means alone; the one timer that all
//! sleeps share is checked by loom.
//!
//! [async-io]: https://docs.rs/async-io
#![forbid(unsafe_code)]

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
mod timers;
mod tls;

/// The locks of `timers`.
mod sync {
    pub(crate) use std::sync::{Mutex, MutexGuard, PoisonError};
}

pub use client::{Client, ClientBuilder};
pub use dns::SystemDns;
pub use error::{BuildError, RequestError, RequestErrorKind};
pub use sleep::AsyncIoSleep;
pub use spawn::{Spawn, Task};
