use core::fmt;

/// What the failure of a call means for a lease.
///
/// [`Failure::read`] makes one of what SQS or the network said. A guess on the side of *not lost* is safe: the
/// lease then ends by its own clock, before SQS may hand the message on. A guess of *lost* would throw healthy
/// work away.
///
/// ```
/// use sqs_lease_core::{Failure, Scope};
///
/// let text = "Value AQEB for parameter ReceiptHandle is invalid. Reason: The receipt handle has expired.";
/// assert_eq!(Failure::read(Scope::Single, Some(400), Some("InvalidParameterValue"), text), Failure::Gone);
/// assert_eq!(Failure::read(Scope::Single, Some(403), Some("RequestThrottled"), ""), Failure::Throttled);
/// assert_eq!(Failure::read(Scope::Batch, Some(400), None, "<html>proxy error"), Failure::Denied);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Failure {
    /// No answer, a connection that broke, a server in trouble: tried again.
    Transient,
    /// SQS asks for fewer calls: tried again at twice the distance.
    Throttled,
    /// No permission, no such queue, bad credentials, a malformed request: said once, asked seldom.
    Denied,
    /// SQS counts more time since the receive than we do: less is asked for.
    Limit,
    /// The delivery was deleted, has expired, or never was one: the lease is over.
    Gone,
}

/// What an error was the answer to.
///
/// ```
/// use sqs_lease_core::{Failure, Scope};
///
/// // A refusal that nobody knows: of one delivery it is a loss, of a whole batch it is not.
/// assert_eq!(Failure::read(Scope::Entry, Some(400), Some("Unheard"), ""), Failure::Gone);
/// assert_eq!(Failure::read(Scope::Batch, Some(400), Some("Unheard"), ""), Failure::Denied);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Scope {
    /// A whole call that carried one entry: a single call, or a batch of one.
    Single,
    /// One entry in the `Failed` list of a batch's answer.
    Entry,
    /// A whole batch of several entries. Nothing it says is about one delivery, so it never reads as
    /// [`Failure::Gone`] or [`Failure::Limit`].
    Batch,
}

impl Failure {
    /// Reads an error as the lease has to take it.
    ///
    /// * `status`: the HTTP status, where there was an answer. For an entry: 400 if `SenderFault`, else 500.
    /// * `code`: the error code, query-compatible (`AWS.SimpleQueueService.NonExistentQueue`) or as the JSON
    ///   protocol names it (`com.amazonaws.sqs#QueueDoesNotExist`, `InvalidParameterValueException`).
    /// * `text`: the message. `InvalidParameterValue` has three meanings that only the text tells apart.
    ///
    /// Neither status nor code means that no answer came: [`Failure::Transient`].
    pub fn read(scope: Scope, status: Option<u16>, code: Option<&str>, text: &str) -> Self {
        let code = code.unwrap_or_default();
        let failure = match Self::of_code(bare(code), status, text) {
            // An encrypted queue's key is in trouble; that says nothing of the delivery.
            Self::Gone if names_a_key(code) => Self::Denied,
            failure => failure,
        };
        match (scope, failure) {
            (Scope::Batch, Self::Gone | Self::Limit) => Self::Denied,
            _ => failure,
        }
    }

    fn of_code(code: &str, status: Option<u16>, text: &str) -> Self {
        if status == Some(429) || names_throttling(code) {
            return Self::Throttled;
        }
        if listed(TRANSIENT, code) {
            return Self::Transient;
        }
        if listed(DENIED, code) || code.starts_with("AccessDenied") {
            return Self::Denied;
        }
        if text.contains("beyond the limit") {
            return Self::Limit;
        }
        if listed(GONE, code) {
            return Self::Gone;
        }
        match status {
            // Not a code of SQS's that names a delivery; the status is all there is to go by.
            Some(401 | 403 | 407) => Self::Denied,
            Some(400..=499) if status != Some(408) => Self::Gone,
            None if !code.is_empty() => Self::Gone,
            _ => Self::Transient,
        }
    }

