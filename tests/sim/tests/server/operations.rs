use serde_json::{Value, json};
use sqs_lease_sim::{Action, FractionalTimeout, Server, Settings};

use crate::client::{Client, start, start_manual, until_called};

#[test]
fn a_message_goes_round_on_one_connection() {
    let (_server, url, mut client) = start("30");
    let sent = client.call("SendMessage", &json!({"QueueUrl": url, "MessageBody": "work"}));
    assert_eq!(
        (sent.status, &sent.body["MD5OfMessageBody"]),
        (200, &json!("67e92c8765a9bc7fb2d335c459de9eb5"))
    );
    for header in ["content-type: application/x-amz-json-1.0\r\n", "x-amzn-requestid: ", "date: "] {
        assert!(sent.head.contains(header), "{}", sent.head);
    }
    let asked = json!({"QueueUrl": url, "MessageSystemAttributeNames": ["ApproximateReceiveCount"]});
    let received = client.call("ReceiveMessage", &asked).body;
    let message = &received["Messages"][0];
    assert_eq!((&message["Body"], &message["MD5OfBody"]), (&json!("work"), &sent.body["MD5OfMessageBody"]));
    assert_eq!(message["Attributes"], json!({"ApproximateReceiveCount": "1"}), "those asked for, no others");
    assert_eq!(client.call("ReceiveMessage", &json!({"QueueUrl": url})).body, json!({}));
    let handle = &message["ReceiptHandle"];
    let entries = json!([{"Id": "a", "ReceiptHandle": handle, "VisibilityTimeout": 5},
                         {"Id": "b", "ReceiptHandle": "garbage", "VisibilityTimeout": 5}]);
    let changed =
        client.call("ChangeMessageVisibilityBatch", &json!({"QueueUrl": url, "Entries": entries})).body;
    assert_eq!(changed["Successful"], json!([{"Id": "a"}]));
    assert_eq!(changed["Failed"][0]["Code"], "ReceiptHandleIsInvalid");
    assert_eq!(changed["Failed"][0]["SenderFault"], true);
    let deleted = client.call("DeleteMessage", &json!({"QueueUrl": url, "ReceiptHandle": handle}));
    assert_eq!((deleted.status, deleted.body), (200, Value::Null));
}

#[test]
fn refusals_carry_both_names_and_the_status() {
    let (_server, url, mut client) = start("30");
    for (operation, body, status, code, name) in [
        (
            "ReceiveMessage",
            json!({"QueueUrl": "http://localhost/000000000000/none"}),
            400,
            "aws.simplequeueservice.nonexistentqueue;sender",
            "com.amazonaws.sqs#QueueDoesNotExist",
        ),
        (
            "DeleteMessage",
            json!({"QueueUrl": url, "ReceiptHandle": "garbage"}),
            404,
            "receipthandleisinvalid;sender",
            "com.amazonaws.sqs#ReceiptHandleIsInvalid",
        ),
        (
            "DeleteMessage",
            json!({"QueueUrl": url}),
            400,
            "missingparameter;sender",
            "com.amazon.coral.service#MissingRequiredParameterException",
        ),
        (
            "ChangeMessageVisibility",
            json!({"QueueUrl": url, "ReceiptHandle": "x"}),
            400,
            "missingparameter;sender",
            "com.amazon.coral.service#MissingRequiredParameterException",
        ),
        (
            "ChangeMessageVisibility",
            json!({"QueueUrl": url, "ReceiptHandle": "x", "VisibilityTimeout": "2"}),
            400,
            "serializationexception;sender",
            "com.amazon.coral.service#SerializationException",
        ),
        (
            "ChangeMessageVisibility",
            json!({"QueueUrl": url, "ReceiptHandle": "x", "VisibilityTimeout": 1.5}),
            400,
            "serializationexception;sender",
            "com.amazon.coral.service#SerializationException",
        ),
        (
            "ReceiveMessage",
            json!([]),
            400,
            "serializationexception;sender",
            "com.amazon.coral.service#SerializationException",
        ),
        (
            "ReceiveMessage",
            json!({"QueueUrl": url, "MaxNumberOfMessages": 11}),
            400,
            "invalidparametervalue;sender",
            "com.amazon.coral.service#InvalidParameterValueException",
        ),
        (
            "Dance",
            json!({}),
            400,
            "invalidaction;sender",
            "com.amazon.coral.service#UnknownOperationException",
        ),
    ] {
        let refused = client.call(operation, &body);
        assert_eq!((refused.status, &refused.body["__type"]), (status, &json!(name)));
        assert!(refused.head.contains(&format!("x-amzn-query-error: {code}\r\n")), "{}", refused.head);
        assert!(refused.body["message"].is_string());
    }
    client.send_raw("ListQueues", "", "{}");
    let unsigned = client.answer().unwrap();
    assert_eq!(
        (unsigned.status, &unsigned.body["__type"]),
        (403, &json!("com.amazonaws.sqs#InvalidSecurity"))
    );
    client.send_raw("ListQueues", "Authorization: AWS4-HMAC-SHA256 any\r\n", "no json");
    assert_eq!(client.answer().unwrap().status, 400);
}

