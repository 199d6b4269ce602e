"""Ports for servers that tests start."""

import os
import socket
from contextlib import suppress
from itertools import cycle
from random import SystemRandom

# The number of this test process; there may be as many as STEP of them.
WORKER = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
STEP = 25
# Ports that nobody else is given until the server of a test listens. Linux takes those of
# connections, and of servers that name none, from 32768 on.
PORTS = range(20_000 + WORKER % STEP, 32_768, STEP)
# In another order each time, as several runs may share the machine.
_ports = cycle(SystemRandom().sample(PORTS, len(PORTS)))


def free_port() -> int:
    """Return a port of 127.0.0.1 on which nothing listens."""
    while True:
        with suppress(OSError), socket.create_server(("127.0.0.1", port := next(_ports))):
            return port
