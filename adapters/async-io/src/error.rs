use std::error::Error;
use std::fmt;

use aws_smithy_runtime_api::box_error::BoxError;
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_types::retry::ErrorKind as Retry;

/// Why [`ClientBuilder::build`](crate::ClientBuilder::build) refused its settings.
///
/// ```
/// use aws_async_io::{BuildError, Client};
///
/// let error = Client::builder().without_system_roots().trust_pem("no certificate").build().unwrap_err();
/// assert!(matches!(error, BuildError::Certificate { .. }));
/// println!("{error}");
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum BuildError {
    /// The operating system offers no root certificate to trust.
    ///
    /// Install them (Debian's package is `ca-certificates`), point `SSL_CERT_FILE` to some, or bring your own with
    /// [`trust_pem`](crate::ClientBuilder::trust_pem) and
    /// [`without_system_roots`](crate::ClientBuilder::without_system_roots).
    NoSystemRoots {
        /// What went wrong while looking for them; empty where there was simply nothing.
        problems: Vec<String>,
    },
    /// Bytes given to `trust_pem` or `trust_der` hold no usable certificate.
    Certificate {
        /// What is wrong with them.
        reason: String,
    },
    /// A limit of no connection at all: such a client could do nothing.
    NoConnections,
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSystemRoots { problems } if problems.is_empty() => {
                f.write_str("the operating system offers no root certificates to trust")
            }
            Self::NoSystemRoots { problems } => {
                write!(
                    f,
                    "no root certificate of the operating system's could be loaded: {}",
                    problems.join("; ")
                )
            }
            Self::Certificate { reason } => write!(f, "a certificate to trust cannot be used: {reason}"),
            Self::NoConnections => f.write_str("max_connections is 0: the client could not connect at all"),
        }
    }
}

impl Error for BuildError {}

/// Why a request got no response: the source of the SDK's [`ConnectorError`].
///
/// The SDK hands it on as a `DispatchFailure`, whose own text says next to nothing. Print the whole chain
/// with `aws_smithy_types::error::display::DisplayErrorContext`, or go down
/// [`source`](std::error::Error::source) and `downcast_ref::<RequestError>()`.
///
/// The display names the server, the values and the cause, such as
///
/// ```text
/// sqs.eu-west-1.amazonaws.com:443: no connection after 3.1s: no answer from 10.0.0.7:443
/// ```
///
/// ```
/// use aws_async_io::{RequestError, RequestErrorKind};
///
/// /// What of this crate's is in an error of the SDK's.
/// fn request_error<'a>(mut error: &'a (dyn std::error::Error + 'static)) -> Option<&'a RequestError> {
///     loop {
///         if let Some(found) = error.downcast_ref() {
///             return Some(found);
///         }
///         error = error.source()?;
///     }
/// }
///
/// # use aws_async_io::{AsyncIoSleep, Client};
/// # use aws_sdk_sqs::config::{BehaviorVersion, Credentials, Region, retry::RetryConfig};
/// # let config = aws_sdk_sqs::Config::builder()
/// #     .http_client(Client::builder().without_system_roots().ignore_proxy_variables().build()?)
/// #     .sleep_impl(AsyncIoSleep::new())
/// #     .behavior_version(BehaviorVersion::v2026_01_12())
/// #     .region(Region::new("us-east-1"))
/// #     .credentials_provider(Credentials::new("id", "secret", None, None, "example"))
/// #     .retry_config(RetryConfig::disabled())
/// #     .endpoint_url("http://127.0.0.1:1");
/// # let sqs = aws_sdk_sqs::Client::from_conf(config.build());
/// // Nobody listens on port 1.
/// let error = smol::block_on(sqs.list_queues().send()).unwrap_err();
/// let error = request_error(&error).expect("it is the network's");
/// assert_eq!(error.kind(), RequestErrorKind::Connect);
/// assert_eq!(error.server(), "127.0.0.1:1");
/// # Ok::<(), aws_async_io::BuildError>(())
/// ```
#[derive(Debug)]
pub struct RequestError {
    kind: RequestErrorKind,
    /// `host:port`, or the URI where it has none.
    server: String,
    what: String,
    source: Option<BoxError>,
    /// A repetition may go better.
    transient: bool,
}

