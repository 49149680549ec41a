use std::collections::BTreeMap;
use std::time::Duration;

use crate::model::{Change, Delivery, Entry, MoveTask, NewMessage, Outcomes, Receive, Sent};

macro_rules! actions {
    ($($name:ident,)*) => {
        /// The operations of SQS that the simulated one knows, as a fault names them.
        ///
        /// ```
        /// use sqs_lease_sim::{Action, Fault, Server};
        ///
        /// let server = Server::builder().start()?;
        /// server.inject(Fault::throttle().on(Action::ReceiveMessage).first(3));
        /// assert_eq!(server.calls(Action::ReceiveMessage), 0);
        /// assert_eq!(Action::parse("ReceiveMessage"), Some(Action::ReceiveMessage));
        /// # Ok::<(), std::io::Error>(())
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        #[allow(missing_docs, reason = "these are the names of SQS's operations; SQS documents them")]
        pub enum Action {
            $($name,)*
        }

        impl Action {
            /// The action of this name, as the header `x-amz-target` has it behind `AmazonSQS.`.
            pub fn parse(name: &str) -> Option<Self> {
                match name {
                    $(stringify!($name) => Some(Self::$name),)*
                    _ => None,
                }
            }

            /// Its name, as SQS writes it.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$name => stringify!($name),)*
                }
            }
        }
    };
}

actions! {
    CreateQueue,
    GetQueueUrl,
    ListQueues,
    DeleteQueue,
    GetQueueAttributes,
    SetQueueAttributes,
    TagQueue,
    UntagQueue,
    ListQueueTags,
    PurgeQueue,
    SendMessage,
    SendMessageBatch,
    ReceiveMessage,
    DeleteMessage,
    DeleteMessageBatch,
    ChangeMessageVisibility,
    ChangeMessageVisibilityBatch,
    ListDeadLetterSourceQueues,
    StartMessageMoveTask,
    CancelMessageMoveTask,
    ListMessageMoveTasks,
}

/// A request, decoded.
pub(crate) struct Request {
    pub(crate) action: Action,
    /// The queue's name or URL; empty where the operation has none.
    pub(crate) queue: String,
    pub(crate) what: What,
}

/// What a request asks for, besides its queue.
pub(crate) enum What {
    Create { attributes: Vec<(String, String)>, tags: BTreeMap<String, String> },
    Url { owner: Option<String> },
    List { prefix: String, page: Page },
    Sources(Page),
    StartMove { source: String, destination: Option<String>, per_second: Option<i32> },
    CancelMove(String),
    Moves(String, Option<i32>),
    DeleteQueue,
    Attributes { names: Vec<String> },
    SetAttributes(Vec<(String, String)>),
    Tag(BTreeMap<String, String>),
    Untag(Vec<String>),
    Tags,
    Purge,
    Send(NewMessage),
    SendBatch(Vec<Entry<NewMessage>>),
    Receive(Receive),
    Delete(String),
    DeleteBatch(Vec<Entry<String>>),
    Change(String, i32),
    ChangeBatch(Vec<Entry<Change>>),
}

/// Which part of a list of URLs.
pub(crate) struct Page {
    pub(crate) max: Option<usize>,
    pub(crate) after: Option<String>,
}

/// What SQS answers.
pub(crate) enum Answer {
    Done,
    Url(String),
    Urls(Vec<String>, Option<String>),
    Sources(Vec<String>, Option<String>),
    MoveStarted(String),
    MoveCancelled(u64),
    Moves(Vec<MoveTask>, Duration),
    Attributes(BTreeMap<String, String>),
    Tags(BTreeMap<String, String>),
    Sent(Sent),
    SentBatch(Outcomes<Sent>),
    Received(Vec<Delivery>),
    Batch(Outcomes<()>),
}

/// Which attributes a receive request asked to see; SQS shows no others.
#[derive(Default)]
pub(crate) struct Wanted {
    pub(crate) system: Vec<String>,
    pub(crate) own: Vec<String>,
}

impl Wanted {
    pub(crate) fn wants_system(&self, name: &str) -> bool {
        self.system.iter().any(|wanted| wanted == "All" || wanted == name)
    }

    /// `All`, `*`, `.*`, a name, or the beginning of one before `.*`.
    pub(crate) fn wants_own(&self, name: &str) -> bool {
        self.own.iter().any(|wanted| match wanted.strip_suffix(".*") {
            _ if wanted == "All" || wanted == "*" || wanted == name => true,
            Some(prefix) => name.starts_with(prefix),
            None => false,
        })
    }
}
