//! A world with a keeper in it.

use std::time::Duration;

use sqs_lease_driver::{Delivery, Keeper, Policy, Receipt, Received, Settings, Visibility};
use sqs_lease_suite::scripted::ScriptedQueue;
use sqs_lease_suite::virtual_time::{VirtualTime, World};

pub(crate) fn secs(secs: u32) -> Visibility {
    Visibility::new(secs).unwrap()
}

pub(crate) const fn seconds(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

/// A world with a keeper whose loop runs, and a queue.
pub(crate) struct Scene {
    pub(crate) world: World,
    pub(crate) time: VirtualTime,
    pub(crate) queue: ScriptedQueue,
    pub(crate) keeper: Keeper,
}

pub(crate) fn no_guard() -> Settings {
    Settings::new().policy(Policy::new().guard(Duration::ZERO))
}

pub(crate) fn scene() -> Scene {
    scene_with(no_guard(), |queue| queue)
}

pub(crate) fn scene_with(settings: Settings, queue: impl FnOnce(ScriptedQueue) -> ScriptedQueue) -> Scene {
    let scene = idle_scene(settings, queue);
    scene.world.spawner().spawn(scene.keeper.run());
    scene
}

/// The same without a task that runs the loop.
pub(crate) fn idle_scene(settings: Settings, queue: impl FnOnce(ScriptedQueue) -> ScriptedQueue) -> Scene {
    let world = World::new();
    let time = world.time();
    let queue = queue(ScriptedQueue::new(time.clone()));
    let keeper = Keeper::new(queue.clone(), time.clone(), settings);
    Scene { world, time, queue, keeper }
}

impl Scene {
    pub(crate) fn hold(&self, name: &str, timeout: u32) -> Delivery<()> {
        let received = Received::new(self.keeper.now(), secs(timeout));
        let handle = format!("SECRETSECRETSECRET-{name}");
        let receipt = Receipt::new(handle, received).message_id(format!("id-{name}")).receive_count(1);
        self.keeper.hold(receipt, ())
    }
}
