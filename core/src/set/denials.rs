use crate::call::LeaseKey;
use crate::set::Event;
use crate::time::{Moment, NANOS_PER_SEC};

/// Makes one event of what many leases would say at once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Denials {
    untold: Option<(LeaseKey, u32)>,
    told_at: Option<Moment>,
}

const BETWEEN: u64 = 30 * NANOS_PER_SEC;

impl Denials {
    pub(crate) fn note(&mut self, key: LeaseKey) {
        let (key, leases) = self.untold.unwrap_or((key, 0));
        self.untold = Some((key, leases.saturating_add(1)));
    }

    /// When the next event is due; the origin for at once.
    #[inline]
    pub(crate) fn due_at(&self) -> Option<Moment> {
        self.untold?;
        Some(self.told_at.map_or(Moment::ORIGIN, |told_at| told_at.plus_nanos(BETWEEN)))
    }

    #[inline]
    pub(crate) fn take(&mut self, now: Moment) -> Option<Event> {
        if self.due_at()? > now {
            return None;
        }
        let (key, leases) = self.untold.take()?;
        self.told_at = Some(now);
        Some(Event::Denied { key, leases })
    }
}
