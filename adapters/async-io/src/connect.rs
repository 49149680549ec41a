use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use async_io::Async;
use aws_smithy_runtime_api::client::connection::ConnectionEstablishmentMetadata;
use aws_smithy_runtime_api::client::dns::{ResolveDns, SharedDnsResolver};
use futures_rustls::TlsConnector;
use http::Uri;
use http::uri::Scheme;

use crate::error::{RequestError, RequestErrorKind};
use crate::io::{Socket, Stream, TcpIo};
use crate::proxy::ProxyVariables;
use crate::timeout::{deadline, until};
use crate::tls;

/// Where requests go: what a connection can be used again for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Origin {
    https: bool,
    /// Lower case, and an IPv6 address without its brackets.
    host: Box<str>,
    port: u16,
}

impl Origin {
    pub(crate) fn of(uri: &Uri) -> Result<Self, RequestError> {
        let refuse = |what: &str| RequestError::new(RequestErrorKind::Request, uri.to_string(), what);
        let https = match uri.scheme() {
            Some(scheme) if *scheme == Scheme::HTTPS => true,
            Some(scheme) if *scheme == Scheme::HTTP => false,
            Some(_) => return Err(refuse("only http and https are spoken here")),
            None => return Err(refuse("the URI names no scheme")),
        };
        let host =
            uri.host().filter(|host| !host.is_empty()).ok_or_else(|| refuse("the URI names no host"))?;
        let host = host.trim_start_matches('[').trim_end_matches(']').to_ascii_lowercase().into();
        let port = uri.port_u16().unwrap_or(if https { 443 } else { 80 });
        Ok(Self { https, host, port })
    }

    pub(crate) fn host(&self) -> &str {
        &self.host
    }

    pub(crate) fn has_default_port(&self) -> bool {
        self.port == if self.https { 443 } else { 80 }
    }

    /// `host:port`, as errors name it.
    pub(crate) fn server(&self) -> String {
        if self.host.contains(':') {
            format!("[{}]:{}", self.host, self.port)
        } else {
            format!("{}:{}", self.host, self.port)
        }
    }
}

/// How to reach servers.
pub(crate) struct Dialer {
    pub(crate) resolver: SharedDnsResolver,
    pub(crate) proxies: ProxyVariables,
    pub(crate) tls: Option<TlsConnector>,
}

/// A connection that HTTP can be spoken on.
pub(crate) struct Dialed {
    pub(crate) stream: Stream,
    pub(crate) socket: Socket,
    pub(crate) remote: SocketAddr,
    pub(crate) took: ConnectionEstablishmentMetadata,
}

/// What a connect timeout came in the middle of.
enum Stage {
    Resolving,
    Connecting(SocketAddr),
    Handshake(SocketAddr),
}

impl Dialer {
    /// Refuses what a proxy should have carried, and what no request can be made of.
    pub(crate) fn permits(&self, origin: &Origin) -> Result<(), RequestError> {
        if let Some(variable) = self.proxies.asked_for(origin.https, &origin.host) {
            let what = format!(
                "{variable} asks for a proxy, which this client cannot speak to: unset it, name {} in NO_PROXY, or \
                 build the client with ignore_proxy_variables",
                origin.host
            );
            return Err(RequestError::new(RequestErrorKind::Proxy, origin.server(), what));
        }
        if origin.https && self.tls.is_none() {
            let what = "this client trusts no root certificate, so https is out of its reach";
            return Err(RequestError::new(RequestErrorKind::Tls, origin.server(), what));
        }
        Ok(())
    }

    /// Resolves, connects and agrees on TLS, all of it within `timeout` counted from `start`.
    pub(crate) async fn dial(
        &self,
        origin: &Origin,
        start: Instant,
        timeout: Option<Duration>,
    ) -> Result<Dialed, RequestError> {
        let stage = Mutex::new(Stage::Resolving);
        let end = deadline(start, timeout);
        if let Some(dialed) = until(end, self.dial_in_stages(origin, end, &stage)).await {
            return dialed;
        }
        let during = match *stage.lock().unwrap_or_else(PoisonError::into_inner) {
            Stage::Resolving => "the name is still being resolved".to_owned(),
            Stage::Connecting(address) => format!("no answer from {address}"),
            Stage::Handshake(address) => format!("{address} has not finished the TLS handshake"),
        };
        let what = format!("no connection after {:?}: {during}", timeout.unwrap_or_default());
        Err(RequestError::new(RequestErrorKind::ConnectTimeout, origin.server(), what))
    }

