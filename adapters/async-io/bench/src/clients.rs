use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use aws_async_io::AsyncIoSleep;
use aws_sdk_sqs::Client;
use aws_sdk_sqs::config::{BehaviorVersion, Builder, Credentials, Region};
use rustix::time::{ClockId, clock_gettime};

/// Tokio first: the others are compared with it.
pub const CLIENTS: [&str; 3] = ["tokio", "smol, spawn", "smol, in request"];

/// Connections are opened and code is paged in before the clock starts.
const WARM_UP: usize = 500;

#[derive(Clone, Copy)]
pub struct Measured {
    pub calls_per_second: f64,
    pub cpu_micros: f64,
}

pub fn measure(client: &str, threads: usize, at_a_time: usize, calls: usize, uri: &str) -> Measured {
    let config = aws_sdk_sqs::Config::builder()
        .behavior_version(BehaviorVersion::v2026_01_12())
        .region(Region::new("eu-west-1"))
        .credentials_provider(Credentials::new("id", "secret", None, None, "static"))
        .endpoint_url(uri);
    match client {
        "tokio" => on_tokio(config, threads, at_a_time, calls),
        "smol, spawn" => on_smol(config, true, threads, at_a_time, calls),
        "smol, in request" => on_smol(config, false, threads, at_a_time, calls),
        client => panic!("no client is called {client:?}"),
    }
}

fn on_tokio(config: Builder, threads: usize, at_a_time: usize, calls: usize) -> Measured {
    let mut runtime = match threads {
        1 => tokio::runtime::Builder::new_current_thread(),
        _ => tokio::runtime::Builder::new_multi_thread(),
    };
    let runtime = runtime.worker_threads(threads).enable_all().build().expect("a runtime");
    runtime.block_on(run(Client::from_conf(config.build()), at_a_time, calls, |task| {
        let task = tokio::spawn(task);
        async { task.await.expect("no panic") }
    }))
}

fn on_smol(config: Builder, spawns: bool, threads: usize, at_a_time: usize, calls: usize) -> Measured {
    let executor = Arc::new(smol::Executor::new());
    let http = aws_async_io::Client::builder().without_system_roots();
    let spawner = Arc::clone(&executor);
    let http = if spawns { http.spawn(move |task| spawner.spawn(task).detach()) } else { http };
    let config = config.http_client(http.build().expect("a client")).sleep_impl(AsyncIoSleep::new());
    let client = Client::from_conf(config.build());
    let (done, ended) = smol::channel::bounded::<()>(1);
    std::thread::scope(|scope| {
        // One thread runs everything by itself; of several, this one waits, as Tokio's does.
        for _ in 0..if threads == 1 { 0 } else { threads } {
            let (executor, ended) = (Arc::clone(&executor), ended.clone());
            scope.spawn(move || smol::block_on(executor.run(ended.recv())).is_err());
        }
        let spawner = Arc::clone(&executor);
        let run = run(client, at_a_time, calls, move |task| spawner.spawn(task));
        let measured = if threads == 1 {
            smol::block_on(executor.run(run))
        } else {
            smol::future::block_on(executor.spawn(run))
        };
        drop(done);
        measured
    })
}

async fn run<T: Future<Output = ()>>(
    client: Client,
    at_a_time: usize,
    calls: usize,
    spawn: impl Fn(std::pin::Pin<Box<dyn Future<Output = ()> + Send>>) -> T,
) -> Measured {
    call(&client, at_a_time, WARM_UP.max(at_a_time * 4), &spawn).await;
    let (start, cpu) = (Instant::now(), cpu_time());
    call(&client, at_a_time, calls, &spawn).await;
    let (cpu, took) = (cpu_time() - cpu, start.elapsed());
    let count = calls as f64;
    Measured { calls_per_second: count / took.as_secs_f64(), cpu_micros: cpu.as_secs_f64() * 1e6 / count }
}

/// Makes so many calls, so many of them at a time.
async fn call<T: Future<Output = ()>>(
    client: &Client,
    at_a_time: usize,
    calls: usize,
    spawn: &impl Fn(std::pin::Pin<Box<dyn Future<Output = ()> + Send>>) -> T,
) {
    let made = Arc::new(AtomicUsize::new(0));
    let workers: Vec<_> = (0..at_a_time)
        .map(|_| {
            let (client, made) = (client.clone(), Arc::clone(&made));
            spawn(Box::pin(async move {
                while made.fetch_add(1, Ordering::Relaxed) < calls {
                    client
                        .change_message_visibility()
                        .queue_url("http://sqs.eu-west-1.amazonaws.com/000000000000/orders")
                        .receipt_handle("AQEBwJnKyrHigUMZj6rYigCgxlaS3SLy0a")
                        .visibility_timeout(30)
                        .send()
                        .await
                        .expect("an answer");
                }
            }))
        })
        .collect();
    for worker in workers {
        worker.await;
    }
}

/// Of all threads of this process.
fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    let nanos = time.tv_sec * 1_000_000_000 + time.tv_nsec;
    Duration::from_nanos(u64::try_from(nanos).expect("not negative"))
}
