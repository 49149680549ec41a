use serde_json::{Value, json};

use crate::client::start;

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
