"""Plays the twenty probes by which SQS-compatible servers are told apart, on the simulated SQS, with boto3.

Usage: python twenty_probes.py ENDPOINT_URL

The server has to be started with --manual-clock and --record 0 or more; the probes move its clock over HTTP. Probes whose
comment says "nobody else" assert what no public emulator did right when they were compared. Ends with a line
`N passed, 0 failed`, or with the first assertion that does not hold.
"""

import json
import threading
import time
import urllib.request

from botocore.exceptions import HTTPClientError

from asking import (
    BEYOND,
    GONE,
    SQS,
    advance,
    arn,
    bodies,
    change,
    client,
    count,
    delete,
    endpoint,
    handle,
    http,
    one,
    queue,
    receive,
    refused,
    send,
    sqs,
)


def p1_ranges_and_defaults():
    url = queue()
    shown = client.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
    assert shown["VisibilityTimeout"] == "30"
    for bad in ("43201", "-1", "abc"):
        refused("InvalidAttributeValue", queue, VisibilityTimeout=bad)
        refused(
            "InvalidAttributeValue", client.set_queue_attributes, QueueUrl=url, Attributes={"VisibilityTimeout": bad}
        )
    for bad in (43201, -1):
        refused("InvalidParameterValue", receive, url, VisibilityTimeout=bad)
    send(url, "x")
    assert one(url, VisibilityTimeout=0) and one(url), "with a timeout of zero it is there again at once"


def p2_a_change_counts_from_the_call():
    url = queue(VisibilityTimeout="30")
    send(url, "x")
    message = one(url)
    advance(1)
    change(url, message, 3)
    advance(2.999)
    assert one(url) is None
    advance(0.001)
    message = one(url)
    change(url, message, 1)
    for _ in range(8):
        advance(0.5)
        assert one(url) is None
        change(url, message, 1)
    advance(1)
    assert count(one(url)) == 3


def p3_zero_makes_visible_at_once():
    url = queue()
    send(url, "x")
    change(url, one(url), 0)
    assert count(one(url)) == 2


def p4_a_change_after_the_timeout_succeeds():
    url = queue(VisibilityTimeout="2")
    send(url, "x")
    message = one(url)
    advance(3)
    change(url, message, 3)


def p5_an_old_handle_acts_on_the_new_holder():
    url = queue()
    send(url, "x")
    old = one(url, VisibilityTimeout=0)
    new = one(url, VisibilityTimeout=30)
    change(url, old, 0)
    third = one(url, VisibilityTimeout=30)
    assert third and count(third) == 3 and handle(third) != handle(new)


def p6_after_a_delete():
    url = queue()
    send(url, "x")
    message = one(url)
    for _ in range(3):
        delete(url, message)
    response = refused("InvalidParameterValue", change, url, message, 5, text=GONE)
    assert response["ResponseMetadata"]["HTTPStatusCode"] == 400


def p7_twelve_hours_from_this_receive():
    # Nobody else.
    url = queue(VisibilityTimeout="3600")
    send(url, "x")
    advance(5_000)
    message = one(url)
    refused("InvalidParameterValue", change, url, message, 43_200, text=BEYOND)
    refused("InvalidParameterValue", change, url, message, 43_201)
    refused("InvalidParameterValue", change, url, message, -1)
    for _ in range(13):
        advance(3_000)
        change(url, message, 3_600)
    advance(3_000)
    refused("InvalidParameterValue", change, url, message, 3_600, text=BEYOND)
    # The refusal has changed nothing: what is left of the last one still counts.
    assert one(url) is None
    answer = client.change_message_visibility_batch(
        QueueUrl=url,
        Entries=[
            {"Id": "too-long", "ReceiptHandle": handle(message), "VisibilityTimeout": 1_300},
            {"Id": "fits", "ReceiptHandle": handle(message), "VisibilityTimeout": 1_100},
        ],
    )
    assert [entry["Id"] for entry in answer["Successful"]] == ["fits"]
    (failed,) = answer["Failed"]
    assert failed["Id"] == "too-long" and failed["SenderFault"] is True and "beyond the limit" in failed["Message"]
    advance(1_100)
    # A new receive has 12 hours of its own.
    again = one(url)
    assert count(again) == 2
    change(url, again, 43_100)
    # And the old handle dies.
    advance(200)
    refused("InvalidParameterValue", delete, url, message, text="The receipt handle has expired.")
    delete(url, again)


def p8_members_that_are_missing_or_no_numbers():
    # Nobody else answers 400 to all of them.
    url = queue()
    send(url, "x")
    message = one(url)
    for value in (1.5, "2", None, True):
        body = {"QueueUrl": url, "ReceiptHandle": handle(message), "VisibilityTimeout": value}
        status = raw("ChangeMessageVisibility", body)[0]
        assert status == 400, (value, status)
    assert raw("ChangeMessageVisibility", {"QueueUrl": url, "ReceiptHandle": handle(message)})[0] == 400


