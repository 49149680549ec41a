//! What is compared: ours, and the three ways in which leases are kept by hand.
//!
//! The baselines are what people write, each on its own page, with nothing of ours inside and nothing left out.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::null::Null;

pub mod batch_task;
pub mod delay_queue;
pub mod ours;
pub mod task_each;

/// Whose time it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// Tokio's, which jumps to the next timer when nothing can go on.
    Paused,
    Real,
}

/// Keeps deliveries by extending each in the middle of its timeout. Everything happens inside a Tokio runtime.
pub trait Variant: Sized + 'static {
    /// What it keeps of a receipt handle. Making it is the receiver's work and not counted as insert.
    type Handle: From<String> + Send;
    /// Dropped, the delivery is kept no longer.
    type Guard: Send + 'static;

    fn start(transport: Arc<Null>, timeout: Duration, clock: Clock) -> Self;

    /// Keeps what one receive brought, at most ten.
    fn keep(
        &self,
        handles: impl Iterator<Item = Self::Handle>,
        received: Instant,
        guards: &mut Vec<Self::Guard>,
    );

    /// How often it was woken; `None` where that is not counted.
    fn wakes(&self) -> Option<u64> {
        None
    }
}

/// Calls something for a variant by its name.
macro_rules! with_variant {
    ($name:expr, $measure:ident ( $($argument:expr),* )) => {
        match $name {
            "ours" => $measure::<$crate::variants::ours::Ours>($($argument),*),
            "A" => $measure::<$crate::variants::task_each::A>($($argument),*),
            "B" => $measure::<$crate::variants::batch_task::B>($($argument),*),
            "C" => $measure::<$crate::variants::delay_queue::C>($($argument),*),
            other => panic!("{other:?} is no variant"),
        }
    };
}
pub(crate) use with_variant;
