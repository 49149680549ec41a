//! Everything that can happen: the lease, SQS, a network, two consumers, a clock.

use std::marker::PhantomData;

use stateright::{Model, Property};

use crate::consumer::{Consumer, Want};
use crate::held::{Ask, Held, Time, Why};
use crate::message::{Message, SEC};
use crate::properties::Broken;
use crate::setups::{Network, Setup};

/// Something on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Packet<Id> {
    /// Whose it is.
    pub of: usize,
    /// What it is about.
    pub handle: u8,
    /// It is there by then, or never.
    pub until: Time,
    /// What it says.
    pub says: Says<Id>,
}

/// What is on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Says<Id> {
    /// A call.
    Call(Id, Ask),
    /// Its answer; whether it is the only one.
    Answer(Id, Result<(), Why>, bool),
    /// A message, for a request that was sent then.
    Delivery(Time),
}

/// A step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The clock goes on, to whatever comes next.
    Time,
    /// A packet arrives.
    Arrives(usize),
    /// A delete with an old handle arrives, and SQS only says that it was done.
    ArrivesInVain(usize),
    /// A packet is lost.
    IsLost(usize),
    /// An answer arrives, and will come once more.
    ArrivesTwice(usize),
    /// A call is refused by a server in trouble.
    IsRefused(usize, Why),
    /// A handler asks for something.
    Wants(usize, Want),
    /// A handler asks for an extension.
    WantsMore(usize, u32),
    /// A consumer gets the message.
    Receives(usize),
    /// A consumer stands still, and perhaps its clock does.
    Pauses(usize, bool),
    /// It goes on.
    Resumes(usize),
    /// It goes on with an answer that waits.
    ResumesWith(usize, usize),
}

/// All there is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct World<L: Held> {
    /// The true time.
    pub now: Time,
    /// The message.
    pub message: Message,
    /// The consumers.
    pub consumers: [Consumer<L>; 2],
    /// What is on its way.
    pub wire: Vec<Packet<L::Id>>,
    /// How many faults and pauses may still come.
    pub left: (u8, u8),
    /// A rule that was broken.
    pub broken: Option<Broken>,
}

impl<L: Held> World<L> {
    /// What has waited for it is there now, or never.
    fn resumes(&mut self, of: usize) {
        let now = self.now;
        self.consumers[of].resumes(now);
        for packet in self.wire.iter_mut().filter(|packet| packet.of == of) {
            packet.until = packet.until.max(now);
        }
    }
}

/// A setup, for one build of the lease.
#[derive(Clone, Debug)]
pub struct Checked<L> {
    /// What may happen.
    pub setup: Setup,
    of: PhantomData<fn() -> L>,
}

/// When the first message is received. Far enough from the origin for a request 12 hours before.
pub const START: Time = 50_000 * SEC;

impl<L: Held> Checked<L> {
    /// All runs of this setup.
    pub fn new(setup: Setup) -> Self {
        Self { setup, of: PhantomData }
    }

    fn receives(&self, world: &mut World<L>, of: usize) {
        let now = world.now;
        let requested = now - self.setup.requested_before;
        let handle = world.message.receive(self.setup.terms.timeout, requested - self.setup.skew, now);
        let until = now + self.setup.way_back;
        world.wire.push(Packet { of, handle, until, says: Says::Delivery(requested) });
    }

    /// Drives a consumer; what it sends goes on its way.
    fn drive(&self, world: &mut World<L>, of: usize) -> Result<(), Broken> {
        let now = world.now;
        let consumer = &mut world.consumers[of];
        let (handle, behind) = (consumer.handle, consumer.behind);
        let held_until = consumer.lease.as_ref().map_or(0, |lease| lease.held_until() + behind);
        for (id, ask, wanted_by) in consumer.drive(now)? {
            let message = &world.message;
            let is_handed_on = handle != message.handle || now >= message.visible_at;
            if is_handed_on && !message.is_deleted {
                return Err(Broken::SentWithAnOldHandle);
            }
            let until = match self.setup.network {
                Network::Good => now,
                Network::ByAnswerBy => wanted_by + behind - 1,
                Network::BeforeTheEnd => held_until - 1,
            };
            world.wire.push(Packet { of, handle, until, says: Says::Call(id, ask) });
        }
        Ok(())
    }

