//! Every code and text with which SQS is known to refuse a call, and what it means for a lease.
//!
//! Each refusal is read in both spellings of its code, the query-compatible one and the JSON protocol's
//! `__type`, as a single call, as an entry of a batch, and as the answer to a whole batch.

use sqs_lease_core::Failure::{self, Denied, Gone, Limit, Throttled, Transient};
use sqs_lease_core::Scope;

struct Refusal {
    /// As an SDK sees it, from the `x-amzn-query-error` header.
    query: &'static str,
    /// As the body's `__type` has it.
    json: &'static str,
    status: u16,
    text: &'static str,
    means: Failure,
}

const BEYOND: &str = "Value 43200 for parameter VisibilityTimeout is invalid. Reason: Total VisibilityTimeout for \
                      the message is beyond the limit [43200 seconds]";
const DELETED: &str = "Value AQEB for parameter ReceiptHandle is invalid. Reason: Message does not exist or is not \
                       available for visibility timeout change.";
const EXPIRED: &str =
    "Value AQEB for parameter ReceiptHandle is invalid. Reason: The receipt handle has expired.";

const fn refusal(
    query: &'static str,
    json: &'static str,
    status: u16,
    text: &'static str,
    means: Failure,
) -> Refusal {
    Refusal { query, json, status, text, means }
}