    /// The failure as one word, for logs and metrics: `transient`, `throttled`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Transient => "transient",
            Self::Throttled => "throttled",
            Self::Denied => "denied",
            Self::Limit => "limit",
            Self::Gone => "gone",
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Codes that say that SQS, not the request, is at fault.
const TRANSIENT: &[&str] = &[
    "InternalFailure",
    "InternalError",
    "InternalServerError",
    "InternalService",
    "RequestTimeout",
    "ServiceUnavailable",
];

/// Codes that a person has to mend: permissions, credentials, addresses, malformed requests.
const DENIED: &[&str] = &[
    "AuthFailure",
    "BatchEntryIdsNotDistinct",
    "BatchRequestTooLong",
    "EmptyBatchRequest",
    "ExpiredToken",
    "IncompleteSignature",
    "InvalidAccessKeyId",
    "InvalidAction",
    "InvalidAddress",
    "InvalidBatchEntryId",
    "InvalidClientTokenId",
    "InvalidParameterCombination",
    "InvalidQueryParameter",
    "InvalidSecurity",
    "InvalidSignature",
    "InvalidToken",
    "MalformedInput",
    "MalformedQueryString",
    "MissingAction",
    "MissingAuthenticationToken",
    "MissingParameter",
    "MissingRequiredParameter",
    "NonExistentQueue",
    "NotAuthorized",
    "OptInRequired",
    "QueueDeletedRecently",
    "QueueDoesNotExist",
    "RequestExpired",
    "RequestTimeTooSkewed",
    "Serialization",
    "SignatureDoesNotMatch",
    "TokenRefreshRequired",
    "TooManyEntriesInBatchRequest",
    "UnauthorizedOperation",
    "UnknownOperation",
    "UnrecognizedClient",
    "UnsupportedOperation",
    "Validation",
    "ValidationError",
];

/// Codes about the delivery itself. `InvalidParameterValue` is one wherever its text does not say otherwise: it
/// carries "does not exist or is not available" and "has expired", and an unknown text is taken as a loss.
const GONE: &[&str] =
    &["InvalidIdFormat", "InvalidParameterValue", "MessageNotInflight", "ReceiptHandleIsInvalid"];

fn listed(codes: &[&str], code: &str) -> bool {
    codes.contains(&code)
}

/// The name that both protocols share: without namespace, without what follows a `;` or `:`, without the
/// `Exception` that JSON names carry.
fn bare(code: &str) -> &str {
    let code = code.rsplit('#').next().unwrap_or(code);
    let code = code.split([';', ':']).next().unwrap_or(code);
    let code = code.rsplit('.').next().unwrap_or(code);
    code.strip_suffix("Exception").unwrap_or(code)
}

fn names_a_key(code: &str) -> bool {
    // `KMS.DisabledException` and `com.amazonaws.sqs#KmsDisabled`.
    code.rsplit('#')
        .next()
        .and_then(|code| code.get(..3))
        .is_some_and(|start| start.eq_ignore_ascii_case("kms"))
}

fn names_throttling(code: &str) -> bool {
    const OTHERS: &[&str] = &[
        "BandwidthLimitExceeded",
        "LimitExceeded",
        "OverLimit",
        "PriorRequestNotComplete",
        "ProvisionedThroughputExceeded",
        "RequestLimitExceeded",
        "SlowDown",
        "TooManyRequests",
    ];
    listed(OTHERS, code) || code.as_bytes().windows(7).any(|part| part.eq_ignore_ascii_case(b"throttl"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trouble_with_a_key_is_no_loss_in_either_spelling() {
        for code in ["KMS.DisabledException", "KmsDisabled", "com.amazonaws.sqs#KmsDisabled"] {
            let read = Failure::read(Scope::Single, Some(400), Some(code), "");
            assert_eq!(read, Failure::Denied, "{code}");
        }
    }
}
