"""Runs LocalStack on loopback, by a clock that can be put forward.

Whatever GATEWAY_LISTEN says, it would listen on every address. And under libfaketime its threads wait for each other: an
answer takes 10 to 200 times as long. It asks nothing but time.time(), so that is what is moved, by the same file.
"""

import os
import time

from twisted.internet import endpoints

everywhere = endpoints.TCP4ServerEndpoint
endpoints.TCP4ServerEndpoint = lambda reactor, port: everywhere(reactor, port, interface="127.0.0.1")

clock, really = os.environ["CLOCK"], time.time


def ahead():
    with open(clock) as file:
        return float(file.read())


time.time = lambda: really() + ahead()

from localstack.runtime.main import main  # noqa: E402

main()