const CALLS: &[Refusal] = &[
    refusal("InvalidParameterValue", "InvalidParameterValueException", 400, BEYOND, Limit),
    refusal(
        "InvalidParameterValue",
        "InvalidParameterValueException",
        400,
        "Total VisibilityTimeout for the message is beyond the limit [43200 seconds].",
        Limit,
    ),
    refusal("InvalidParameterValue", "InvalidParameterValueException", 400, DELETED, Gone),
    refusal("InvalidParameterValue", "InvalidParameterValueException", 400, EXPIRED, Gone),
    refusal("InvalidParameterValue", "InvalidParameterValueException", 400, "a text nobody has seen", Gone),
    refusal(
        "ReceiptHandleIsInvalid",
        "ReceiptHandleIsInvalid",
        404,
        "The input receipt handle \"x\" is not a valid receipt handle.",
        Gone,
    ),
    refusal(
        "ReceiptHandleIsInvalid",
        "ReceiptHandleIsInvalid",
        400,
        "The receipt handle is not valid for this queue.",
        Gone,
    ),
    refusal("AWS.SimpleQueueService.MessageNotInflight", "MessageNotInflight", 400, "", Gone),
    refusal(
        "AWS.SimpleQueueService.NonExistentQueue",
        "QueueDoesNotExist",
        400,
        "The specified queue does not exist or you do not have access to it.",
        Denied,
    ),
    refusal(
        "AWS.SimpleQueueService.UnsupportedOperation",
        "UnsupportedOperation",
        400,
        "Unsupported operation.",
        Denied,
    ),
    refusal("RequestThrottled", "RequestThrottled", 403, "Request is throttled.", Throttled),
    refusal(
        "RequestThrottled",
        "RequestThrottled",
        403,
        "Request throttled because message visibility configuration was updated too recently. Wait a short \
         while and then retry the operation.",
        Throttled,
    ),
    refusal("ThrottlingException", "ThrottlingException", 400, "Rate exceeded", Throttled),
    refusal("Throttling", "ThrottledException", 400, "Rate exceeded", Throttled),
    refusal("TooManyRequestsException", "TooManyRequestsException", 429, "", Throttled),
    refusal("InvalidSecurity", "InvalidSecurity", 403, "All requests must use HTTPS and SigV4.", Denied),
    refusal("InvalidAddress", "InvalidAddress", 404, "The address is not valid for this endpoint.", Denied),
    refusal(
        "SerializationException",
        "SerializationException",
        400,
        "STRING_VALUE can not be converted to an Integer",
        Denied,
    ),
    refusal(
        "AccessDenied",
        "AccessDeniedException",
        403,
        "Access to the resource https://sqs.eu-west-1.amazonaws.com/ is denied.",
        Denied,
    ),
    refusal("AccessDeniedException", "AccessDeniedException", 400, "User is not authorized", Denied),
    refusal("InvalidClientTokenId", "UnrecognizedClientException", 403, "", Denied),
    refusal("SignatureDoesNotMatch", "InvalidSignatureException", 403, "", Denied),
    refusal("ExpiredToken", "ExpiredTokenException", 403, "", Denied),
    refusal("MissingParameter", "MissingRequiredParameterException", 400, "", Denied),
    refusal("MissingAuthenticationToken", "MissingAuthenticationTokenException", 403, "", Denied),
    refusal("ValidationError", "ValidationException", 400, "", Denied),
    refusal("KMS.DisabledException", "KmsDisabled", 400, "The key is disabled.", Denied),
    refusal("KMS.NotFoundException", "KmsNotFound", 400, "", Denied),
    refusal("KMS.AccessDeniedException", "KmsAccessDenied", 400, "", Denied),
    refusal("KMS.ThrottlingException", "KmsThrottled", 400, "", Throttled),
    refusal("InternalFailure", "InternalFailure", 500, "", Transient),
    refusal("InternalError", "InternalServerError", 500, "", Transient),
    refusal("ServiceUnavailable", "ServiceUnavailableException", 503, "", Transient),
    refusal("SomethingNew", "SomethingNewException", 502, "", Transient),
    refusal("SomethingNew", "SomethingNewException", 504, "", Transient),
    refusal("RequestTimeout", "RequestTimeoutException", 408, "", Transient),
    refusal("SomethingNew", "SomethingNewException", 400, "an unknown refusal", Gone),
    // Of a whole batch.
    refusal(
        "AWS.SimpleQueueService.TooManyEntriesInBatchRequest",
        "TooManyEntriesInBatchRequest",
        400,
        "Maximum number of entries per request are 10. You have sent 20.",
        Denied,
    ),
    refusal(
        "AWS.SimpleQueueService.EmptyBatchRequest",
        "EmptyBatchRequest",
        400,
        "There should be at least one DeleteMessageBatchRequestEntry in the request.",
        Denied,
    ),
    refusal(
        "AWS.SimpleQueueService.BatchEntryIdsNotDistinct",
        "BatchEntryIdsNotDistinct",
        400,
        "Id id_2 repeated.",
        Denied,
    ),
    refusal(
        "AWS.SimpleQueueService.InvalidBatchEntryId",
        "InvalidBatchEntryId",
        400,
        "A batch entry id can only contain alphanumeric characters, hyphens and underscores. It can be at most \
         80 letters long.",
        Denied,
    ),
    refusal(
        "AWS.SimpleQueueService.BatchRequestTooLong",
        "BatchRequestTooLong",
        400,
        "Batch requests cannot be longer than 1048576 bytes.",
        Denied,
    ),
];

/// What a batch says of one entry: code, text, whether the sender is at fault, and what it means.
const ENTRIES: &[(&str, &str, bool, Failure)] = &[
    (
        "ReceiptHandleIsInvalid",
        "Message does not exist or is not available for visibility timeout change",
        true,
        Gone,
    ),
    ("ReceiptHandleIsInvalid", "The receipt handle has expired", true, Gone),
    ("ReceiptHandleIsInvalid", "The input receipt handle \"x\" is not a valid receipt handle.", true, Gone),
    ("ReceiptHandleIsInvalid", "", false, Gone),
    (
        "InvalidParameterValue",
        "Total VisibilityTimeout for the message is beyond the limit [43200 seconds]",
        true,
        Limit,
    ),
    (
        "InvalidParameterValue",
        "Reason: Total VisibilityTimeout for the message is beyond the limit [43200 seconds].",
        true,
        Limit,
    ),
    ("InternalError", "", false, Transient),
    ("InternalFailure", "", false, Transient),
    ("ServiceUnavailable", "", false, Transient),
    ("NobodyKnows", "", false, Transient),
    ("NobodyKnows", "", true, Gone),
    ("RequestThrottled", "", true, Throttled),
    ("AccessDenied", "", true, Denied),
];

