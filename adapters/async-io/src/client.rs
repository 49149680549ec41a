use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use aws_smithy_runtime_api::client::connector_metadata::ConnectorMetadata;
use aws_smithy_runtime_api::client::dns::{ResolveDns, SharedDnsResolver};
use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;

use crate::connect::Dialer;
use crate::dns::SystemDns;
use crate::error::BuildError;
use crate::exchange::{Exchange, Timeouts};
use crate::pool::{Limits, Pool};
use crate::proxy::ProxyVariables;
use crate::spawn::Spawn;
use crate::tls::{Given, Roots};

/// An HTTP client for AWS SDKs that needs async-io and nothing else.
///
/// Hand it to a service's or to `aws_config`'s builder, together with [`AsyncIoSleep`](crate::AsyncIoSleep). Clones share one
/// pool of connections, and so do all the SDK clients that one client is given to.
///
/// The connect timeout of the SDK covers everything up to a usable connection: waiting for a free one, the name's
/// resolution, each address and TLS. Its read timeout begins when a request is handed to a connection and ends
/// with the head of the response; the body after it is watched by the SDK's stalled-stream protection.
///
/// ```no_run
/// use aws_async_io::Client;
///
/// let client = Client::builder().spawn(|task| smol::spawn(task).detach()).build()?;
/// # Ok::<(), aws_async_io::BuildError>(())
/// ```
#[derive(Clone)]
pub struct Client {
    exchange: Arc<Exchange>,
}

impl Client {
    /// Begins with the defaults: system roots, connections driven by their requests, 90 s of idling,
    /// 128 idle connections per server, as many connections as there are requests.
    pub fn builder() -> ClientBuilder {
        ClientBuilder::default()
    }
}

impl HttpClient for Client {
    fn http_connector(&self, settings: &HttpConnectorSettings, _: &RuntimeComponents) -> SharedHttpConnector {
        // Made anew for each request, as it costs less than looking one up: what is worth keeping is the pool.
        SharedHttpConnector::new(Connector {
            exchange: Arc::clone(&self.exchange),
            timeouts: Timeouts::of(settings),
        })
    }

    fn connector_metadata(&self) -> Option<ConnectorMetadata> {
        let version = Cow::Borrowed(env!("CARGO_PKG_VERSION"));
        Some(ConnectorMetadata::new(env!("CARGO_PKG_NAME"), Some(version)))
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("limits", &self.exchange.pool.limits()).finish_non_exhaustive()
    }
}

struct Connector {
    exchange: Arc<Exchange>,
    timeouts: Timeouts,
}

impl HttpConnector for Connector {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let (exchange, timeouts) = (Arc::clone(&self.exchange), self.timeouts);
        HttpConnectorFuture::new(async move { exchange.call(request, timeouts).await })
    }
}

impl fmt::Debug for Connector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connector").field("timeouts", &self.timeouts).finish_non_exhaustive()
    }
}

/// The settings of a [`Client`].
///
/// ```
/// use std::time::Duration;
/// use aws_async_io::Client;
///
/// let client = Client::builder()
///     .without_system_roots() // plain HTTP only, as a local stand-in for AWS speaks it
///     .max_connections(64)
///     .idle_time(Duration::from_secs(20))
///     .build()?;
/// # Ok::<(), aws_async_io::BuildError>(())
/// ```
#[must_use = "settings do nothing until a client is built of them"]
pub struct ClientBuilder {
    limits: Limits,
    roots: Roots,
    resolver: SharedDnsResolver,
    heed_proxies: bool,
    spawn: Option<Arc<dyn Spawn>>,
}

impl ClientBuilder {
    /// Drives each connection by a task of its own on an executor: recommended wherever there is one.
    ///
    /// Such a connection notices at once when the server closes it, is closed itself when its idle time is over,
    /// and costs the least at many requests at a time. Without this setting a request polls the connection it
    /// uses, which takes no executor at all; then idle connections are looked at only when the client is used.
    pub fn spawn(mut self, spawn: impl Spawn) -> Self {
        self.spawn = Some(Arc::new(spawn));
        self
    }