    fn arrives(&self, world: &mut World<L>, index: usize, is_in_vain: bool) -> Result<(), Broken> {
        let now = world.now;
        let packet = world.wire.remove(index);
        let Packet { of, handle, .. } = packet;
        match packet.says {
            Says::Call(id, ask) => {
                let consumer = &mut world.consumers[of];
                if consumer.handle == handle {
                    match ask {
                        Ask::Extend(_) if consumer.released => return Err(Broken::ReleaseUndone),
                        Ask::Release(_) => consumer.released = true,
                        _ => {}
                    }
                }
                let answer = world.message.take(handle, ask, is_in_vain, now);
                self.answers(world, packet, id, answer);
                Ok(())
            }
            Says::Answer(id, answer, _) => {
                world.consumers[of].answered(handle, id, answer, now);
                self.drive(world, of)
            }
            Says::Delivery(requested) => {
                world.consumers[of].received(&self.setup, handle, requested, now);
                self.drive(world, of)
            }
        }
    }

    fn answers(&self, world: &mut World<L>, call: Packet<L::Id>, id: L::Id, answer: Result<(), Why>) {
        let until = world.now + self.setup.late;
        world.wire.push(Packet { until, says: Says::Answer(id, answer, true), ..call });
    }

    /// The next instant: a tick, or sooner where somebody wants to be woken. None while something has to come first.
    fn next(&self, world: &World<L>) -> Option<Time> {
        let tick = (world.now / self.setup.tick + 1) * self.setup.tick;
        let wake_ups = world.consumers.iter().filter_map(Consumer::wake_up);
        let next = wake_ups.fold(tick, Time::min);
        let waits = |packet: &Packet<L::Id>| {
            let is_out = matches!(packet.says, Says::Call(..));
            // What comes in waits for one that stands still.
            packet.until < next && (is_out || world.consumers[packet.of].paused.is_none())
        };
        let is_paused_enough = |consumer: &Consumer<L>| {
            consumer.paused.is_some_and(|(since, _)| next - since > self.setup.pauses.1)
        };
        let is_free = !world.wire.iter().any(waits) && !world.consumers.iter().any(is_paused_enough);
        (is_free && world.now < START + self.setup.until.1).then_some(next)
    }

    fn step(&self, world: &mut World<L>, step: Step) -> Result<(), Broken> {
        let now = world.now;
        match step {
            Step::Time => {
                world.now = self.next(world).unwrap_or(now);
                for of in 0..2 {
                    let is_due = world.consumers[of].wake_up().is_some_and(|at| at <= world.now);
                    if is_due {
                        self.drive(world, of)?;
                    }
                }
            }
            Step::Arrives(index) => self.arrives(world, index, false)?,
            Step::ArrivesInVain(index) => self.arrives(world, index, true)?,
            Step::ArrivesTwice(index) => {
                world.left.0 -= 1;
                let mut again = world.wire[index];
                if let Says::Answer(_, _, is_only) = &mut again.says {
                    *is_only = false;
                }
                world.wire.insert(index + 1, again);
                self.arrives(world, index, false)?;
            }
            Step::IsLost(index) => {
                world.left.0 -= 1;
                world.wire.remove(index);
            }
            Step::IsRefused(index, why) => {
                world.left.0 -= 1;
                let packet = world.wire.remove(index);
                if let Says::Call(id, _) = packet.says {
                    self.answers(world, packet, id, Err(why));
                }
            }
            Step::Wants(of, want) => {
                world.consumers[of].asks(want, now)?;
                self.drive(world, of)?;
            }
            Step::WantsMore(of, by) => {
                world.consumers[of].asks_for_more(by, now);
                self.drive(world, of)?;
            }
            Step::Receives(of) => self.receives(world, of),
            Step::Pauses(of, clock_too) => {
                world.left.1 -= 1;
                world.consumers[of].paused = Some((now, clock_too));
            }
            Step::Resumes(of) => {
                world.resumes(of);
                self.drive(world, of)?;
            }
            Step::ResumesWith(of, index) => {
                world.resumes(of);
                self.arrives(world, index, false)?;
            }
        }
        Ok(())
    }
}

