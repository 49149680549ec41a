"""Plays what a consumer does through boto3 against a simulated SQS.

Usage: python boto3_probe.py ENDPOINT_URL

Needs boto3, which checks MD5 sums and error names on its side. The server is to be started without a
shortened limit. Ends with a line `N passed, 0 failed`, or with the first assertion that does not hold.
"""

import json
import sys
import threading
import time

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

client = boto3.client(
    "sqs",
    endpoint_url=sys.argv[1],
    region_name="us-east-1",
    aws_access_key_id="any",
    aws_secret_access_key="any",
    config=Config(retries={"max_attempts": 0}),
)
run = str(time.time_ns())


def queue(name, **attributes):
    return client.create_queue(QueueName=f"{name}-{run}", Attributes=attributes)["QueueUrl"]


def refused(call, **arguments):
    try:
        call(**arguments)
    except ClientError as error:
        return (
            error.response["Error"]["Code"],
            error.response["Error"]["Message"],
            error.response["ResponseMetadata"]["HTTPStatusCode"],
        )
    raise AssertionError("not refused")


def one(url, **arguments):
    messages = client.receive_message(QueueUrl=url, **arguments).get("Messages", [])
    assert len(messages) <= 1
    return messages[0] if messages else None


def queues():
    url = queue("a", VisibilityTimeout="7")
    assert client.get_queue_url(QueueName=f"a-{run}")["QueueUrl"] == url
    assert url in client.list_queues(QueueNamePrefix="a-")["QueueUrls"]
    attributes = client.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
    assert attributes["VisibilityTimeout"] == "7" and attributes["QueueArn"].endswith(f":a-{run}")
    client.set_queue_attributes(QueueUrl=url, Attributes={"VisibilityTimeout": "8"})
    got = client.get_queue_attributes(QueueUrl=url, AttributeNames=["VisibilityTimeout"])["Attributes"]
    assert got == {"VisibilityTimeout": "8"}
    assert "Attributes" not in client.get_queue_attributes(QueueUrl=url)
    client.tag_queue(QueueUrl=url, Tags={"team": "blue"})
    assert client.list_queue_tags(QueueUrl=url)["Tags"] == {"team": "blue"}
    client.delete_queue(QueueUrl=url)
    try:
        client.get_queue_url(QueueName=f"a-{run}")
    except client.exceptions.QueueDoesNotExist as error:
        assert error.response["Error"]["Code"] == "AWS.SimpleQueueService.NonExistentQueue"


def round_trip():
    url = queue("round")
    attributes = {
        "kind": {"DataType": "String", "StringValue": "é"},
        "size": {"DataType": "Number.int", "StringValue": "12"},
        "blob": {"DataType": "Binary", "BinaryValue": b"\x00\xff"},
    }
    sent = client.send_message(QueueUrl=url, MessageBody="wörk <&>", MessageAttributes=attributes)
    message = one(
        url, MessageAttributeNames=["All"], AttributeNames=["SentTimestamp"],
        MessageSystemAttributeNames=["ApproximateReceiveCount", "ApproximateFirstReceiveTimestamp"],
    )
    assert message["MessageId"] == sent["MessageId"] and message["Body"] == "wörk <&>"
    assert message["MessageAttributes"] == attributes
    assert message["MD5OfMessageAttributes"] == sent["MD5OfMessageAttributes"]
    assert set(message["Attributes"]) == {
        "SentTimestamp", "ApproximateReceiveCount", "ApproximateFirstReceiveTimestamp",
    }
    assert abs(int(message["Attributes"]["SentTimestamp"]) / 1000 - time.time()) < 60
    client.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
    client.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
    code, text, status = refused(
        client.change_message_visibility, QueueUrl=url, ReceiptHandle=message["ReceiptHandle"], VisibilityTimeout=1
    )
    assert (code, status) == ("InvalidParameterValue", 400)
    assert text.endswith("Message does not exist or is not available for visibility timeout change.")


def visibility():
    url = queue("visibility", VisibilityTimeout="2")
    client.send_message(QueueUrl=url, MessageBody="work")
    message = one(url)
    received = time.monotonic()
    handle = message["ReceiptHandle"]
    code, text, _ = refused(client.change_message_visibility, QueueUrl=url, ReceiptHandle=handle, VisibilityTimeout=43200)
    assert code == "InvalidParameterValue" and text.endswith("beyond the limit [43200 seconds]"), text
    assert one(url, WaitTimeSeconds=1) is None
    client.change_message_visibility(QueueUrl=url, ReceiptHandle=handle, VisibilityTimeout=3)
    changed = time.monotonic()
    again = one(url, WaitTimeSeconds=20, AttributeNames=["ApproximateReceiveCount"])
    took = time.monotonic() - changed
    assert 2.9 < took < 5 and changed - received < 2.5, took
    assert again["Attributes"] == {"ApproximateReceiveCount": "2"} and again["ReceiptHandle"] != handle
    # The old handle ends the new holder's lease, and wakes a long poll at once.
    client.change_message_visibility(QueueUrl=url, ReceiptHandle=again["ReceiptHandle"], VisibilityTimeout=60)
    threading.Timer(
        0.3, client.change_message_visibility, kwargs={"QueueUrl": url, "ReceiptHandle": handle, "VisibilityTimeout": 0}
    ).start()
    polled = time.monotonic()
    assert one(url, WaitTimeSeconds=20)
    assert time.monotonic() - polled < 5


