"""HAProxy in front of a cluster of Patroni, as docs/postgresql.md prints it."""

import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from .documents import blocks
from .patroni import GUIDE, WAY, PatroniCluster, localize
from .ports import free_port
from .programs import require
from .waiting import eventually

PROGRAM = "/usr/sbin/haproxy"
# The port of the guide.
PORT = ":5000"


@contextmanager
def haproxy(folder: Path, cluster: PatroniCluster) -> Iterator[str]:
    """Run HAProxy; yield the URL of the database behind it."""
    require("HAProxy", Path(PROGRAM).exists())
    port = free_port()
    configuration, log = folder / "haproxy.cfg", folder / "haproxy.log"
    [printed] = blocks(GUIDE, "text", WAY)
    configuration.write_text(localize(printed, cluster.ports).replace(PORT, f":{port}"))
    with log.open("w") as output:
        process = subprocess.Popen(
            [PROGRAM, "-db", "-f", configuration], stdout=output, stderr=output
        )
    try:
        eventually(lambda: _listens(port) or process.poll() is not None)
        assert process.poll() is None, log.read_text()
        yield cluster.url(1).replace(PORT, f":{port}")
    finally:
        process.kill()
        process.wait()


def _listens(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
        return True
    return False
