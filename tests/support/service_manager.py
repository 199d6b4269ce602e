"""A stand-in for systemctl: starts and stops the services of unit files, as far as tests need it.

python service_manager.py FOLDER start|stop|restart|enable --now|daemon-reload [UNIT...]
"""

import os
import shlex
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

# Seconds in which a service must have started or stopped.
LIMIT = 60


class Unit:
    """A service: its unit file is in the folder, as its log and the id of its process are."""

    def __init__(self, folder: Path, name: str) -> None:
        template, _, self.instance = name.partition("@")
        self.file = folder / (f"{template}@.service" if self.instance else f"{template}.service")
        self.pid_file = folder / f"{name}.pid"
        self.log = folder / f"{name}.log"

    def values(self, key: str) -> list[str]:
        lines = [line.partition("=") for line in self.file.read_text().splitlines()]
        return [value.replace("%i", self.instance) for name, _, value in lines if name == key]

    def environment(self) -> dict[str, str]:
        variables = [
            variable for value in self.values("Environment") for variable in shlex.split(value)
        ]
        for path in self.values("EnvironmentFile"):
            file = Path(path.removeprefix("-"))
            if file.exists() or not path.startswith("-"):
                variables += shlex.split(file.read_text())
        given = dict(variable.split("=", 1) for variable in variables)
        return {"PATH": os.environ["PATH"], "HOME": str(self.file.parent), **given}

    def start(self) -> None:
        """Start it, and wait until it is ready, which the types `notify` and `forking` tell."""
        if self.values("Type") == ["notify"]:
            self._start_and_listen()
        else:
            self._launch().wait(LIMIT)
            self.pid_file.write_text(_first_text(Path(self.values("PIDFile")[0])))

    def _start_and_listen(self) -> None:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notifications:
            # An abstract name that Linux chooses: that of a file may be too long.
            notifications.bind("")
            notifications.settimeout(LIMIT)
            name = notifications.getsockname()[1:].decode()
            process = self._launch(NOTIFY_SOCKET=f"@{name}")
            self.pid_file.write_text(str(process.pid))
            while b"READY=1" not in notifications.recv(4096):
                pass

    def _launch(self, **variables: str) -> subprocess.Popen:
        with self.log.open("a") as log:
            return subprocess.Popen(
                shlex.split(self.values("ExecStart")[0]),
                cwd=(self.values("WorkingDirectory") or ["/"])[0],
                env={**self.environment(), **variables},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def stop(self) -> None:
        """Stop it as KillMode=mixed does: end its first process, and kill what it leaves."""
        if not self.pid_file.exists():
            return
        pid = int(self.pid_file.read_text())
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
        deadline = time.monotonic() + LIMIT
        while _runs(pid) and time.monotonic() < deadline:
            time.sleep(0.02)
        with suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)
        self.pid_file.unlink()


def _first_text(file: Path) -> str:
    """Return the text of a file, once it has one."""
    deadline = time.monotonic() + LIMIT
    while not (file.exists() and file.read_text()):
        assert time.monotonic() < deadline, f"{file} stays empty"
        time.sleep(0.01)
    return file.read_text()


def _runs(pid: int) -> bool:
    """Tell whether a process runs; an orphan that nobody waits for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def main(folder: str, action: str, *names: str) -> None:
    for name in names:
        if not name.startswith("-"):
            unit = Unit(Path(folder), name)
            if action in {"stop", "restart"}:
                unit.stop()
            if action in {"start", "restart", "enable"}:
                unit.start()


if __name__ == "__main__":
    main(*sys.argv[1:])
