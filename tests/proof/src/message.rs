//! One message as SQS keeps it, exactly, on a standard queue.

use crate::held::{Ask, Time, Why};

pub(crate) const SEC: Time = 1_000_000_000;
const TWELVE_HOURS: Time = 43_200 * SEC;
/// More receives than a run can have.
const RECEIVES: usize = 8;

/// A message, and how often it was received.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Message {
    /// From when on SQS hands it out.
    pub visible_at: Time,
    /// The handle of its latest receive; 0 before the first.
    pub handle: u8,
    /// It is gone.
    pub is_deleted: bool,
    /// When the receive request of each handle came: SQS counts the 12 hours from there.
    requested: [Time; RECEIVES],
}

impl Message {
    pub(crate) fn new(now: Time) -> Self {
        Self { visible_at: now, handle: 0, is_deleted: false, requested: [0; RECEIVES] }
    }

    pub(crate) fn can_be_received(&self, now: Time) -> bool {
        !self.is_deleted && now >= self.visible_at && usize::from(self.handle) + 1 < RECEIVES
    }

    /// Hands it out, for a request that came at `requested`.
    pub(crate) fn receive(&mut self, timeout: u32, requested: Time, now: Time) -> u8 {
        self.handle += 1;
        self.requested[usize::from(self.handle)] = requested;
        self.visible_at = now + Time::from(timeout) * SEC;
        self.handle
    }

    /// A call arrives. An old handle acts all the same, on whoever has the message now; whether a delete by one takes
    /// effect nobody knows beforehand: `is_in_vain` says.
    pub(crate) fn take(&mut self, handle: u8, ask: Ask, is_in_vain: bool, now: Time) -> Result<(), Why> {
        let limit = self.requested[usize::from(handle)] + TWELVE_HOURS;
        match ask {
            Ask::Delete if self.is_deleted => Ok(()),
            _ if self.is_deleted || now > limit => Err(Why::Gone),
            Ask::Delete => {
                self.is_deleted = !is_in_vain;
                Ok(())
            }
            Ask::Extend(by) | Ask::Release(by) => {
                let until = now + Time::from(by) * SEC;
                if until > limit {
                    return Err(Why::Limit);
                }
                self.visible_at = until;
                Ok(())
            }
        }
    }
}
