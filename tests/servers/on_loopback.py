"""Runs LocalStack on loopback, by a clock that can be put forward.

Whatever GATEWAY_LISTEN says, it would listen on every address. And under libfaketime its threads wait for each other: an
answer takes 10 to 200 times as long. Its queues ask time.time() and one helper, so those are what is moved, by the same
file.
"""

import os
import time
import types

from twisted.internet import endpoints

everywhere = endpoints.TCP4ServerEndpoint
endpoints.TCP4ServerEndpoint = lambda reactor, port: everywhere(reactor, port, interface="127.0.0.1")

clock, really = os.environ["CLOCK"], time.time


def ahead():
    with open(clock) as file:
        return float(file.read())


time.time = lambda: really() + ahead()

import localstack.utils.time  # noqa: E402

localstack.utils.time.now = lambda millis=False, tz=None: int(time.time() * (1000 if millis else 1))

from localstack.runtime.main import main  # noqa: E402
from localstack.utils import scheduler  # noqa: E402

# What looks at all queues once a second would catch up with every second of a jump.
scheduler.time = types.SimpleNamespace(time=really)

main()