/// The spellings in which a code arrives.
fn spellings(refusal: &Refusal) -> Vec<String> {
    let Refusal { query, json, .. } = refusal;
    vec![
        (*query).to_owned(),
        format!("{query};Sender"),
        (*json).to_owned(),
        format!("com.amazonaws.sqs#{json}"),
        format!("com.amazonaws.sqs#{json}:http://internal.amazon.com/coral/com.amazonaws.sqs/"),
    ]
}

/// A whole batch says nothing about one delivery.
fn of_whole_batch(failure: Failure) -> Failure {
    if matches!(failure, Gone | Limit) { Denied } else { failure }
}

#[test]
fn each_refusal_of_a_call_is_read_in_every_spelling() {
    for refusal in CALLS {
        for code in spellings(refusal) {
            for (scope, means) in [
                (Scope::Single, refusal.means),
                (Scope::Entry, refusal.means),
                (Scope::Batch, of_whole_batch(refusal.means)),
            ] {
                assert_eq!(
                    Failure::read(scope, Some(refusal.status), Some(&code), refusal.text),
                    means,
                    "{scope:?}, {}, {code}, {}",
                    refusal.status,
                    refusal.text
                );
            }
        }
    }
}

#[test]
fn each_refusal_of_an_entry_is_read() {
    for &(code, text, sender_fault, means) in ENTRIES {
        let status = if sender_fault { 400 } else { 500 };
        assert_eq!(Failure::read(Scope::Entry, Some(status), Some(code), text), means, "{code}, {text}");
    }
}

#[test]
fn without_a_code_the_status_decides() {
    for (status, single, batch) in [
        (None, Transient, Transient),
        (Some(400), Gone, Denied),
        (Some(404), Gone, Denied),
        (Some(413), Gone, Denied),
        (Some(401), Denied, Denied),
        (Some(403), Denied, Denied),
        (Some(407), Denied, Denied),
        (Some(408), Transient, Transient),
        (Some(429), Throttled, Throttled),
        (Some(500), Transient, Transient),
        (Some(502), Transient, Transient),
        (Some(503), Transient, Transient),
        (Some(504), Transient, Transient),
        (Some(599), Transient, Transient),
        // An answer that could not be read.
        (Some(200), Transient, Transient),
        (Some(302), Transient, Transient),
    ] {
        for code in [None, Some("")] {
            let text = "<html>an error page of a proxy's";
            assert_eq!(Failure::read(Scope::Single, status, code, text), single, "{status:?} {code:?}");
            assert_eq!(Failure::read(Scope::Entry, status, code, text), single, "{status:?} {code:?}");
            assert_eq!(Failure::read(Scope::Batch, status, code, text), batch, "{status:?} {code:?}");
        }
    }
}

#[test]
fn a_throttled_429_needs_no_code() {
    for code in [None, Some("InvalidParameterValue"), Some("AccessDenied")] {
        assert_eq!(Failure::read(Scope::Single, Some(429), code, ""), Throttled, "{code:?}");
    }
}

#[test]
fn odd_codes_never_panic() {
    for code in
        ["", "#", ".", ";", ":", "#;.:", "Exception", "äöü", "KM", "é", "日本", "kms", "a#b#c", "throttl"]
    {
        for scope in [Scope::Single, Scope::Entry, Scope::Batch] {
            for status in [None, Some(0), Some(99), Some(400), Some(u16::MAX)] {
                let failure = Failure::read(scope, status, Some(code), "äöü");
                assert!(scope != Scope::Batch || !matches!(failure, Gone | Limit), "{code}");
            }
        }
    }
}
