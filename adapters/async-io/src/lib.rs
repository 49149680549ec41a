//! An HTTP client and a sleep for the [AWS SDK for Rust](https://docs.rs/aws-config) on
//! [async-io](https://docs.rs/async-io): for smol, for async-std, and for programs with no runtime at all.
//!
//! The SDK itself runs anywhere. What it comes with does not: its own HTTP client and timers end in "there is no
//! reactor running" unless a Tokio runtime is there. This crate has the two things that are then missing, for **any AWS
//! service**: [`Client`], which connects, speaks TLS and keeps connections, and [`AsyncIoSleep`], which retries and
//! timeouts wait with.
//!
//! # Do you want this crate?
//!
//! | you have | take |
//! | --- | --- |
//! | a program on smol or async-std, or with no runtime, that calls any AWS service | this crate |
//! | the same, and SQS deliveries to keep | `sqs-lease-smol`, `sqs-lease-async-std`, which set this up |
//! | a Tokio program, a proxy, client certificates, or a need for HTTP/2 | the SDK's own client |
//!
//! # Ten lines
//!
//! Depend on services with `default-features = false`, which leaves out the SDK's own client, and set both:
//!
//! ```toml
//! [dependencies]
//! aws-async-io = "0.1"
//! aws-config = { version = "1", default-features = false }
//! aws-sdk-sqs = { version = "1", default-features = false }
//! smol = "2"
//! ```
//!
//! ```no_run
//! use aws_async_io::{AsyncIoSleep, Client};
//! use aws_config::BehaviorVersion;
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let http = Client::builder().spawn(|task| smol::spawn(task).detach()).build()?;
//!     smol::block_on(async {
//!         // Both before `load`, or it panics.
//!         let config = aws_config::defaults(BehaviorVersion::v2026_01_12())
//!             .http_client(http)
//!             .sleep_impl(AsyncIoSleep::new())
//!             .load()
//!             .await;
//!         let queues = aws_sdk_sqs::Client::new(&config).list_queues().send().await?;
//!         println!("{:?}", queues.queue_urls());
//!         Ok(())
//!     })
//! }
//! ```
//!
//! Without `aws-config`, a service's own `Config::builder()` takes both in the same way. On async-std it is
//! `.spawn(|task| { async_std::task::spawn(task); })`; do not enable async-std's feature `tokio1`, which starts a
//! hidden Tokio runtime. With no executor, leave `spawn` out: each request then drives its own connection.
//! [`ClientBuilder::spawn`] says what differs.
//!
//! # The contract
//!
//! * **Set both**, even where another crate of the build enables the SDK's Tokio features. Cargo unifies features, so
//!   the defaults are then Tokio's, and panic at the first request.
//! * **Connections are kept** for the next request, per server, within [limits](ClientBuilder::max_connections) of
//!   number and time.
//! * **A connection that the server has closed** is noticed, and its request sent over a new one, once, if none of it
//!   was written. Everything else is left to the SDK's retries, which are told what may go better next time and what
//!   may not: a certificate that is refused is not tried again.
//! * **A dropped request closes its socket at once**, so that timeouts, `select` and cancelled tasks leave nothing
//!   behind. What the server makes of a request that it had received already is not known.
//! * **Bodies stream** both ways, so that the SDK's stalled-stream protection works.
//! * **Every failure is a [`RequestError`]** that names the server, the values and the cause.
//!
//! # Time
//!
//! The SDK's connect timeout covers everything up to a usable connection, its read timeout the wait for the head of a
//! response; see [`Client`]. All sleeps share one timer of async-io's; none is exact to less than a millisecond.
//!
//! # Limits
//!
//! * **HTTP/1.1 only.** As many requests at a time, as many connections.
//! * **No proxies.** A request that `HTTPS_PROXY` or its like applies to is
//!   [refused](ClientBuilder::ignore_proxy_variables), not sent past the proxy.
//! * **No happy eyeballs.** The addresses of a name are tried one after the other, in the resolver's order, each for
//!   its share of the connect timeout. Names are resolved by the operating system, on threads of [`blocking`]'s pool.
//! * **No client certificates**, no revocation lists, and no choice of TLS provider: rustls with *ring*, named
//!   explicitly, so that no process-wide provider has to be installed and another one does not matter. Roots are the
//!   operating system's, or [your own](ClientBuilder::trust_pem).
//!
//! # What it does not do
//!
//! * It knows nothing of leases, queues or any one service.
//! * It finds no credentials. Of the SDK's sources, `credential_process` profiles need Tokio's processes whatever the
//!   HTTP client; container credentials at a host name need a resolver: give them [`SystemDns`].
//! * Of Tokio only the channels and locks that the SDK and hyper use are compiled: no runtime, no reactor, no timer.
//!
//! No `unsafe`; the one timer that all sleeps share is checked by loom. The minimum Rust version is the SDK's, rounded
//! up: 1.95. MIT OR Apache-2.0.
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
