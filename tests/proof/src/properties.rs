//! What always holds, and what must be seen at some time for that to mean anything.

use stateright::Property;

use crate::consumer::{Consumer, Want};
use crate::held::Held;
use crate::message::{Message, SEC};
use crate::model::{Checked, START, World};
use crate::setups::Network;

/// The rules of what a lease sends, each to be broken by nobody.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Broken {
    /// An extension was sent although a release was asked for.
    ExtendedAfterRelease,
    /// An extension was sent while a delete was under way.
    ExtendedDuringDelete,
    /// A release was sent while an extension was under way.
    ReleaseOvertook,
    /// SQS took an extension after a release of the same delivery.
    ReleaseUndone,
    /// A second call of a kind was sent while the first was under way.
    SentTwice,
    /// More was asked for than the limit leaves.
    BeyondTheLimit,
    /// A retry in the last moments, or too many.
    RetriedWithoutBound,
    /// Extensions go on, and the delete that is wanted is not tried any more.
    DeleteForgotten,
    /// It was over, and something else than that was told first.
    LossNotTold,
    /// Something was sent although the lease was over.
    SentAfterTheEnd,
    /// Something was sent with a handle that SQS could have handed on.
    SentWithAnOldHandle,
    /// The end was told twice, or late input brought something forth.
    SpokeAfterTheEnd,
    /// A settle was refused although no end was told.
    SettleRefused,
    /// Draining does not end.
    NeverDrained,
    /// No wake-up, one that has passed, or one after the end.
    WaitsForEver,
}

/// Two handlers never work on the message at once.
pub const ONE_HOLDER: &str = "never two holders";
/// While a handler believes that it has the message, SQS hides it.
pub const HIDDEN: &str = "what is held is hidden";
/// A loss is told before SQS can hand the message on.
pub const TOLD: &str = "a loss is told in time";
/// In the end everything is over.
pub const ENDS: &str = "every lease ends";

/// On a good network a handler has the message up to the limit, less a guard and what is not a whole second.
pub const KEPT: &str = "nothing is lost on a good network";

/// A handle acts on whoever has the message now.
pub const OLD_HANDLE: &str = "no handle that SQS may have handed on";

/// A message that was given back stays in the queue.
pub const NOT_UNDONE: &str = "a release is not undone";

/// A rule of what is sent, by what breaks it.
pub const RULES: &[(&str, Broken)] = &[
    ("no extension after a release", Broken::ExtendedAfterRelease),
    ("no extension while a delete is under way", Broken::ExtendedDuringDelete),
    ("a release waits for an extension", Broken::ReleaseOvertook),
    (NOT_UNDONE, Broken::ReleaseUndone),
    ("one call of a kind at a time", Broken::SentTwice),
    ("nothing beyond the limit", Broken::BeyondTheLimit),
    ("retries have a bound", Broken::RetriedWithoutBound),
    ("a delete is not forgotten", Broken::DeleteForgotten),
    ("a loss is told before anything else", Broken::LossNotTold),
    ("nothing is sent after the end", Broken::SentAfterTheEnd),
    (OLD_HANDLE, Broken::SentWithAnOldHandle),
    ("the end is told once", Broken::SpokeAfterTheEnd),
    ("a settle is taken until the end is told", Broken::SettleRefused),
    ("draining ends", Broken::NeverDrained),
    ("nothing waits without a wake-up", Broken::WaitsForEver),
];

fn is_handed_on<L: Held>(message: &Message, consumer: &Consumer<L>, now: u64) -> bool {
    !message.is_deleted && (message.handle != consumer.handle || now >= message.visible_at)
}

pub(crate) fn properties<L: Held>() -> Vec<Property<Checked<L>>> {
    let mut all = vec![
        Property::always(ONE_HOLDER, |_, world: &World<L>| {
            world.consumers.iter().filter(|it| it.believes(world.now)).count() < 2
        }),
        Property::always(HIDDEN, |_, world: &World<L>| {
            let holders = world.consumers.iter().filter(|it| it.believes(world.now));
            holders.into_iter().all(|it| !is_handed_on(&world.message, it, world.now))
        }),
        Property::always(TOLD, |_, world: &World<L>| {
            let mut working = world.consumers.iter().filter(|it| {
                it.is_live() && it.paused.is_none() && matches!(it.want, Want::Work | Want::Delete)
            });
            working.all(|it| !is_handed_on(&world.message, it, world.now))
        }),
        Property::always(ENDS, |checked: &Checked<L>, world: &World<L>| {
            world.now < START + checked.setup.until.1 || !world.consumers.iter().any(Consumer::is_live)
        }),
        Property::always(KEPT, |checked: &Checked<L>, world: &World<L>| {
            checked.setup.network != Network::Good
                || world.consumers.iter().all(|it| {
                    let limit = it.lease.as_ref().map_or(0, Held::limit);
                    it.told != Some(true) || world.now + 2 * SEC >= limit
                })
        }),
        Property::sometimes("both consumers have had it", |_, world: &World<L>| {
            world.consumers.iter().all(|it| it.lease.is_some())
        }),
        Property::sometimes("a loss is told", |_, world: &World<L>| {
            world.consumers.iter().any(|it| it.told == Some(true))
        }),
    ];
    // One function for each: a property carries no data.
    macro_rules! rule {
        ($($index:literal)*) => {
            $(all.push(Property::always(RULES[$index].0, |_, world: &World<L>| {
                world.broken != Some(RULES[$index].1)
            }));)*
        };
    }
    rule!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14);
    all
}
