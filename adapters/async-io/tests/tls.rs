//! TLS with certificates of a private authority: whom the client trusts, and how it says that it does not.
mod support;

use std::io::Write;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use aws_async_io::{BuildError, Client, ClientBuilder, RequestErrorKind};
use aws_smithy_runtime_api::client::connection::CaptureSmithyConnection;
use aws_smithy_runtime_api::client::dns::{DnsFuture, ResolveDns};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, date_time_ymd};
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use support::server::{Request, Server, answer};
use support::{DRIVERS, Driver, cause, connect_timeout, exchange, get, no_timeouts, read, refused, send};

type Authority = CertifiedIssuer<'static, KeyPair>;

fn authority() -> Authority {
    named("A private authority")
}

fn named(name: &str) -> Authority {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.distinguished_name.push(rcgen::DnType::CommonName, name);
    CertifiedIssuer::self_signed(params, KeyPair::generate().expect("a key")).expect("a certificate")
}

/// A certificate for these names, or addresses, that `change` may spoil.
fn tls_server(authority: &Authority, names: &[&str], change: impl FnOnce(&mut CertificateParams)) -> Server {
    let names: Vec<_> = names.iter().map(|name| (*name).to_owned()).collect();
    let mut params = CertificateParams::new(names).expect("names");
    change(&mut params);
    let key = KeyPair::generate().expect("a key");
    let certificate = params.signed_by(&key, authority).expect("a certificate");
    let key = PrivateKeyDer::try_from(key.serialize_der()).expect("a key");
    let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key)
        .expect("a key to the certificate");
    let config = Arc::new(config);
    Server::start(move |_, socket| {
        let session = ServerConnection::new(Arc::clone(&config)).expect("a session");
        let mut stream = StreamOwned::new(session, socket);
        while let Some(request) = Request::read(&mut stream) {
            answer(&mut stream, &String::from_utf8(request.body).expect("text"));
        }
    })
}

/// Every name is here.
#[derive(Debug)]
struct Here;

impl ResolveDns for Here {
    fn resolve_dns<'a>(&'a self, _: &'a str) -> DnsFuture<'a> {
        DnsFuture::ready(Ok(vec![IpAddr::from([127, 0, 0, 1])]))
    }
}

fn trusting(driver: Driver, authority: &Authority) -> Client {
    driver.builder().resolver(Here).trust_pem(authority.pem()).build().expect("a client")
}

fn uri(server: &Server) -> String {
    format!("https://sqs.example:{}/", server.port())
}

/// What the client says of the server's certificate; and that it says it once and for all.
#[track_caller]
fn refusal(client: &Client, uri: &str) -> String {
    let error = refused(smol::block_on(exchange(client, get(uri))), RequestErrorKind::Tls);
    assert!(error.is_other() && error.as_other().is_none(), "the SDK would try again: {error:?}");
    assert!(!cause(&error).is_transient());
    cause(&error).to_string()
}

#[test]
fn a_certificate_of_a_trusted_authority_is_accepted() {
    let authority = authority();
    for driver in DRIVERS {
        let server = tls_server(&authority, &["sqs.example"], |_| ());
        let client = trusting(driver, &authority);
        smol::block_on(async {
            for length in [1, 100, 100_000] {
                let body = "x".repeat(length);
                let request = support::post(&uri(&server), body.clone());
                assert!(exchange(&client, request).await.expect("an answer").1 == body.as_bytes());
            }
        });
        assert_eq!(server.accepted(), 1, "{driver:?}: TLS connections are used again");
    }
}

#[test]
fn an_authority_may_be_given_in_der() {
    let authority = authority();
    for driver in DRIVERS {
        let server = tls_server(&authority, &["sqs.example"], |_| ());
        let client = driver.builder().resolver(Here).trust_der(authority.der().to_vec());
        let client = client.build().expect("a client");
        smol::block_on(exchange(&client, get(&uri(&server)))).expect("an answer");
    }
}

#[test]
fn a_certificate_may_be_for_an_address() {
    let authority = authority();
    for driver in DRIVERS {
        let server = tls_server(&authority, &["127.0.0.1"], |_| ());
        let client = trusting(driver, &authority);
        let uri = format!("https://127.0.0.1:{}/", server.port());
        smol::block_on(exchange(&client, get(&uri))).expect("an answer");
    }
}

#[test]
fn an_unknown_authority_is_refused() {
    let (authority, other) = (authority(), named("Somebody else"));
    for driver in DRIVERS {
        let server = tls_server(&authority, &["sqs.example"], |_| ());
        let text = refusal(&trusting(driver, &other), &uri(&server));
        assert!(text.starts_with(&format!("sqs.example:{}: ", server.port())), "{text}");
        assert!(text.contains("UnknownIssuer, it was issued by nobody whom this client trusts"), "{text}");
    }
}

