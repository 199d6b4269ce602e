"""Ports for servers that tests start."""

import socket
from contextlib import suppress
from secrets import choice

# Below those from which Linux takes one for each connection, and for a server that names none:
# until the server of a test listens, it could be taken by another process.
PORTS = range(20_000, 32_768)


def free_port() -> int:
    """Return a port of 127.0.0.1 on which nothing listens."""
    while True:
        port = choice(PORTS)
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
