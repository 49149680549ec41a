use std::sync::Arc;

use futures_rustls::TlsConnector;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};

use crate::connect::Origin;
use crate::error::{BuildError, RequestError, RequestErrorKind};
use crate::io::{Stream, TcpIo};

/// Which root certificates a client is to trust.
#[derive(Clone, Debug)]
pub(crate) struct Roots {
    pub(crate) system: bool,
    pub(crate) own: Vec<Given>,
}

/// Certificates as the user gave them; read when the client is built, so that errors have one place.
#[derive(Clone, Debug)]
pub(crate) enum Given {
    Pem(Vec<u8>),
    Der(Vec<u8>),
}

impl Roots {
    /// Loads them. `None` where there is nobody to trust, and so no TLS to be had.
    pub(crate) fn connector(self) -> Result<Option<TlsConnector>, BuildError> {
        let mut store = RootCertStore::empty();
        if self.system {
            let found = rustls_native_certs::load_native_certs();
            // A system's store holds odd certificates that others can do without.
            let (usable, _) = store.add_parsable_certificates(found.certs);
            if usable == 0 {
                let problems = found.errors.iter().map(ToString::to_string).collect();
                return Err(BuildError::NoSystemRoots { problems });
            }
        }
        for given in self.own {
            given.add_to(&mut store)?;
        }
        if store.is_empty() {
            return Ok(None);
        }
        let mut config =
            ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
                .with_safe_default_protocol_versions()
                .expect("ring has cipher suites for the default versions")
                .with_root_certificates(store)
                .with_no_client_auth();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Some(TlsConnector::from(Arc::new(config))))
    }
}

impl Given {
    fn add_to(self, store: &mut RootCertStore) -> Result<(), BuildError> {
        let certificates = match self {
            Self::Der(der) => vec![CertificateDer::from(der)],
            Self::Pem(pem) => CertificateDer::pem_slice_iter(&pem)
                .collect::<Result<Vec<_>, _>>()
                .map_err(|error| BuildError::Certificate { reason: format!("{error:?} in its PEM text") })?,
        };
        if certificates.is_empty() {
            let reason = "the PEM text has no CERTIFICATE section".to_owned();
            return Err(BuildError::Certificate { reason });
        }
        for certificate in certificates {
            store.add(certificate).map_err(|error| BuildError::Certificate { reason: error.to_string() })?;
        }
        Ok(())
    }
}

/// Agrees on TLS with `origin` over `tcp`.
pub(crate) async fn handshake(
    connector: &TlsConnector,
    origin: &Origin,
    tcp: TcpIo,
) -> Result<Stream, RequestError> {
    let name = ServerName::try_from(origin.host().to_owned()).map_err(|error| {
        RequestError::new(
            RequestErrorKind::Request,
            origin.server(),
            "a certificate cannot be checked for such a name",
        )
        .because(error)
    })?;
    match connector.connect(name, tcp).await {
        Ok(stream) => Ok(Stream::Tls(Box::new(stream))),
        Err(error) => {
            let refusal = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
            let (what, transient) = match refusal {
                Some(refusal) => explain(refusal, origin),
                None => (format!("the TLS handshake was cut off: {error}"), true),
            };
            Err(RequestError::new(RequestErrorKind::Tls, origin.server(), what)
                .transient(transient)
                .because(error))
        }
    }
}

/// What a handshake's failure means in words, and whether a repetition may go better.
///
/// What this side refuses, it will refuse again. What the other side refuses may be its momentary trouble.
fn explain(error: &rustls::Error, origin: &Origin) -> (String, bool) {
    use rustls::CertificateError as Bad;
    let host = origin.host();
    let what = match error {
        rustls::Error::InvalidCertificate(bad) => match bad {
            Bad::UnknownIssuer => format!(
                "the certificate of {host} is refused: UnknownIssuer, it was issued by nobody whom this client \
                 trusts"
            ),
            Bad::NotValidForName | Bad::NotValidForNameContext { .. } => {
                format!("the certificate is refused: it is not for the name {host}: {bad}")
            }
            Bad::Expired | Bad::ExpiredContext { .. } => {
                format!("the certificate of {host} is refused: it has expired: {bad}")
            }
            Bad::NotValidYet | Bad::NotValidYetContext { .. } => {
                format!("the certificate of {host} is refused: it is not valid yet: {bad}")
            }
            bad => format!("the certificate of {host} is refused: {bad}"),
        },
        rustls::Error::InvalidMessage(rustls::InvalidMessage::InvalidContentType) => {
            "the server does not speak TLS here (InvalidContentType): plain HTTP behind an https address?"
                .to_owned()
        }
        rustls::Error::AlertReceived(alert) => {
            return (format!("the server ended the TLS handshake: {alert:?}"), true);
        }
        error => format!("the TLS handshake failed: {error}"),
    };
    (what, false)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own(given: Given) -> Result<Option<TlsConnector>, BuildError> {
        Roots { system: false, own: vec![given] }.connector()
    }

    #[test]
    fn what_is_no_certificate_is_refused_with_a_reason() {
        let refused = |given| own(given).err().expect("refused").to_string();
        assert!(refused(Given::Pem(b"hello".to_vec())).contains("no CERTIFICATE section"));
        assert!(
            refused(Given::Pem(b"-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n".to_vec()))
                .contains("in its PEM text")
        );
        assert!(refused(Given::Der(vec![1, 2, 3])).contains("cannot be used"));
    }

    #[test]
    fn trusting_nobody_leaves_no_tls() {
        assert!(Roots { system: false, own: Vec::new() }.connector().expect("not an error").is_none());
    }
}