def raw(action, body, signed=True, data=None):
    headers = {"x-amz-target": f"AmazonSQS.{action}", "content-type": "application/x-amz-json-1.0"}
    if signed:
        headers["authorization"] = "AWS4-HMAC-SHA256 Credential=a/20260101/us-east-1/sqs/aws4_request"
    request = urllib.request.Request(endpoint, data=data or json.dumps(body).encode(), headers=headers)
    try:
        answer = urllib.request.urlopen(request, timeout=30)
    except urllib.error.HTTPError as error:
        answer = error
    return answer.status, answer.headers, answer.read()


def p9_batches():
    url = queue()
    send(url, "a", "b", "c")
    messages = receive(url)
    entry = lambda id, message, secs=9: {"Id": id, "ReceiptHandle": handle(message), "VisibilityTimeout": secs}
    batch = lambda *entries: client.change_message_visibility_batch(QueueUrl=url, Entries=list(entries))
    eleven = [entry(str(i), messages[0]) for i in range(11)]
    refused(SQS + "TooManyEntriesInBatchRequest", batch, *eleven, text="10. You have sent 11.")
    refused(SQS + "EmptyBatchRequest", batch, text="at least one")
    refused(SQS + "BatchEntryIdsNotDistinct", batch, entry("a", messages[0]), entry("a", messages[1]), text="Id a")
    for id in ("a b", "x" * 81):
        refused(SQS + "InvalidBatchEntryId", batch, entry(id, messages[0]), text="at most 80 letters")
    delete(url, messages[2])
    answer = batch(
        entry("good", messages[0]), entry("garbage", "garbage"), entry("deleted", messages[2]),
        entry("wide", messages[1], 43_201), entry("minus", messages[1], -1),
    )
    assert [it["Id"] for it in answer["Successful"]] == ["good"]
    failed = {it["Id"]: (it["Code"], it["SenderFault"]) for it in answer["Failed"]}
    assert failed == {
        "garbage": ("ReceiptHandleIsInvalid", True), "deleted": ("ReceiptHandleIsInvalid", True),
        "wide": ("InvalidParameterValue", True), "minus": ("InvalidParameterValue", True),
    }, failed


def p10_a_change_touches_the_deadline_alone():
    url = queue()
    send(url, "x")
    stamps = set()
    for expected in (1, 2, 3):
        message = one(url)
        assert count(message) == expected
        stamps.add(message["Attributes"]["ApproximateFirstReceiveTimestamp"])
        change(url, message, 20)
        change(url, message, 0)
        advance(1)
    assert len(stamps) == 1 and len(stamps.pop()) == 13
    bare = client.receive_message(QueueUrl=url)["Messages"][0]
    assert "Attributes" not in bare


def p11_dead_letters():
    # No emulator has all of these.
    dead, dead_fifo = queue(), queue(fifo=True)
    policy = lambda target, most: json.dumps({"deadLetterTargetArn": target, "maxReceiveCount": most})
    url = queue(RedrivePolicy=policy(arn(dead), 1))
    (sent,) = send(url, "x")
    first = one(url, VisibilityTimeout=5)
    change(url, first, 6)
    advance(6)
    assert one(dead) is None, "it moves at the next receive, not at the end of the timeout"
    assert one(url) is None
    buried = one(dead)
    assert buried["MessageId"] == sent["MessageId"] and count(buried) == 2
    assert buried["Attributes"]["DeadLetterQueueSourceArn"] == arn(url)
    assert buried["Attributes"]["SentTimestamp"] == first["Attributes"]["SentTimestamp"]
    for bad in (0, 1001):
        refused("InvalidParameterValue", queue, RedrivePolicy=policy(arn(dead), bad))
    refused("InvalidParameterValue", queue, RedrivePolicy=policy(arn(dead) + "-nobody", 2))
    refused("InvalidParameterValue", queue, RedrivePolicy=policy(arn(dead_fifo), 2))
    refused("InvalidParameterValue", queue, fifo=True, RedrivePolicy=policy(arn(dead), 2))


def p12_groups():
    for extended, back in ((0, []), (1, ["0"]), (2, ["0", "1"])):
        url = queue(fifo=True)
        send(url, "0", "1", "2", MessageGroupId="g")
        messages = receive(url, VisibilityTimeout=1)
        assert bodies(messages) == ["0", "1", "2"]
        change(url, messages[extended], 4)
        advance(2.5)
        assert bodies(receive(url)) == back, (extended, back)
    url = queue(fifo=True)
    send(url, "a1", "a2", MessageGroupId="a")
    message = one(url, VisibilityTimeout=2)
    assert message["Body"] == "a1" and one(url) is None
    advance(2)
    refused("InvalidParameterValue", delete, url, message, text="The receipt handle has expired.")
    # What was extended in time can be deleted.
    message = one(url, VisibilityTimeout=2)
    advance(1)
    change(url, message, 3)
    advance(2)
    delete(url, message)
    assert one(url)["Body"] == "a2"


