//! Names, URLs and ARNs of queues.

use super::attributes;
use super::error::{Error, ErrorKind};
use super::settings::{ACCOUNT, REGION};

/// Refuses a URL that names another account, or none. The host is the client's matter.
pub(crate) fn check_address(queue: &str) -> Result<(), Error> {
    let Some((_, rest)) = queue.split_once("://") else { return Ok(()) };
    if rest.rsplit('/').nth(1) == Some(ACCOUNT) {
        return Ok(());
    }
    let text = format!("The address {queue} is not valid for this endpoint.");
    Err(Error::new(ErrorKind::InvalidAddress, text))
}

pub(crate) fn name_of(queue: &str) -> &str {
    queue.rsplit('/').next().unwrap_or(queue)
}

pub(crate) fn name_of_arn(arn: &str) -> &str {
    arn.rsplit(':').next().unwrap_or(arn)
}

pub(crate) fn arn_of(name: &str) -> String {
    format!("arn:aws:sqs:{REGION}:{ACCOUNT}:{name}")
}

/// Refuses a name that is none for the kind of queue that is asked for; whether that is FIFO.
pub(crate) fn check_queue_name(name: &str, attributes: &[(&str, &str)]) -> Result<bool, Error> {
    let fifo = attributes.iter().find(|(attribute, _)| *attribute == "FifoQueue");
    let is_plain = |name: &str| {
        !name.is_empty()
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
    };
    let refused = |text: &str| Err(Error::new(ErrorKind::InvalidParameter, text));
    match fifo {
        _ if name.len() > 80 => {}
        None if is_plain(name) => return Ok(false),
        None => {}
        Some((attribute, value)) if *value != "true" => return Err(attributes::unknown(attribute)),
        Some(_) if name.strip_suffix(".fifo").is_some_and(is_plain) => return Ok(true),
        Some(_) => {
            return refused(
                "The name of a FIFO queue can only include alphanumeric characters, hyphens, or underscores, \
                 must end with .fifo suffix and be 1 to 80 in length.",
            );
        }
    }
    refused("Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length")
}

pub(crate) fn no_such_queue() -> Error {
    Error::new(ErrorKind::QueueDoesNotExist, "The specified queue does not exist.")
}
