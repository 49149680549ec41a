//! What a request was signed with.

use std::sync::{Arc, Mutex};

use sqs_lease_smol::aws_sdk_sqs::config::interceptors::BeforeTransmitInterceptorContextRef;
use sqs_lease_smol::aws_sdk_sqs::config::{ConfigBag, Intercept, RuntimeComponents};
use sqs_lease_smol::aws_sdk_sqs::error::BoxError;

/// Keeps what a request was signed with.
#[derive(Clone, Debug, Default)]
pub(crate) struct Signature(Arc<Mutex<Option<String>>>);

impl Signature {
    /// Key id and session token; `None` where nothing was sent.
    pub(crate) fn seen(&self) -> Option<String> {
        self.0.lock().unwrap().clone()
    }
}

impl Intercept for Signature {
    fn name(&self) -> &'static str {
        "Signature"
    }

    fn read_before_transmit(
        &self,
        context: &BeforeTransmitInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let headers = context.request().headers();
        let key = headers.get("authorization").and_then(signer).unwrap_or("unsigned");
        let token = headers.get("x-amz-security-token").unwrap_or("without");
        *self.0.lock().unwrap() = Some(format!("{key} {token}"));
        Ok(())
    }
}

/// The key id in an `Authorization` header of Signature Version 4.
pub(crate) fn signer(authorization: &str) -> Option<&str> {
    let (_, credential) = authorization.split_once("Credential=")?;
    Some(credential.split_once('/')?.0)
}
