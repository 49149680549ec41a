//! A source whose receives are scripted.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sqs_lease_driver::{Delivery, Keeper, Receipt, Received, Source, Visibility};

use crate::virtual_time::VirtualTime;

/// Receives by a script; after it long polls of 20 s that bring nothing. Clones share the script.
#[derive(Clone, Debug)]
pub struct ScriptedSource {
    time: VirtualTime,
    keeper: Keeper,
    timeout: Visibility,
    inner: Arc<Mutex<Inner>>,
}

#[derive(Debug, Default)]
struct Inner {
    script: VecDeque<(Duration, Brings)>,
    receives: Vec<String>,
}

/// What a receive brings.
#[derive(Clone, Debug)]
pub enum Brings {
    /// Messages: `a`, or `G/a` for one of the group `G`. The same name is the same message.
    Messages(Vec<&'static str>),
    /// A failure that may pass.
    Transient,
    /// A failure that only a person can mend.
    Denied,
}

/// A scripted failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failed {
    is_transient: bool,
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_transient { "the network is down" } else { "no such queue" })
    }
}

impl std::error::Error for Failed {}

impl ScriptedSource {
    /// A source with a visibility timeout.
    pub fn new(time: VirtualTime, keeper: Keeper, timeout: Visibility) -> Self {
        Self { time, keeper, timeout, inner: Arc::default() }
    }

    /// Scripts the next receives, and how long each takes. A message has the receive count that follows a hash: `a#3`,
    /// and of a queue with a redrive policy also its `maxReceiveCount`: `a#3!5`.
    pub fn then(&self, script: impl IntoIterator<Item = (Duration, Brings)>) {
        self.with(|inner| inner.script.extend(script));
    }

    /// The receives so far: `0 up to 10`.
    pub fn receives(&self) -> Vec<String> {
        self.with(|inner| inner.receives.clone())
    }

    fn hold(&self, name: &'static str) -> Delivery<&'static str> {
        let (name, most) =
            name.split_once('!').map_or((name, None), |(name, most)| (name, most.parse().ok()));
        let (name, count) = name.split_once('#').unwrap_or((name, "1"));
        let (group, name) = name.split_once('/').map_or((None, name), |(group, name)| (Some(group), name));
        let received = Received::new(self.keeper.now(), self.timeout);
        let receipt = Receipt::new(format!("SECRETSECRETSECRET-{name}"), received)
            .message_id(name)
            .receive_count(count.parse().unwrap_or(0));
        let receipt = most.map_or(receipt.clone(), |most| receipt.max_receive_count(most));
        self.keeper.hold(group.map_or(receipt.clone(), |group| receipt.group(group)), name)
    }

    fn with<R>(&self, work: impl FnOnce(&mut Inner) -> R) -> R {
        work(&mut self.inner.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Source for ScriptedSource {
    type Message = &'static str;
    type Error = Failed;

    fn keeper(&self) -> &Keeper {
        &self.keeper
    }

    async fn receive(&self, max: u8) -> Result<Vec<Delivery<&'static str>>, Failed> {
        let at = self.time.millis();
        let then = self.with(|inner| {
            inner.receives.push(format!("{at} up to {max}"));
            inner.script.pop_front()
        });
        let (after, brings) = then.unwrap_or((Duration::from_secs(20), Brings::Messages(Vec::new())));
        self.time.sleep(after).await;
        match brings {
            Brings::Messages(names) => Ok(names.into_iter().map(|name| self.hold(name)).collect()),
            Brings::Transient => Err(Failed { is_transient: true }),
            Brings::Denied => Err(Failed { is_transient: false }),
        }
    }

    fn is_transient(&self, error: &Failed) -> bool {
        error.is_transient
    }

    fn name(&self) -> &'static str {
        "jobs"
    }
}
