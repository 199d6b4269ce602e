"""The service on a port of its own: under gunicorn with two workers, or in this process."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import requests
from flask import Flask
from werkzeug.serving import WSGIRequestHandler, make_server

from tests.conftest import PASSWORD

from .ports import free_port
from .waiting import eventually

ROOT = Path(__file__).parents[2]


def children_of(process: int) -> list[int]:
    """Return the ids of the processes that a process has started."""
    return [
        int(pid) for pid in Path(f"/proc/{process}/task/{process}/children").read_text().split()
    ]


@dataclass
class Server:
    """A gunicorn: how it is started, where it listens, and what it has logged."""

    url: str
    log: Path
    root: Path
    environment: dict[str, str]
    # The program that starts it, and its arguments.
    launcher: Sequence[str] = ()
    process: subprocess.Popen = field(init=False)

    def start(self) -> None:
        """Start it, for the first time or again at the same address; wait until it answers."""
        command = [*self.launcher, f"{sys.prefix}/bin/gunicorn", "wsgi:app"]
        with self.log.open("a") as output:
            self.process = subprocess.Popen(
                command,
                cwd=self.root,
                env=self.environment,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        _wait_until_it_answers(self)

    def workers(self) -> list[int]:
        return children_of(self.process.pid)

    @contextmanager
    def only(self, worker: int) -> Iterator[None]:
        """Let one worker answer, and none of the others."""
        others = [pid for pid in self.workers() if pid != worker]
        for pid in others:
            os.kill(pid, signal.SIGSTOP)
        yield
        for pid in others:
            os.kill(pid, signal.SIGCONT)

    def stop(self) -> int:
        """Let it end, and return its status; a stop that lasts too long leaves no process."""
        self.process.terminate()
        try:
            return self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.kill()
            raise

    def kill(self) -> None:
        """Kill all of its processes, as systemd does when the first one is killed."""
        os.kill(self.process.pid, signal.SIGSTOP)
        for pid in [*self.workers(), self.process.pid]:
            os.kill(pid, signal.SIGKILL)
        self.process.wait(30)


@contextmanager
def serve(
    folder: Path,
    database_url: str,
    root: Path = ROOT,
    launcher: Sequence[str] = (),
    **environment: str,
) -> Iterator[Server]:
    """Run gunicorn on a migrated database, with its files in `folder` and the code of `root`.

    It has two workers, unless WEB_CONCURRENCY says otherwise. `launcher` is the program, with its
    arguments, that executes it.
    """
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("APP_")},
        "PYTHONPATH": str(root),
        "DATABASE_URL": database_url,
        "PORT": str(port),
        "APP_PUBLIC_URL": url,
        "APP_MAIL_FOLDER": str(folder / "instance" / "mail"),
        "APP_PASSWORD_HASH": '{"time_cost": 1, "memory_cost": 8}',
        "APP_THROTTLE_ENABLED": "false",
        "WEB_CONCURRENCY": "2",
        # A client that the machine holds up for 2 s shall find its connection all the same.
        "GUNICORN_CMD_ARGS": "--keep-alive=30",
        **environment,
    }
    log = folder / "gunicorn.log"
    log.write_text("")
    server = Server(url, log, root, environment, launcher)
    try:
        server.start()
        yield server
    finally:
        server.stop()


def newcomer(url: str, email: str = "ada@example.com") -> dict[str, str]:
    """Register, log in, and return the header that says so."""
    credentials = {"email": email, "password": PASSWORD}
    requests.post(f"{url}/api/users", json=credentials, timeout=60).raise_for_status()
    token = requests.post(f"{url}/api/users/login", json=credentials, timeout=60).json()
    return {"Authorization": token["id"]}


class QuietHandler(WSGIRequestHandler):
    """Logs no requests: their lines would have the tokens in the query."""

    def log_request(self, *details: Any) -> None:
        pass


@contextmanager
def serve_app(app: Flask, port: int = 0) -> Iterator[str]:
    """Serve an app by threads of this process, which starts at once; yields the address."""
    server = make_server("127.0.0.1", port, app, threaded=True, request_handler=QuietHandler)
    # Seconds after which it looks whether it shall end.
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _wait_until_it_answers(server: Server) -> None:
    workers = int(server.environment["WEB_CONCURRENCY"])

    def answers() -> bool:
        assert server.process.poll() is None, f"gunicorn did not start:\n{server.log.read_text()}"
        return len(server.workers()) == workers and answers_at(server.url)

    eventually(answers, told=server.log.read_text)


def answers_at(url: str) -> bool:
    """Return True if a service answers at a URL, also if it refuses."""
    try:
        requests.get(url, timeout=60)
    except requests.ConnectionError:
        return False
    return True