    async fn dial_in_stages(
        &self,
        origin: &Origin,
        end: Option<Instant>,
        stage: &Mutex<Stage>,
    ) -> Result<Dialed, RequestError> {
        let enter = |next| *stage.lock().unwrap_or_else(PoisonError::into_inner) = next;
        let start = Instant::now();
        let addresses = self.resolve(origin).await?;
        let resolved = Instant::now();
        let (socket, remote) =
            connect_in_turn(origin, &addresses, end, |address| enter(Stage::Connecting(address))).await?;
        let connected = Instant::now();
        let tcp = TcpIo::new(Arc::clone(&socket));
        let mut took = ConnectionEstablishmentMetadata::builder()
            .dns_duration(resolved - start)
            .socket_connect_duration(connected - resolved);
        let stream = match &self.tls {
            Some(connector) if origin.https => {
                enter(Stage::Handshake(remote));
                let stream = tls::handshake(connector, origin, tcp).await?;
                took = took.tls_duration(connected.elapsed());
                stream
            }
            _ => Stream::Plain(tcp),
        };
        let all = start.elapsed();
        let took = took.transport_duration(all).total_duration(all).build();
        Ok(Dialed { stream, socket, remote, took })
    }

    async fn resolve(&self, origin: &Origin) -> Result<Vec<SocketAddr>, RequestError> {
        if let Ok(address) = origin.host.parse::<IpAddr>() {
            return Ok(vec![SocketAddr::new(address, origin.port)]);
        }
        let refuse =
            |what: &str| RequestError::new(RequestErrorKind::Resolve, origin.server(), what.to_owned());
        let found = self
            .resolver
            .resolve_dns(&origin.host)
            .await
            .map_err(|error| refuse("the name cannot be resolved").because(error))?;
        if found.is_empty() {
            return Err(refuse("the name has no address"));
        }
        Ok(found.into_iter().map(|address| SocketAddr::new(address, origin.port)).collect())
    }
}

/// Tries each address once, in order. What time is left is shared out evenly among those still to come,
/// so that one that swallows packets does not cost the others their turn.
async fn connect_in_turn(
    origin: &Origin,
    addresses: &[SocketAddr],
    end: Option<Instant>,
    entering: impl Fn(SocketAddr),
) -> Result<(Socket, SocketAddr), RequestError> {
    let mut failures = Vec::new();
    let mut last = None;
    for (tried, &address) in addresses.iter().enumerate() {
        entering(address);
        let now = Instant::now();
        let left = u32::try_from(addresses.len() - tried).unwrap_or(u32::MAX);
        let turn = end.map(|end| now + end.saturating_duration_since(now) / left);
        // The last turn ends with the whole, and is told so by whoever watches that.
        let turn = turn.filter(|_| left > 1);
        match until(turn, Async::<TcpStream>::connect(address)).await {
            Some(Ok(socket)) => {
                // Requests are written whole, so waiting to fill packets only delays them. A socket
                // that cannot take the option works all the same.
                let _ = socket.get_ref().set_nodelay(true);
                return Ok((Arc::new(socket), address));
            }
            Some(Err(error)) => {
                failures.push(format!("{address}: {error}"));
                last = Some(error);
            }
            None => failures.push(format!("{address}: no answer within its share of {:?}", now.elapsed())),
        }
    }
    let what = format!("cannot connect: {}", failures.join("; "));
    let last = last.unwrap_or_else(|| io::ErrorKind::TimedOut.into());
    Err(RequestError::new(RequestErrorKind::Connect, origin.server(), what).because(last))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_is_scheme_host_and_port() {
        let origin = |uri: &'static str| Origin::of(&Uri::from_static(uri)).expect("an origin");
        assert_eq!(origin("https://SQS.amazonaws.com/q"), origin("https://sqs.amazonaws.com:443/other?x"));
        assert_ne!(origin("https://sqs.amazonaws.com"), origin("http://sqs.amazonaws.com:443"));
        assert_eq!(origin("http://[::1]:8080/").server(), "[::1]:8080");
        assert_eq!(origin("http://[::1]:8080/").host(), "::1");
        assert_eq!(origin("http://user@localhost/").server(), "localhost:80");
        assert!(origin("http://localhost/").has_default_port());
        assert!(!origin("https://localhost:80/").has_default_port());
    }

    #[test]
    fn a_uri_without_a_server_is_refused() {
        for uri in ["/path", "ftp://host/", "localhost:80"] {
            let refused = Origin::of(&Uri::from_static(uri)).expect_err(uri);
            assert_eq!(refused.kind(), RequestErrorKind::Request);
            assert!(refused.server().contains(uri), "{refused}");
        }
    }
}