impl<L: Held> Model for Checked<L> {
    type State = World<L>;
    type Action = Step;

    fn init_states(&self) -> Vec<World<L>> {
        let mut world = World {
            now: START,
            message: Message::new(START),
            consumers: [Consumer::new(), Consumer::new()],
            wire: Vec::new(),
            left: (self.setup.faults, self.setup.pauses.0),
            broken: None,
        };
        self.receives(&mut world, 0);
        vec![world]
    }

    fn actions(&self, world: &World<L>, steps: &mut Vec<Step>) {
        if world.broken.is_some() {
            return;
        }
        let may_fail = world.left.0 > 0;
        for (index, packet) in world.wire.iter().enumerate() {
            let consumer = &world.consumers[packet.of];
            if let Says::Call(_, ask) = packet.says {
                steps.push(Step::Arrives(index));
                if ask == Ask::Delete && packet.handle != world.message.handle {
                    steps.push(Step::ArrivesInVain(index));
                }
                if may_fail {
                    steps.push(Step::IsLost(index));
                    steps.extend(self.setup.refusals.iter().map(|&why| Step::IsRefused(index, why)));
                }
            } else if consumer.paused.is_none() {
                steps.push(Step::Arrives(index));
                if may_fail {
                    steps.push(Step::IsLost(index));
                    if matches!(packet.says, Says::Answer(_, _, true)) {
                        steps.push(Step::ArrivesTwice(index));
                    }
                }
            } else if matches!(packet.says, Says::Answer(..)) {
                steps.push(Step::ResumesWith(packet.of, index));
            }
        }
        for (of, consumer) in world.consumers.iter().enumerate() {
            let is_live = consumer.is_live();
            if consumer.paused.is_some() {
                steps.push(Step::Resumes(of));
            } else if is_live {
                if consumer.want == Want::Work && consumer.handle <= self.setup.asking {
                    steps.extend(self.setup.wants.iter().map(|&want| Step::Wants(of, want)));
                    let by_hand = self.setup.by_hand.iter().filter(|_| !consumer.by_hand);
                    steps.extend(by_hand.map(|&by| Step::WantsMore(of, by)));
                }
                if world.left.1 > 0 && consumer.handle <= self.setup.asking {
                    steps.extend([Step::Pauses(of, false), Step::Pauses(of, true)]);
                }
            } else {
                let is_coming = |it: &Packet<L::Id>| it.of == of && matches!(it.says, Says::Delivery(_));
                let may_receive = world.now <= START + self.setup.until.0;
                if may_receive
                    && world.message.can_be_received(world.now)
                    && !world.wire.iter().any(is_coming)
                {
                    steps.push(Step::Receives(of));
                }
            }
        }
        if self.next(world).is_some() {
            steps.push(Step::Time);
        }
    }

    fn next_state(&self, world: &World<L>, step: Step) -> Option<World<L>> {
        let mut world = world.clone();
        if let Err(broken) = self.step(&mut world, step) {
            world.broken = Some(broken);
        }
        // Of packets on their way nobody knows which is first.
        world.wire.sort_by_key(|packet| (packet.of, packet.handle, packet.until, order(&packet.says)));
        Some(world)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        crate::properties::properties()
    }
}

fn order<Id>(says: &Says<Id>) -> (u8, Option<Ask>, bool) {
    match says {
        Says::Delivery(_) => (0, None, false),
        Says::Call(_, ask) => (1, Some(*ask), false),
        Says::Answer(_, answer, is_only) => (2, None, answer.is_ok() != *is_only),
    }
}
