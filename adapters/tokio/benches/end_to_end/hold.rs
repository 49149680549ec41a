//! Holds many deliveries for long, and looks at the heap of the client.

use std::time::Duration;

use sqs_lease_heap::Heap;
use tokio::time::{Instant, sleep_until};

use crate::server::Server;
use crate::variants::{Ours, Variant as _};

/// A queue's own limit of messages in flight is 120 000; its timeout here is SQS's default.
const TIMEOUT: u32 = 30;
/// Receives at a time.
const RECEIVERS: u32 = 8;
/// A third of the timeout: also how long a trouble lasts.
const LOOK: Duration = Duration::from_secs(10);
/// What the calls in flight take, in MB: 128 at most, and 50 kB each in the SDK.
const IN_FLIGHT: f64 = 6.4;
/// Looks from one trouble to the next.
const CALM: u32 = 6;

/// Says so and fails where a delivery is lost, or the heap grows once all are held.
pub(crate) fn run(leases: u32, seconds: u32, trouble: Option<&str>) {
    let mut server = Server::start(leases, TIMEOUT);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.expect("a runtime").block_on(async {
        let onlooker = server.client();
        assert_eq!(server.visible(&onlooker).await, leases, "before any is received");
        Heap::count();
        let ours = std::sync::Arc::new(Ours::open(server.client(), server.queue_url(), TIMEOUT).await);
        let start = Instant::now();
        let receivers: Vec<_> = (0..RECEIVERS)
            .map(|number| {
                let ours = std::sync::Arc::clone(&ours);
                tokio::spawn(async move {
                    let mut held = Vec::new();
                    for _ in (number..leases / 10).step_by(RECEIVERS as usize) {
                        held.extend(ours.receive().await);
                    }
                    held
                })
            })
            .collect();
        let mut held = Vec::new();
        for receiver in receivers {
            held.extend(receiver.await.expect("no panic"));
        }
        println!("{} received in {:.1} s", held.len(), start.elapsed().as_secs_f64());
        assert_eq!(held.len(), leases as usize, "every message was received");
        println!("| s | heap live MB | peak MB since the last | held | lost | extensions | entries a call |");
        println!("| --- | --- | --- | --- | --- | --- | --- |");
        let mut steady = None;
        let mut highest = 0_f64;
        for look in 1.. {
            let at = LOOK * look;
            if at.as_secs() > seconds.into() {
                break;
            }
            Heap::forget_peak();
            sleep_until(start + at).await;
            let stats = ours.0.keeper().stats();
            let (live, peak) = (Heap::counts().live as f64 / 1e6, Heap::peak() as f64 / 1e6);
            println!(
                "| {} | {live:.1} | {peak:.1} | {} | {} | {} | {:.2} |",
                at.as_secs(),
                stats.leases_held,
                stats.lost(),
                stats.extensions,
                stats.change_entries as f64 / stats.change_calls as f64
            );
            assert_eq!(stats.lost(), 0, "none is lost");
            assert_eq!(server.visible(&onlooker).await, 0, "nor does the server think so");
            if let Some(trouble) = trouble {
                server.becomes(if look % CALM == 0 { trouble } else { "well" });
            }
            // Calls in flight come and go; what is live between them must not grow.
            let is_calm = trouble.is_none() || look % CALM != 1;
            if is_calm && at.as_secs() > u64::from(TIMEOUT) {
                let steady = *steady.get_or_insert(live);
                highest = highest.max((live - IN_FLIGHT) / steady);
            }
        }
        println!("at most {highest:.3} of the heap that was live at first, without the calls in flight");
        let stats = ours.0.keeper().stats();
        assert_eq!(stats.leases_held, leases as usize, "all are held");
        assert!(highest < 1.1, "the heap grows");
        drop(held);
        println!("left when all are let go: {:.1} MB", Heap::counts().live as f64 / 1e6);
    });
}
