use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::error::{Error, ErrorKind};

/// The text of a `RedrivePolicy`: after `max_receive_count` receives a message goes to the queue of that ARN.
///
/// ```
/// use sqs_lease_sim::{Model, Moment, redrive_policy};
///
/// let mut model = Model::default();
/// let now = Moment::ORIGIN;
/// model.create_queue("dead", &[], now)?;
/// let policy = redrive_policy(&model.queue_arn("dead")?, 3);
/// model.create_queue("jobs", &[("RedrivePolicy", &policy)], now)?;
/// # Ok::<(), sqs_lease_sim::Error>(())
/// ```
pub fn redrive_policy(dead_letter_arn: &str, max_receive_count: u32) -> String {
    json!({"deadLetterTargetArn": dead_letter_arn, "maxReceiveCount": max_receive_count.to_string()})
        .to_string()
}

/// The attributes of a queue that its owner sets, valid as they stand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Attributes {
    pub(crate) visibility: u32,
    pub(crate) retention: u32,
    pub(crate) delay: u32,
    pub(crate) wait: u32,
    pub(crate) max_size: usize,
    pub(crate) redrive: Option<Redrive>,
    /// None on a standard queue.
    pub(crate) fifo: Option<Fifo>,
    /// The rest that SQS knows: kept and shown, of no effect here.
    other: BTreeMap<String, String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Redrive {
    pub(crate) target_arn: String,
    pub(crate) max_receive_count: u32,
    text: String,
}

/// What only a FIFO queue has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Fifo {
    /// The deduplication id is made from the body where the sender gives none.
    pub(crate) content_based: bool,
    /// Deduplication ids count within a message group, not within the queue.
    pub(crate) by_group: bool,
    limit_by_group: bool,
}

const WITHOUT_EFFECT: [&str; 5] = [
    "Policy",
    "KmsMasterKeyId",
    "KmsDataKeyReusePeriodSeconds",
    "SqsManagedSseEnabled",
    "RedriveAllowPolicy",
];

impl Default for Attributes {
    fn default() -> Self {
        Self {
            visibility: 30,
            retention: 345_600,
            delay: 0,
            wait: 0,
            max_size: 1_048_576,
            redrive: None,
            fifo: None,
            other: BTreeMap::from([("SqsManagedSseEnabled".to_owned(), "true".to_owned())]),
        }
    }
}

impl Attributes {
    /// The defaults of a queue of this kind.
    pub(crate) fn new(is_fifo: bool) -> Self {
        Self { fifo: is_fifo.then(Fifo::default), ..Self::default() }
    }

    /// Sets one attribute from its text. An empty text sets a policy back to none, as with SQS.
    pub(crate) fn set(&mut self, name: &str, value: &str) -> Result<(), Error> {
        match name {
            "VisibilityTimeout" => self.visibility = number(name, value, 0, 43_200)?,
            "MessageRetentionPeriod" => self.retention = number(name, value, 60, 1_209_600)?,
            "DelaySeconds" => self.delay = number(name, value, 0, 900)?,
            "ReceiveMessageWaitTimeSeconds" => self.wait = number(name, value, 0, 20)?,
            "MaximumMessageSize" => self.max_size = number(name, value, 1_024, 1_048_576)? as usize,
            "RedrivePolicy" if value.is_empty() => self.redrive = None,
            "RedrivePolicy" => self.redrive = Some(Redrive::parse(value)?),
            "FifoQueue" | "ContentBasedDeduplication" | "DeduplicationScope" | "FifoThroughputLimit" => {
                self.fifo.as_mut().ok_or_else(|| unknown(name))?.set(name, value)?;
            }
            _ if WITHOUT_EFFECT.contains(&name) => {
                if name == "RedriveAllowPolicy" && !value.is_empty() {
                    check_allow_policy(value)?;
                }
                if value.is_empty() {
                    self.other.remove(name);
                } else {
                    self.other.insert(name.into(), value.into());
                }
            }
            _ => return Err(unknown(name)),
        }
        Ok(())
    }

