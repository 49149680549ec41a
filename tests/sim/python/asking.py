"""What probes of an SQS-compatible server share: a client, the clock over HTTP, short names for the operations."""

import json
import sys
import time
import urllib.request

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

endpoint = sys.argv[1]


def sqs():
    return boto3.client(
        "sqs",
        endpoint_url=endpoint,
        region_name="us-east-1",
        aws_access_key_id="any",
        aws_secret_access_key="any",
        config=Config(retries={"max_attempts": 0}, max_pool_connections=40),
    )


client = sqs()
run = str(time.time_ns())
names = iter(range(10_000))


def http(method, path, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(endpoint + path, data=data, method=method)
    return json.loads(urllib.request.urlopen(request, timeout=30).read() or b"null")


def advance(seconds):
    http("POST", f"/clock/advance?seconds={seconds}")


def queue(fifo=False, **attributes):
    name = f"probe-{run}-{next(names)}"
    if fifo:
        name += ".fifo"
        attributes.update(FifoQueue="true", ContentBasedDeduplication="true")
    return client.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"]


def arn(url):
    return client.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]


def send(url, *bodies, **more):
    return [client.send_message(QueueUrl=url, MessageBody=body, **more) for body in bodies]


def receive(url, most=10, **more):
    answer = client.receive_message(
        QueueUrl=url, MaxNumberOfMessages=most, MessageSystemAttributeNames=["All"], **more
    )
    return answer.get("Messages", [])


def one(url, **more):
    messages = receive(url, 1, **more)
    return messages[0] if messages else None


def bodies(messages):
    return [message["Body"] for message in messages]


def count(message):
    return int(message["Attributes"]["ApproximateReceiveCount"])


def change(url, message, secs):
    client.change_message_visibility(QueueUrl=url, ReceiptHandle=handle(message), VisibilityTimeout=secs)


def delete(url, message):
    client.delete_message(QueueUrl=url, ReceiptHandle=handle(message))


def handle(message):
    return message if isinstance(message, str) else message["ReceiptHandle"]


def refused(code, call, *arguments, text="", **named):
    try:
        call(*arguments, **named)
    except ClientError as error:
        got = error.response["Error"]
        assert got["Code"] == code, got
        assert text in got["Message"], got
        return error.response
    raise AssertionError(f"not refused with {code}")


GONE = "Message does not exist or is not available for visibility timeout change."
BEYOND = "Total VisibilityTimeout for the message is beyond the limit [43200 seconds]"
SQS = "AWS.SimpleQueueService."