/// What kind of obstacle a [`RequestError`] met.
///
/// ```
/// use aws_async_io::RequestErrorKind;
///
/// /// Whether the server cannot have acted on the request: it was never written.
/// fn was_not_sent(kind: RequestErrorKind) -> bool {
///     !matches!(kind, RequestErrorKind::ReadTimeout | RequestErrorKind::Interrupted)
/// }
/// # assert!(was_not_sent(RequestErrorKind::Busy));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RequestErrorKind {
    /// The request cannot be sent by anyone: its URI has no host, or a scheme other than http and https.
    Request,
    /// A proxy is asked for by an environment variable, and this client speaks to none.
    Proxy,
    /// All of [`max_connections`](crate::ClientBuilder::max_connections) stayed in use for the connect timeout.
    Busy,
    /// The name could not be resolved.
    Resolve,
    /// No address of the server took the connection.
    Connect,
    /// The connect timeout passed first.
    ConnectTimeout,
    /// TLS could not be agreed on: mostly a certificate that is not to be trusted.
    Tls,
    /// The read timeout passed without the head of a response.
    ReadTimeout,
    /// The connection failed, or was closed, before the head of a response came. The server may have acted.
    Interrupted,
}

impl RequestError {
    pub(crate) fn new(kind: RequestErrorKind, server: impl Into<String>, what: impl Into<String>) -> Self {
        let transient = match kind {
            RequestErrorKind::Request | RequestErrorKind::Proxy | RequestErrorKind::Tls => false,
            RequestErrorKind::Busy
            | RequestErrorKind::Resolve
            | RequestErrorKind::Connect
            | RequestErrorKind::ConnectTimeout
            | RequestErrorKind::ReadTimeout
            | RequestErrorKind::Interrupted => true,
        };
        Self { kind, server: server.into(), what: what.into(), source: None, transient }
    }

    pub(crate) fn because(mut self, source: impl Into<BoxError>) -> Self {
        self.source = Some(source.into());
        self
    }

    pub(crate) fn transient(mut self, transient: bool) -> Self {
        self.transient = transient;
        self
    }

    /// What kind of obstacle it was.
    pub fn kind(&self) -> RequestErrorKind {
        self.kind
    }

    /// The server it was about, as `host:port`.
    pub fn server(&self) -> &str {
        &self.server
    }

    /// Whether the SDK is told that a repetition may go better: false for what only a change of
    /// settings, names or certificates can mend.
    pub fn is_transient(&self) -> bool {
        self.transient
    }
}

impl fmt::Display for RequestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.server, self.what)
    }
}

impl Error for RequestError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_ref().map(|source| &**source as _)
    }
}

impl From<RequestError> for ConnectorError {
    fn from(error: RequestError) -> Self {
        let (kind, transient) = (error.kind, error.transient);
        let source = Box::new(error);
        match kind {
            RequestErrorKind::Request | RequestErrorKind::Proxy => Self::user(source).never_connected(),
            RequestErrorKind::Busy | RequestErrorKind::ConnectTimeout => {
                Self::timeout(source).never_connected()
            }
            RequestErrorKind::ReadTimeout => Self::timeout(source),
            // The SDK repeats whatever is called an I/O error.
            RequestErrorKind::Resolve | RequestErrorKind::Connect | RequestErrorKind::Tls if transient => {
                Self::io(source).never_connected()
            }
            RequestErrorKind::Resolve | RequestErrorKind::Connect | RequestErrorKind::Tls => {
                Self::other(source, None).never_connected()
            }
            RequestErrorKind::Interrupted => Self::other(source, transient.then_some(Retry::TransientError)),
        }
    }
}