#[test]
fn the_systems_roots_do_not_know_a_private_authority() {
    let authority = authority();
    for driver in DRIVERS {
        let server = tls_server(&authority, &["sqs.example"], |_| ());
        let builder = Client::builder().ignore_proxy_variables().resolver(Here);
        let builder = match driver {
            Driver::Spawn => builder.spawn(|task| smol::spawn(task).detach()),
            Driver::InRequest => builder,
        };
        match builder.build() {
            Ok(client) => assert!(refusal(&client, &uri(&server)).contains("UnknownIssuer")),
            Err(error) => assert!(matches!(error, BuildError::NoSystemRoots { .. }), "{error}"),
        }
    }
}

#[test]
fn a_certificate_for_another_name_is_refused() {
    let authority = authority();
    for driver in DRIVERS {
        let server = tls_server(&authority, &["sns.example", "10.0.0.1"], |_| ());
        let text = refusal(&trusting(driver, &authority), &uri(&server));
        assert!(text.contains("it is not for the name sqs.example"), "{text}");
        assert!(text.contains("sns.example"), "{text}");
        let text = refusal(&trusting(driver, &authority), &format!("https://127.0.0.1:{}/", server.port()));
        assert!(text.contains("it is not for the name 127.0.0.1"), "{text}");
    }
}

#[test]
fn an_expired_certificate_is_refused() {
    let authority = authority();
    for driver in DRIVERS {
        let server = tls_server(&authority, &["sqs.example"], |params| {
            params.not_before = date_time_ymd(2020, 1, 1);
            params.not_after = date_time_ymd(2021, 1, 1);
        });
        let text = refusal(&trusting(driver, &authority), &uri(&server));
        assert!(text.contains("it has expired"), "{text}");
    }
}

#[test]
fn a_certificate_of_the_future_is_refused() {
    let authority = authority();
    for driver in DRIVERS {
        let server = tls_server(&authority, &["sqs.example"], |params| {
            params.not_before = date_time_ymd(2200, 1, 1);
            params.not_after = date_time_ymd(2201, 1, 1);
        });
        let text = refusal(&trusting(driver, &authority), &uri(&server));
        assert!(text.contains("it is not valid yet"), "{text}");
    }
}

#[test]
fn plain_http_behind_https_is_told() {
    let authority = authority();
    for driver in DRIVERS {
        let server = Server::start(|_, mut socket| {
            let _ = socket.write_all(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n");
            support::server::closed_by_client(&mut socket);
        });
        let text = refusal(&trusting(driver, &authority), &uri(&server));
        assert!(text.contains("plain HTTP behind an https address?"), "{text}");
    }
}

#[test]
fn a_handshake_cut_off_may_go_better_next_time() {
    let authority = authority();
    for driver in DRIVERS {
        let server = Server::start(|_, _| ());
        let client = trusting(driver, &authority);
        let error = refused(smol::block_on(exchange(&client, get(&uri(&server)))), RequestErrorKind::Tls);
        assert!(error.is_io() && cause(&error).is_transient(), "{error:?}");
    }
}

#[test]
fn a_handshake_that_hangs_meets_the_connect_timeout() {
    let authority = authority();
    for driver in DRIVERS {
        let server = Server::start(|_, mut socket| support::server::closed_by_client(&mut socket));
        let client = trusting(driver, &authority);
        let settings = connect_timeout(Duration::from_millis(150));
        let result = smol::block_on(send(&client, &settings, get(&uri(&server))));
        let error = refused(result, RequestErrorKind::ConnectTimeout);
        assert!(error.is_timeout());
        assert!(cause(&error).to_string().ends_with("has not finished the TLS handshake"));
    }
}

#[test]
fn what_cannot_be_trusted_is_an_error_of_the_builder() {
    let refused = |builder: ClientBuilder| builder.build().expect_err("refused").to_string();
    let builder = || Driver::InRequest.builder();
    assert_eq!(
        refused(builder().trust_pem("not PEM at all")),
        "a certificate to trust cannot be used: the PEM text has no CERTIFICATE section"
    );
    assert!(
        refused(builder().trust_der([0x30, 0x03, 1, 2, 3]))
            .starts_with("a certificate to trust cannot be used")
    );
    assert_eq!(
        refused(builder().max_connections(0)),
        "max_connections is 0: the client could not connect at all"
    );
}

#[test]
fn the_sdk_is_told_how_long_the_handshake_took() {
    let authority = authority();
    let server = tls_server(&authority, &["sqs.example"], |_| ());
    let client = trusting(Driver::Spawn, &authority);
    let capture = CaptureSmithyConnection::new();
    let mut request = get(&uri(&server));
    request.add_extension(capture.clone());
    smol::block_on(async {
        let response = send(&client, &no_timeouts(), request).await.expect("a response");
        read(response).await.expect("a body");
    });
    let took = capture.get().and_then(|connection| connection.establishment().cloned()).expect("measured");
    assert!(took.tls_duration().expect("measured") <= took.total_duration());
    assert!(took.dns_duration().is_some() && took.socket_connect_duration().is_some());
}
