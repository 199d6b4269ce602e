"""Measure how long the service and its commands take to start, and their CPU time."""

import argparse
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from http.client import HTTPConnection, HTTPException
from statistics import median

from tests.support.ports import free_port

from . import stack
from .tables import Table, publish

# Seconds from the command to the first answer, on a database that is migrated.
AIM = 1
COLUMNS = "ms", "least ms", "CPU ms"
PYTHON = sys.executable


def main() -> None:
    """Start everything in turn, and print the medians."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="3 rounds; not kept")
    parser.add_argument("--rounds", type=int, default=15, help="15 by default")
    options = parser.parse_args()
    rounds = 3 if options.quick else options.rounds
    how = (
        f"Medians of {rounds} rounds, on SQLite and a database that is migrated. The aim of the"
        f" first answer is {AIM:,} s"
    )
    publish("start", how, _measure(rounds), keep=not options.quick)


def _measure(rounds: int) -> Iterator[Table]:
    with stack.temporary_folder() as folder:
        environment = stack.default_environment(stack.sqlite(folder, "ostiary"), folder)
        starts: dict[str, Callable[[], float]] = {
            "python -c pass": lambda: _run(environment, "-c", "pass"),
            "import flask": lambda: _run(environment, "-c", "import flask"),
            "import flask, flask_sqlalchemy": lambda: _run(
                environment, "-c", "import flask, flask_sqlalchemy"
            ),
            "import wsgi": lambda: _run(environment, "-c", "import wsgi"),
            "gunicorn, first answer": lambda: _serve(environment),
            "flask db upgrade": lambda: _flask(environment, "db", "upgrade"),
            "flask users list": lambda: _flask(environment, "users", "list"),
        }
        found: dict[str, list[tuple[float, float]]] = {name: [] for name in starts}
        for _ in range(rounds):
            for name, start in starts.items():
                before = _cpu_of_children()
                found[name].append((start(), _cpu_of_children() - before))
    table = Table("", COLUMNS)
    for name, each in found.items():
        times, cpu = zip(*each, strict=True)
        milliseconds = (median(times), min(times), median(cpu))
        table.rows.append([name, *(round(1000 * seconds) for seconds in milliseconds)])
    yield table


def _run(environment: dict[str, str], *arguments: str) -> float:
    """Return the seconds that a command takes."""
    start = time.perf_counter()
    command = [PYTHON, *arguments]
    subprocess.run(command, cwd=stack.ROOT, env=environment, check=True, capture_output=True)
    return time.perf_counter() - start


def _flask(environment: dict[str, str], *arguments: str) -> float:
    return _run(environment, "-m", "flask", "--app", "wsgi", *arguments)


def _serve(environment: dict[str, str]) -> float:
    """Return the seconds until the service has answered."""
    port = free_port()
    start = time.perf_counter()
    command = [PYTHON, "-m", "gunicorn", "wsgi:app"]
    settings = {**environment, "PORT": str(port)}
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, cwd=stack.ROOT, env=settings, **quiet) as process:
        while not _answers(port):
            time.sleep(0.005)
        took = time.perf_counter() - start
        process.send_signal(signal.SIGTERM)
    return took


def _answers(port: int) -> bool:
    connection = HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("GET", "/health")
        return connection.getresponse().status == 200
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()


def _cpu_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