def batches():
    url = queue("batches")
    entries = [{"Id": str(i), "MessageBody": f"work {i}"} for i in range(10)]
    assert len(client.send_message_batch(QueueUrl=url, Entries=entries)["Successful"]) == 10
    messages = client.receive_message(QueueUrl=url, MaxNumberOfMessages=10)["Messages"]
    assert len(messages) == 10
    entries = [
        {"Id": str(i), "ReceiptHandle": m["ReceiptHandle"], "VisibilityTimeout": 60} for i, m in enumerate(messages)
    ]
    answer = client.change_message_visibility_batch(QueueUrl=url, Entries=entries)
    assert len(answer["Successful"]) == 10 and "Failed" not in answer
    client.delete_message(QueueUrl=url, ReceiptHandle=messages[0]["ReceiptHandle"])
    entries[1]["ReceiptHandle"] = "garbage"
    entries[2]["VisibilityTimeout"] = 43200
    answer = client.change_message_visibility_batch(QueueUrl=url, Entries=entries)
    assert [e["Id"] for e in answer["Successful"]] == list("3456789")
    assert [(e["Id"], e["Code"], e["SenderFault"]) for e in answer["Failed"]] == [
        ("0", "ReceiptHandleIsInvalid", True), ("1", "ReceiptHandleIsInvalid", True), ("2", "InvalidParameterValue", True),
    ]
    code, text, _ = refused(client.change_message_visibility_batch, QueueUrl=url, Entries=entries + entries)
    assert code == "AWS.SimpleQueueService.TooManyEntriesInBatchRequest"
    assert text == "Maximum number of entries per request are 10. You have sent 20."
    assert refused(client.delete_message_batch, QueueUrl=url, Entries=[])[0].endswith("EmptyBatchRequest")
    client.purge_queue(QueueUrl=url)


def dead_letters():
    dead = queue("dead")
    arn = client.get_queue_attributes(QueueUrl=dead, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    policy = json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": 1})
    url = queue("source", RedrivePolicy=policy)
    client.send_message(QueueUrl=url, MessageBody="work")
    assert one(url, VisibilityTimeout=0)
    assert one(url) is None
    message = one(dead, MessageSystemAttributeNames=["All"])
    assert message["Attributes"]["ApproximateReceiveCount"] == "2"
    assert message["Attributes"]["DeadLetterQueueSourceArn"].endswith(f":source-{run}")


def handles():
    url = queue("handles")
    code, text, status = refused(client.delete_message, QueueUrl=url, ReceiptHandle="garbage")
    assert (code, status) == ("ReceiptHandleIsInvalid", 404)
    assert text == 'The input receipt handle "garbage" is not a valid receipt handle.'


def fifo():
    url = client.create_queue(
        QueueName=f"fifo-{run}.fifo", Attributes={"FifoQueue": "true", "ContentBasedDeduplication": "true"}
    )["QueueUrl"]
    sent = [
        client.send_message(QueueUrl=url, MessageBody=body, MessageGroupId=body[0]) for body in ("a1", "a2", "b1", "a1")
    ]
    assert sent[3]["MessageId"] == sent[0]["MessageId"] and sent[3]["SequenceNumber"] == sent[0]["SequenceNumber"]
    first = one(url, MessageSystemAttributeNames=["All"], VisibilityTimeout=1)
    assert first["Body"] == "a1" and first["Attributes"]["MessageGroupId"] == "a"
    assert first["Attributes"]["SequenceNumber"] == sent[0]["SequenceNumber"]
    assert len(first["Attributes"]["MessageDeduplicationId"]) == 64
    assert one(url)["Body"] == "b1", "a2 is held back"
    time.sleep(1.1)
    code, text, _ = refused(client.delete_message, QueueUrl=url, ReceiptHandle=first["ReceiptHandle"])
    assert code == "InvalidParameterValue" and text.endswith("Reason: The receipt handle has expired."), text
    messages = client.receive_message(QueueUrl=url, MaxNumberOfMessages=10, ReceiveRequestAttemptId="1")["Messages"]
    again = client.receive_message(QueueUrl=url, MaxNumberOfMessages=10, ReceiveRequestAttemptId="1")["Messages"]
    assert [m["Body"] for m in messages] == ["a1", "a2"]
    assert [m["ReceiptHandle"] for m in messages] == [m["ReceiptHandle"] for m in again]
    assert refused(client.send_message, QueueUrl=url, MessageBody="x")[0] == "MissingParameter"


probes = [queues, round_trip, visibility, batches, dead_letters, handles, fifo]
for probe in probes:
    probe()
    print(f"ok {probe.__name__}", flush=True)
print(f"{len(probes)} passed, 0 failed")