def p13_an_old_handle_deletes():
    url = queue()
    send(url, "x")
    old = one(url, VisibilityTimeout=0)
    assert one(url)
    delete(url, old)
    advance(60)
    assert one(url) is None


def p14_long_polls_wake_when_a_message_becomes_visible():
    url = queue(VisibilityTimeout="2")
    for wake in (lambda message: advance(2), lambda message: change(url, message, 0)):
        send(url, "x")
        message = one(url)
        got = []
        polls = threading.Thread(target=lambda: got.append(one(url, WaitTimeSeconds=20)))
        polls.start()
        time.sleep(0.3)
        assert not got
        wake(message)
        polls.join(5)
        assert got and got[0]["Body"] == "x"
        delete(url, got[0])


def p15_expiry_to_the_millisecond():
    url = queue()
    send(url, "x")
    for _ in range(10):
        assert one(url, VisibilityTimeout=1)
        advance(0.999)
        assert one(url) is None
        advance(0.001)


def p16_retention():
    refused("InvalidAttributeValue", queue, MessageRetentionPeriod="59")
    url = queue(MessageRetentionPeriod="60")
    send(url, "idle", "held")
    held = one(url, VisibilityTimeout=600)
    advance(61)
    assert one(url) is None
    delete(url, held)


def p17_the_wire():
    url = queue()
    status, headers, _ = raw("GetQueueAttributes", {"QueueUrl": url})
    assert status == 200 and headers["Date"] and headers["x-amzn-RequestId"]
    status, headers, body = raw("DeleteMessage", {"QueueUrl": url + "x", "ReceiptHandle": "y"})
    assert (status, headers["x-amzn-query-error"]) == (400, SQS + "NonExistentQueue;Sender")
    assert json.loads(body)["__type"].endswith("QueueDoesNotExist")
    # Nobody else refuses a request without a signature.
    status, headers, _ = raw("ListQueues", {}, signed=False)
    assert (status, headers["x-amzn-query-error"]) == (403, "InvalidSecurity;Sender")
    for broken in (b"{", b"[]", b"\xff"):
        assert raw("ListQueues", None, data=broken)[0] == 400
    assert raw("NoSuchThing", {})[0] == 400


def p18_garbage():
    url, other = queue(), queue()
    send(url, "x")
    message = one(url)
    text = 'The input receipt handle "garbage" is not a valid receipt handle.'
    for call in (lambda: change(url, "garbage", 1), lambda: delete(url, "garbage")):
        refused("ReceiptHandleIsInvalid", call, text=text)
    refused("ReceiptHandleIsInvalid", delete, other, message)
    client.purge_queue(QueueUrl=url)
    refused("InvalidParameterValue", change, url, message, 5, text=GONE)
    refused(SQS + "NonExistentQueue", one, url + "-nobody")


def p19_twenty_consumers_and_no_duplicate():
    url = queue(VisibilityTimeout="600")
    for start in range(0, 1_000, 10):
        entries = [{"Id": str(i), "MessageBody": str(i)} for i in range(start, start + 10)]
        client.send_message_batch(QueueUrl=url, Entries=entries)
    seen, lock = [], threading.Lock()

    def consume():
        while messages := receive(url):
            with lock:
                seen.extend(bodies(messages))

    threads = [threading.Thread(target=consume) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 1_000 and len(set(seen)) == 1_000


def p20_faults_and_a_look_that_consumes_nothing():
    # Nobody else has either over HTTP.
    url = queue()
    send(url, "x")
    message = one(url)
    http("POST", "/faults", {"effect": "throttle", "action": "ChangeMessageVisibility", "first": 1})
    refused("RequestThrottled", change, url, message, 60)
    http("POST", "/faults", {"effect": "lose-answer", "action": "ChangeMessageVisibility", "first": 1})
    try:
        change(url, message, 60)
        raise AssertionError("an answer came")
    except HTTPClientError:
        pass
    http("DELETE", "/faults")
    # It was carried out, though its answer was lost.
    advance(59)
    assert one(url) is None
    before = http("GET", "/clock")
    history = json.dumps(http("GET", "/truth/messages/" + message["MessageId"]))
    assert history.count("eceived") >= 1 and http("GET", "/clock") == before
    advance(1)
    assert count(one(url)) == 2


probes = [value for name, value in list(globals().items()) if name.startswith("p") and name[1:2].isdigit()]
assert len(probes) == 20
for probe in probes:
    probe()
    print(f"ok {probe.__name__}", flush=True)
print(f"{len(probes)} passed, 0 failed")
