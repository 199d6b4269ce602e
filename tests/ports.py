"""Ports for servers that tests start."""

import socket
from contextlib import closing


def free_port() -> int:
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        return listener.getsockname()[1]