    /// All of them, as SQS shows them.
    pub(crate) fn show(&self) -> BTreeMap<String, String> {
        let mut shown = self.other.clone();
        let mut show = |name: &str, value: String| shown.insert(name.to_owned(), value);
        show("VisibilityTimeout", self.visibility.to_string());
        show("MessageRetentionPeriod", self.retention.to_string());
        show("DelaySeconds", self.delay.to_string());
        show("ReceiveMessageWaitTimeSeconds", self.wait.to_string());
        show("MaximumMessageSize", self.max_size.to_string());
        if let Some(redrive) = &self.redrive {
            show("RedrivePolicy", redrive.text.clone());
        }
        if let Some(fifo) = &self.fifo {
            let either = |is: bool, yes: &str, no: &str| if is { yes.to_owned() } else { no.to_owned() };
            show("FifoQueue", "true".to_owned());
            show("ContentBasedDeduplication", fifo.content_based.to_string());
            show("DeduplicationScope", either(fifo.by_group, "messageGroup", "queue"));
            show("FifoThroughputLimit", either(fifo.limit_by_group, "perMessageGroupId", "perQueue"));
        }
        shown
    }
}

impl Attributes {
    /// Whether a queue of this ARN may name the one with these attributes as its dead-letter queue
    /// (`RedriveAllowPolicy`).
    pub(crate) fn allows_redrive_from(&self, arn: &str) -> bool {
        let policy = self.other.get("RedriveAllowPolicy").and_then(|text| serde_json::from_str(text).ok());
        let policy: Value = policy.unwrap_or_default();
        match policy["redrivePermission"].as_str() {
            Some("denyAll") => false,
            Some("byQueue") => policy["sourceQueueArns"]
                .as_array()
                .is_some_and(|arns| arns.iter().any(|allowed| allowed == arn)),
            _ => true,
        }
    }

    /// Refuses what is right attribute by attribute, and not together.
    pub(crate) fn check_together(&self) -> Result<(), Error> {
        match &self.fifo {
            Some(fifo) if fifo.limit_by_group && !fifo.by_group => {
                Err(invalid_attribute("FifoThroughputLimit"))
            }
            _ => Ok(()),
        }
    }
}

impl Fifo {
    fn set(&mut self, name: &str, value: &str) -> Result<(), Error> {
        let one_of = |yes: &str, no: &str| match value {
            _ if value == yes => Ok(true),
            _ if value == no => Ok(false),
            _ => Err(invalid_attribute(name)),
        };
        match name {
            "ContentBasedDeduplication" => self.content_based = one_of("true", "false")?,
            "DeduplicationScope" => self.by_group = one_of("messageGroup", "queue")?,
            "FifoThroughputLimit" => self.limit_by_group = one_of("perMessageGroupId", "perQueue")?,
            // What kind a queue is stays as it was created.
            _ if value == "true" => {}
            _ => {
                return Err(Error::new(
                    ErrorKind::InvalidAttributeValue,
                    "Invalid value for the parameter FifoQueue. Reason: Modifying queue type is not supported.",
                ));
            }
        }
        Ok(())
    }
}

impl Redrive {
    fn parse(text: &str) -> Result<Self, Error> {
        let invalid = |reason: &str| {
            let value = format!("Value {text} for parameter RedrivePolicy is invalid. Reason: {reason}");
            Error::new(ErrorKind::InvalidParameter, value)
        };
        let policy: Value =
            serde_json::from_str(text).map_err(|_| invalid("Redrive policy is not a valid JSON map."))?;
        let Some(target_arn) = policy["deadLetterTargetArn"].as_str() else {
            return Err(invalid("Redrive policy does not contain mandatory attribute: deadLetterTargetArn."));
        };
        if !target_arn.starts_with("arn:") || target_arn.split(':').count() != 6 {
            return Err(invalid("Invalid value for deadLetterTargetArn."));
        }
        // SQS takes the count as a number and as a text.
        let count = match &policy["maxReceiveCount"] {
            Value::Null => {
                return Err(invalid("Redrive policy does not contain mandatory attribute: maxReceiveCount."));
            }
            Value::String(text) => text.parse().ok(),
            value => value.as_u64(),
        };
        match count.and_then(|count| u32::try_from(count).ok()) {
            Some(count @ 1..=1_000) => {
                Ok(Self { target_arn: target_arn.into(), max_receive_count: count, text: text.into() })
            }
            _ => {
                Err(invalid("Invalid value for maxReceiveCount: must be between 1 and 1000, both inclusive."))
            }
        }
    }
}

