"""A proxy for PostgreSQL that counts the messages of clients, and may lead to another server."""

import shutil
import socket
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from sqlalchemy import URL, make_url


@dataclass
class Traffic:
    """The messages that clients have sent, by the protocol's letters, and where to send them."""

    url: str
    # The database that new connections lead to.
    target: str
    messages: Counter[str] = field(default_factory=Counter)
    # Bytes that the server has answered.
    answered: int = 0

    @property
    def statements(self) -> int:
        """Count the statements: simple queries and executions."""
        return self.messages["Q"] + self.messages["E"]

    @property
    def round_trips(self) -> int:
        """Count how often a client waited for the server: after simple queries and syncs."""
        return self.messages["Q"] + self.messages["S"]


@contextmanager
def counted(database_url: str) -> Iterator[Traffic]:
    """Yield the traffic of a proxy in front of this database; clients connect to its `url`.

    A message is counted before the server gets it, so that all are when an answer is there.
    """
    folder = tempfile.mkdtemp(prefix="ostiary-proxy-")
    url = make_url(database_url)
    through = url.set(host=None, port=None).update_query_dict({"host": folder, "port": "5432"})
    traffic = Traffic(through.render_as_string(hide_password=False), database_url)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"{folder}/.s.PGSQL.5432")
        listener.listen()
        threading.Thread(target=_accept, args=(listener, traffic), daemon=True).start()
        try:
            yield traffic
        finally:
            # Wakes the thread that accepts; closing alone would not.
            listener.shutdown(socket.SHUT_RDWR)
            shutil.rmtree(folder)


def _accept(listener: socket.socket, traffic: Traffic) -> None:
    while True:
        try:
            client, _ = listener.accept()
        except OSError:
            return
        try:
            server = _connect(make_url(traffic.target))
        except OSError:
            client.close()
            continue
        for work, *ends in (_forward, client, server), (_answer, server, client):
            threading.Thread(target=work, args=(*ends, traffic), daemon=True).start()


def _connect(url: URL) -> socket.socket:
    host = str(url.query.get("host") or url.host or "localhost")
    port = int(str(url.query.get("port") or url.port or 5432))
    if not host.startswith("/"):
        return socket.create_connection((host, port))
    server = socket.socket(socket.AF_UNIX)
    server.connect(str(Path(host, f".s.PGSQL.{port}")))
    return server


def _forward(client: socket.socket, server: socket.socket, traffic: Traffic) -> None:
    """Count and pass on what the client sends, until either side has ended.

    The first message has no letter.
    """
    with suppress(OSError), client.makefile("rb") as messages:
        letter = b""
        while size := messages.read(4):
            body = messages.read(int.from_bytes(size) - 4)
            if letter:
                traffic.messages[letter.decode()] += 1
            server.sendall(letter + size + body)
            letter = messages.read(1)
    server.close()


def _answer(server: socket.socket, client: socket.socket, traffic: Traffic) -> None:
    """Count and pass on what the server answers, until either side has ended."""
    with suppress(OSError):
        while part := server.recv(65536):
            traffic.answered += len(part)
            client.sendall(part)
    client.close()