#[test]
fn lists_come_in_pages_where_they_are_asked_for() {
    let (server, _, mut client) = start("30");
    for name in ["jobs-1", "jobs-2", "other"] {
        server.create_queue(name, &[]).unwrap();
    }
    let dead = server.create_queue("dead", &[]).unwrap();
    server.model(|model, now| {
        let policy = sqs_lease_sim::redrive_policy(&model.queue_arn("dead").unwrap(), 3);
        for name in ["jobs-1", "jobs-2", "other"] {
            model.set_attributes(name, &[("RedrivePolicy", &policy)], now).unwrap();
        }
    });
    let names = |urls: &Value| {
        let urls = urls.as_array().unwrap().iter().filter_map(Value::as_str);
        urls.filter_map(|url| url.rsplit('/').next().map(str::to_owned)).collect::<Vec<_>>()
    };
    let all = client.call("ListQueues", &json!({})).body;
    assert_eq!(names(&all["QueueUrls"]), ["dead", "jobs", "jobs-1", "jobs-2", "other"]);
    let first = client.call("ListQueues", &json!({"QueueNamePrefix": "jobs", "MaxResults": 2})).body;
    assert_eq!(names(&first["QueueUrls"]), ["jobs", "jobs-1"]);
    let next = json!({"QueueNamePrefix": "jobs", "MaxResults": 2, "NextToken": first["NextToken"]});
    let second = client.call("ListQueues", &next).body;
    assert_eq!((names(&second["QueueUrls"]), second.get("NextToken")), (vec!["jobs-2".to_owned()], None));
    assert_eq!(client.call("ListQueues", &json!({"QueueNamePrefix": "x"})).body, json!({}));
    assert_eq!(client.call("ListQueues", &json!({"MaxResults": 1_001})).status, 400);

    let sources = client.call("ListDeadLetterSourceQueues", &json!({"QueueUrl": dead, "MaxResults": 2})).body;
    assert_eq!(names(&sources["queueUrls"]), ["jobs-1", "jobs-2"]);
    let next = json!({"QueueUrl": dead, "MaxResults": 2, "NextToken": sources["NextToken"]});
    assert_eq!(names(&client.call("ListDeadLetterSourceQueues", &next).body["queueUrls"]), ["other"]);
    let other_owner = json!({"QueueName": "jobs", "QueueOwnerAWSAccountId": "123456789012"});
    let refused = client.call("GetQueueUrl", &other_owner);
    assert_eq!(
        (refused.status, &refused.body["__type"]),
        (400, &json!("com.amazonaws.sqs#QueueDoesNotExist"))
    );
}

