//! Reads what the SDK makes of an error.

use std::borrow::Cow;
use std::error::Error;
use std::fmt::Write;
use std::future::Future;
use std::panic::AssertUnwindSafe;

use aws_credential_types::provider::error::CredentialsError;
use aws_sdk_sqs::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_sqs::types::BatchResultErrorEntry;
use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use futures_util::FutureExt;
use sqs_lease_driver::{Failure, Refusal, Scope};

/// What a failed call means for the leases in it.
pub(crate) fn refusal<E>(error: &SdkError<E, HttpResponse>, scope: Scope) -> Refusal
where
    E: ProvideErrorMetadata + Error + 'static,
{
    match error {
        SdkError::ServiceError(service) => {
            let status = service.raw().status().as_u16();
            let (code, text) = (service.err().code(), service.err().message().unwrap_or_default());
            let failure = Failure::read(scope, Some(status), code, text);
            Refusal::new(failure, code.map_or_else(|| format!("HTTP {status}"), str::to_owned))
        }
        // An answer that is not SQS's: a proxy's page.
        SdkError::ResponseError(response) => {
            let status = response.raw().status().as_u16();
            Refusal::new(Failure::read(scope, Some(status), None, ""), format!("HTTP {status}, unreadable"))
        }
        SdkError::TimeoutError(_) => Refusal::new(Failure::Transient, "timeout"),
        SdkError::DispatchFailure(failure) if failure.is_timeout() => {
            Refusal::new(Failure::Transient, "timeout")
        }
        SdkError::DispatchFailure(failure) if failure.is_io() || failure.as_other().is_some() => {
            Refusal::new(Failure::Transient, "connection")
        }
        // The metadata service or STS did not answer: it may the next time.
        SdkError::DispatchFailure(_) if credentials_may_come(error) => {
            Refusal::new(Failure::Transient, "credentials")
        }
        // Nothing was sent: no credentials, a certificate that is not trusted, a malformed request.
        SdkError::DispatchFailure(_) | SdkError::ConstructionFailure(_) => {
            Refusal::new(Failure::Denied, "credentials or connection")
        }
        _ => Refusal::new(Failure::Transient, "unknown"),
    }
}

/// Whether credentials are configured but could not be had just now.
fn credentials_may_come(error: &(dyn Error + 'static)) -> bool {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if let Some(error) = error.downcast_ref::<CredentialsError>() {
            return !matches!(
                error,
                CredentialsError::CredentialsNotLoaded(_) | CredentialsError::InvalidConfiguration(_)
            );
        }
        cause = error.source();
    }
    false
}

/// What a failed entry of a batch means for its lease.
pub(crate) fn entry_refusal(entry: &BatchResultErrorEntry) -> Refusal {
    let status = if entry.sender_fault() { 400 } else { 500 };
    let text = entry.message().unwrap_or_default();
    let failure = Failure::read(Scope::Entry, Some(status), Some(entry.code()), text);
    Refusal::new(failure, Cow::Owned(entry.code().to_owned()))
}

/// Awaits a call of the SDK; a panic of its client is an error with the panic's text.
pub(crate) async fn unpanicked<F: Future>(call: F) -> Result<F::Output, String> {
    AssertUnwindSafe(call).catch_unwind().await.map_err(|panic| {
        let text = panic.downcast_ref::<&str>().map(|it| (*it).to_owned());
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
        text.unwrap_or_else(|| "without a text".to_owned()).lines().collect::<Vec<_>>().join("; ")
    })
}

/// What aws-config says and what stands in its place.
const OURS: &[(&str, &str)] = &[
    // Its advice, to enable the feature, ends in a panic where no Tokio runs.
    (
        "`credentials-process` feature must be enabled",
        "the profile's `credential_process` needs Tokio's reactor, and was not run: take the credentials from \
         another source, or run on Tokio with aws-config's feature `credentials-process`",
    ),
    // The reason went away with the first call's error.
    (
        "profile file credentials provider initialization error already taken",
        "the profile cannot be used; the first call of this client was told why",
    ),
];

/// The text of one error, without what caused it. Those of aws-config may have several lines.
fn text(error: &dyn Error) -> String {
    let text = error.to_string();
    if let Some((_, ours)) = OURS.iter().find(|(theirs, _)| text.contains(theirs)) {
        return (*ours).to_owned();
    }
    text.lines().map(str::trim).collect::<Vec<_>>().join("; ").replace(":; ", ": ")
}

/// An error of the SDK and what caused it, in one line: the SDK's own `Display` says only "service error".
///
/// Not for calls that carry receipt handles: SQS echoes them in its texts.
///
/// ```
/// use sqs_lease_sqs::aws_sdk_sqs::Client;
/// use sqs_lease_sqs::in_one_line;
///
/// async fn send(client: &Client, queue_url: &str) {
///     if let Err(error) = client.send_message().queue_url(queue_url).message_body("work").send().await {
///         // Such as "AWS.SimpleQueueService.NonExistentQueue: The specified queue does not exist."
///         eprintln!("cannot send: {}", in_one_line(&error));
///     }
/// }
/// ```
pub fn in_one_line<E>(error: &SdkError<E, HttpResponse>) -> String
where
    E: ProvideErrorMetadata + Error + 'static,
{
    if let SdkError::ServiceError(service) = error {
        let status = service.raw().status().as_u16();
        let code = service.err().code().map_or_else(|| format!("HTTP {status}"), str::to_owned);
        return match service.err().message() {
            Some(text) if !text.is_empty() => format!("{code}: {text}"),
            _ => code,
        };
    }
    let mut line = text(error);
    let mut cause = error.source();
    while let Some(error) = cause {
        let text = text(error);
        // Wrappers often say the same as what they wrap.
        if !line.ends_with(&text) {
            // Writing to a String cannot fail.
            let _ = write!(line, ": {text}");
        }
        cause = error.source();
    }
    line
}
