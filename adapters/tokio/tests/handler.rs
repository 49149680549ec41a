//! Tests of a handler as a user of Tokio writes them: on a clock that jumps, and through the SDK on the simulated SQS. The
//! page on testing shows them.

use std::error::Error;
use std::time::Duration;

use sqs_lease_sim::{Action, Fault, ModelQueue, Receive, Server};
use sqs_lease_tokio::aws_sdk_sqs::config::{BehaviorVersion, Credentials, Region};
use sqs_lease_tokio::aws_sdk_sqs::{Client, Config};
use sqs_lease_tokio::driver::{Keeper, Settings};
use sqs_lease_tokio::{Options, StopReason, TokioRuntime};

/// The latency of the simulated network, each way.
const LATENCY: Duration = Duration::from_millis(20);

/// The handler under test: it works for as many seconds as the message says.
async fn work(body: &str) {
    tokio::time::sleep(Duration::from_secs(body.parse().expect("a number"))).await;
}

#[tokio::test(start_paused = true)]
async fn a_handler_of_eleven_hours_keeps_its_message() -> Result<(), Box<dyn Error>> {
    let time = TokioRuntime::with_tokio_clock();
    let jobs = ModelQueue::new(time.clone(), "jobs", LATENCY, &[])?;
    let keeper = Keeper::new(jobs.clone(), time, Settings::new());
    tokio::spawn(keeper.run());
    jobs.send("39600")?;
    let delivery = jobs.receive_into(&keeper, 600)?.expect("the message");
    let rival = async {
        loop {
            tokio::time::sleep(Duration::from_mins(1)).await;
            assert_eq!(jobs.receive(600), Ok(None), "nobody else gets it meanwhile");
        }
    };
    tokio::select! {
        kept = delivery.keep(work(&delivery.message().body)) => kept?,
        () = rival => {}
    }
    delivery.delete().await?;
    jobs.model(|model, _| {
        assert_eq!(model.overlaps(), []);
        assert_eq!(model.histories().count(), 1);
    });
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_loses_its_lease_is_told_before_anybody_else_gets_the_message()
-> Result<(), Box<dyn Error>> {
    let time = TokioRuntime::with_tokio_clock();
    // So far away that no extension arrives in time.
    let jobs = ModelQueue::new(time.clone(), "jobs", Duration::from_secs(20), &[])?;
    let keeper = Keeper::new(jobs.clone(), time, Settings::new());
    tokio::spawn(keeper.run());
    jobs.send("3600")?;
    let delivery = jobs.receive_into(&keeper, 30)?.expect("the message");
    let lost = delivery.keep(work(&delivery.message().body)).await.expect_err("the work is cut off");
    assert_eq!(lost.reason, StopReason::Expired);
    // The handler has stopped: SQS does not learn of it, and the model has to be told.
    let handle = &delivery.message().receipt_handle;
    jobs.model(|model, now| model.let_go("jobs", handle, now))?;
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(jobs.receive(30)?.expect("the message, for the next consumer").receive_count, 2);
    jobs.model(|model, _| assert_eq!(model.overlaps(), []));
    Ok(())
}

#[tokio::test]
async fn a_handler_keeps_its_message_through_the_sdk_while_sqs_throttles() {
    let server = Server::builder().start().expect("a free port");
    let url = server.create_queue("jobs", &[("VisibilityTimeout", "2")]).expect("created");
    server.model(|model, now| model.send("jobs", "5", now)).expect("sent");
    server.inject(Fault::throttle().on(Action::ChangeMessageVisibilityBatch).first(2));

    let config = Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new("us-east-1"))
        .credentials_provider(Credentials::new("any", "any", None, None, "test"))
        .endpoint_url(server.endpoint_url());
    let client = Client::from_conf(config.build());
    let queue = sqs_lease_tokio::open(client, url, Options::new()).await.expect("opened");
    let delivery = queue.receive_up_to(1).await.expect("received").remove(0);

    let rival = async {
        loop {
            tokio::time::sleep(Duration::from_millis(100)).await;
            let received = server.model(|model, now| model.receive("jobs", &Receive::new(), now));
            assert!(received.expect("the queue is there").is_empty(), "nobody else gets it meanwhile");
        }
    };
    let body = delivery.message().body().expect("a body");
    tokio::select! {
        kept = delivery.keep(work(body)) => kept.expect("held to the end of the work"),
        () = rival => {}
    }
    delivery.delete().await.expect("deleted, and confirmed");
    server.model(|model, _| assert_eq!(model.overlaps(), []));
}