    /// How long a connection may lie idle before it is closed. The default is 90 seconds; zero
    /// uses each connection once.
    pub fn idle_time(mut self, idle_time: Duration) -> Self {
        self.limits.idle_time = idle_time;
        self
    }

    /// How many connections to one server may lie idle at a time. The default is 128; zero uses each
    /// connection once.
    ///
    /// Fewer than there are requests at a time means connecting anew for the rest of them again and again.
    pub fn max_idle_per_server(mut self, connections: usize) -> Self {
        self.limits.idle_per_server = connections;
        self
    }

    /// How many connections there may be in all, to whatever server, idle or in use. There is no
    /// limit by default.
    ///
    /// A request beyond it waits, for at most the SDK's connect timeout. A response holds its connection until its
    /// body has been read or dropped, so a program that keeps more bodies than this open waits for itself.
    pub fn max_connections(mut self, connections: usize) -> Self {
        self.limits.connections = Some(connections);
        self
    }

    /// Trusts the certificates in this PEM text too. [`build`](Self::build) refuses text without any.
    pub fn trust_pem(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.roots.own.push(Given::Pem(pem.into()));
        self
    }

    /// Trusts this certificate too, in DER. [`build`](Self::build) refuses bytes that are none.
    pub fn trust_der(mut self, der: impl Into<Vec<u8>>) -> Self {
        self.roots.own.push(Given::Der(der.into()));
        self
    }

    /// Trusts none of the operating system's root certificates: only what `trust_pem` and `trust_der` bring.
    ///
    /// With neither, a request over https is refused.
    pub fn without_system_roots(mut self) -> Self {
        self.roots.system = false;
        self
    }

    /// Resolves names by `resolver` instead of [`SystemDns`]. The addresses are tried in the order given.
    pub fn resolver(mut self, resolver: impl ResolveDns + 'static) -> Self {
        self.resolver = SharedDnsResolver::new(resolver);
        self
    }

    /// Connects directly even where `HTTPS_PROXY`, `HTTP_PROXY` or `ALL_PROXY` is set.
    ///
    /// Otherwise a request that one of them applies to, in capitals or not, is refused, unless `NO_PROXY` exempts its
    /// host. `NO_PROXY` is a list of names (each with all names below it), addresses, networks such as `10.0.0.0/8`, or `*`.
    pub fn ignore_proxy_variables(mut self) -> Self {
        self.heed_proxies = false;
        self
    }

    /// Builds the client. This reads the system's root certificates from disk, some milliseconds' work, and the
    /// proxy variables: do it once.
    ///
    /// # Errors
    ///
    /// [`BuildError`] when there are no system roots, when a certificate given is none, or when no
    /// connection is allowed.
    pub fn build(self) -> Result<Client, BuildError> {
        if self.limits.connections == Some(0) {
            return Err(BuildError::NoConnections);
        }
        let proxies = if self.heed_proxies { ProxyVariables::from_env() } else { ProxyVariables::default() };
        let dialer = Dialer { resolver: self.resolver, proxies, tls: self.roots.connector()? };
        let pool = Pool::new(self.limits, self.spawn);
        Ok(Client { exchange: Arc::new(Exchange { dialer, pool, next_id: AtomicU64::new(0) }) })
    }
}

impl Default for ClientBuilder {
    fn default() -> Self {
        Self {
            limits: Limits { idle_time: Duration::from_secs(90), idle_per_server: 128, connections: None },
            roots: Roots { system: true, own: Vec::new() },
            resolver: SharedDnsResolver::new(SystemDns::new()),
            heed_proxies: true,
            spawn: None,
        }
    }
}

impl fmt::Debug for ClientBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientBuilder")
            .field("limits", &self.limits)
            .field("system_roots", &self.roots.system)
            .field("own_roots", &self.roots.own.len())
            .field("resolver", &self.resolver)
            .field("heed_proxies", &self.heed_proxies)
            .field("spawns", &self.spawn.is_some())
            .finish()
    }
}
