//! Every code that is read by its name alone: with a status and a text that say nothing, so that nothing else can tell.

use sqs_lease_core::Failure::{self, Denied, Gone, Throttled, Transient};
use sqs_lease_core::Scope;

/// A person has to mend these, and no delivery is lost by them: SQS's own errors, and those that all of AWS has in common.
const MENDED_BY_A_PERSON: &[&str] = &[
    "AccessDenied",
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

/// Fewer calls are asked for, by whatever name.
const TOO_MANY: &[&str] = &[
    "BandwidthLimitExceeded",
    "LimitExceeded",
    "OverLimit",
    "PriorRequestNotComplete",
    "ProvisionedThroughputExceeded",
    "RequestLimitExceeded",
    "RequestThrottled",
    "SlowDown",
    "ThrottledException",
    "Throttling",
    "TooManyRequests",
    "requestthrottled",
];

const TROUBLE_OF_SQS: &[&str] = &[
    "InternalError",
    "InternalFailure",
    "InternalServerError",
    "InternalService",
    "RequestTimeout",
    "ServiceUnavailable",
];

const OF_THE_DELIVERY: &[&str] =
    &["InvalidIdFormat", "InvalidParameterValue", "MessageNotInflight", "ReceiptHandleIsInvalid"];

/// How a code is read at this status, plain and as exceptions of the JSON protocol are named.
fn read(status: u16, codes: &[&str]) -> Vec<(String, Failure)> {
    let spelled =
        codes.iter().flat_map(|code| [(*code).to_owned(), format!("com.amazonaws.sqs#{code}Exception")]);
    spelled.map(|code| (code.clone(), Failure::read(Scope::Single, Some(status), Some(&code), ""))).collect()
}

fn all_mean(status: u16, codes: &[&str], means: Failure) {
    let wrong: Vec<_> = read(status, codes).into_iter().filter(|(_, failure)| *failure != means).collect();
    assert_eq!(wrong, [], "at {status}, and not {means:?}");
}

#[test]
fn a_code_that_a_person_has_to_mend_is_no_loss_even_at_400() {
    // At 400 a code that nobody knows is a loss: healthy work would be thrown away.
    all_mean(400, MENDED_BY_A_PERSON, Denied);
}

#[test]
fn a_code_that_asks_for_fewer_calls_is_throttling_at_any_status() {
    for status in [400, 403, 503] {
        all_mean(status, TOO_MANY, Throttled);
    }
}

#[test]
fn a_code_of_trouble_inside_sqs_is_tried_again_even_at_400() {
    all_mean(400, TROUBLE_OF_SQS, Transient);
}

#[test]
fn a_code_about_the_delivery_is_a_loss_at_any_status() {
    for status in [400, 404, 500] {
        all_mean(status, OF_THE_DELIVERY, Gone);
    }
}