/// What SQS takes as a `RedriveAllowPolicy`: one of three permissions, and sources with one of them only.
fn check_allow_policy(text: &str) -> Result<(), Error> {
    let refused = |reason: &str| Err(Error::invalid_value(text, "RedriveAllowPolicy", reason));
    let Ok(policy @ Value::Object(_)) = serde_json::from_str::<Value>(text) else {
        return refused(
            "Amazon SQS can't create the redrive allow policy, as it's in an unsupported format.",
        );
    };
    let sources = match &policy["sourceQueueArns"] {
        Value::Null => 0,
        Value::Array(arns) if arns.iter().all(Value::is_string) => arns.len(),
        _ => {
            return refused(
                "Amazon SQS can't create the redrive allow policy, as it's in an unsupported format.",
            );
        }
    };
    match (policy["redrivePermission"].as_str(), sources) {
        (Some("allowAll" | "denyAll"), 0) | (Some("byQueue"), 1..=10) => Ok(()),
        (Some("allowAll" | "denyAll"), _) => {
            refused("The sourceQueueArns are for the permission byQueue only.")
        }
        (Some("byQueue"), 0) => refused("The permission byQueue needs one or more sourceQueueArns."),
        (Some("byQueue"), _) => refused("There can be 10 sourceQueueArns at most."),
        _ => refused("The redrivePermission has to be allowAll, denyAll or byQueue."),
    }
}

/// Refuses both kinds of encryption at once.
pub(crate) fn check_encryption(changes: &[(&str, &str)]) -> Result<(), Error> {
    let has_key = changes.iter().any(|(name, value)| *name == "KmsMasterKeyId" && !value.is_empty());
    if has_key && changes.contains(&("SqsManagedSseEnabled", "true")) {
        let text = "You can use one type of server-side encryption (SSE) at one time. You can either enable KMS SSE or \
                    SQS SSE.";
        return Err(Error::new(ErrorKind::InvalidAttributeName, text));
    }
    Ok(())
}

fn number(name: &str, value: &str, least: u32, most: u32) -> Result<u32, Error> {
    // u32's own parser would take a plus sign; SQS does not.
    let digits = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
    match value.parse() {
        Ok(number) if digits && (least..=most).contains(&number) => Ok(number),
        _ => Err(invalid_attribute(name)),
    }
}

fn invalid_attribute(name: &str) -> Error {
    Error::new(ErrorKind::InvalidAttributeValue, format!("Invalid value for the parameter {name}."))
}

pub(crate) fn unknown(name: &str) -> Error {
    Error::new(ErrorKind::InvalidAttributeName, format!("Unknown Attribute {name}."))
}

/// The names that `GetQueueAttributes` knows besides those that can be set.
const COMPUTED: [&str; 6] = [
    "QueueArn",
    "ApproximateNumberOfMessages",
    "ApproximateNumberOfMessagesNotVisible",
    "ApproximateNumberOfMessagesDelayed",
    "CreatedTimestamp",
    "LastModifiedTimestamp",
];

pub(crate) fn is_known(name: &str) -> bool {
    let settable = [
        "VisibilityTimeout",
        "MessageRetentionPeriod",
        "DelaySeconds",
        "ReceiveMessageWaitTimeSeconds",
        "MaximumMessageSize",
        "RedrivePolicy",
        "FifoQueue",
        "ContentBasedDeduplication",
        "DeduplicationScope",
        "FifoThroughputLimit",
    ];
    name == "All" || settable.contains(&name) || COMPUTED.contains(&name) || WITHOUT_EFFECT.contains(&name)
}