#[test]
fn a_message_move_task_is_started_shown_and_cancelled() {
    let (server, url, mut client) = start_manual("0");
    server.create_queue("dead", &[]).unwrap();
    let arn = server.model(|model, now| {
        let arn = model.queue_arn("dead").unwrap();
        model
            .set_attributes("jobs", &[("RedrivePolicy", &sqs_lease_sim::redrive_policy(&arn, 1))], now)
            .unwrap();
        arn
    });
    for _ in 0..2 {
        client.call("SendMessage", &json!({"QueueUrl": url, "MessageBody": "work"}));
        client.call("ReceiveMessage", &json!({"QueueUrl": url}));
        assert_eq!(client.call("ReceiveMessage", &json!({"QueueUrl": url})).body, json!({}));
    }
    let start = json!({"SourceArn": arn, "MaxNumberOfMessagesPerSecond": 1});
    let handle = client.call("StartMessageMoveTask", &start).body["TaskHandle"].clone();
    let shown = client.call("ListMessageMoveTasks", &json!({"SourceArn": arn})).body;
    assert_eq!(
        shown,
        json!({"Results": [{
            "TaskHandle": handle, "Status": "RUNNING", "SourceArn": arn, "MaxNumberOfMessagesPerSecond": 1,
            "ApproximateNumberOfMessagesMoved": 1, "ApproximateNumberOfMessagesToMove": 2,
            "StartedTimestamp": 1_767_225_600_000_u64,
        }]})
    );
    // A long poll wakes when the task moves the next one.
    client.call("ReceiveMessage", &json!({"QueueUrl": url, "VisibilityTimeout": 60}));
    client.send("ReceiveMessage", &json!({"QueueUrl": url, "WaitTimeSeconds": 20}));
    until_called(&server, Action::ReceiveMessage, 6);
    server.advance(std::time::Duration::from_secs(1));
    assert_eq!(client.answer().unwrap().body["Messages"].as_array().unwrap().len(), 1);
    let cancelled = client.call("CancelMessageMoveTask", &json!({"TaskHandle": handle}));
    assert_eq!(cancelled.status, 400, "it is done");
    assert_eq!(client.call("CancelMessageMoveTask", &json!({"TaskHandle": "none"})).status, 400);
}

#[test]
fn a_fraction_of_a_second_is_refused_or_cut_off() {
    for (choice, status) in [(FractionalTimeout::Refused, 400), (FractionalTimeout::CutOff, 200)] {
        let settings = Settings::default().fractional_timeout(choice);
        let server = Server::builder().settings(settings).manual_clock().start().unwrap();
        let url = server.create_queue("jobs", &[]).unwrap();
        server.model(|model, now| model.send("jobs", "work", now)).unwrap();
        let mut client = Client::new(&server);
        let handle =
            client.call("ReceiveMessage", &json!({"QueueUrl": url})).body["Messages"][0]["ReceiptHandle"]
                .clone();
        let change = json!({"QueueUrl": url, "ReceiptHandle": handle, "VisibilityTimeout": 0.5});
        assert_eq!(client.call("ChangeMessageVisibility", &change).status, status, "{choice:?}");
        let again = client.call("ReceiveMessage", &json!({"QueueUrl": url})).body;
        assert_eq!(again["Messages"].is_array(), status == 200, "cut off to zero it is visible: {choice:?}");
        let change = json!({"QueueUrl": url, "ReceiptHandle": handle, "VisibilityTimeout": "2"});
        assert_eq!(client.call("ChangeMessageVisibility", &change).status, 400, "a text never is a number");
    }
}

#[test]
fn message_attributes_are_asked_for_by_name_beginning_or_star() {
    let (_server, url, mut client) = start("0");
    let value = json!({"DataType": "String", "StringValue": "b"});
    let attributes = json!({"Help.Me": value, "Hello": value, "General": value});
    client.call(
        "SendMessage",
        &json!({"QueueUrl": url, "MessageBody": "work", "MessageAttributes": attributes}),
    );
    for (names, found) in [
        (&["All"][..], 3),
        (&["*"], 3),
        (&[".*"], 3),
        (&["Hel.*"], 2),
        (&["Foo", "Hello"], 1),
        (&["Foo", "Help"], 0),
        (&["AWS."], 0),
        (&["..foo"], 0),
        (&[], 0),
    ] {
        let asked = json!({"QueueUrl": url, "MessageAttributeNames": names});
        let received = client.call("ReceiveMessage", &asked).body;
        let shown = received["Messages"][0]["MessageAttributes"].as_object().map_or(0, serde_json::Map::len);
        assert_eq!(shown, found, "{names:?}");
    }
}
