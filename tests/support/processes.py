"""Programs that start others: all processes of one are those that work in its folder."""

import os
import signal
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from .waiting import eventually

# Seconds for processes that are told to end.
PATIENCE = 5


def processes_in(folder: Path, name: str = "") -> list[int]:
    """Return the ids of the processes that work in a folder, and have a word in their title."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        # One that has ended, or is another user's.
        with suppress(OSError):
            is_there = (process / "cwd").readlink().is_relative_to(folder)
            if is_there and name in (process / "cmdline").read_text():
                found.append(int(process.name))
    return found


def send(number: signal.Signals, folder: Path, name: str = "") -> None:
    """Send a signal to those processes."""
    for process in processes_in(folder, name):
        with suppress(ProcessLookupError):
            os.kill(process, number)


def freeze(folder: Path) -> None:
    """Let none of them go on; the system acknowledges what is sent to them."""
    # Once more for those that were started meanwhile.
    for _ in range(2):
        send(signal.SIGSTOP, folder)


def thaw(folder: Path) -> None:
    send(signal.SIGCONT, folder)


def kill(folder: Path) -> None:
    """Kill all of them, none before the other, frozen ones too."""
    freeze(folder)
    while processes_in(folder):
        send(signal.SIGKILL, folder)


def end(folder: Path) -> None:
    """Let all of them give back what outlives them, as shared memory; kill those that stay."""
    send(signal.SIGQUIT, folder)
    thaw(folder)
    with suppress(AssertionError):
        eventually(lambda: not processes_in(folder), PATIENCE)
    kill(folder)


@dataclass
class Program:
    """A program as systemd runs it: its command, and the folder where it works."""

    command: list[str]
    folder: Path
    user: str | None
    environment: Mapping[str, str] = field(default_factory=dict)
    process: subprocess.Popen | None = None

    @property
    def log(self) -> str:
        return (self.folder / "log").read_text()

    def start(self) -> None:
        with (self.folder / "log").open("a") as log:
            self.process = subprocess.Popen(
                self.command,
                cwd=self.folder,
                env={"PATH": "/usr/bin:/bin", "HOME": str(self.folder), **self.environment},
                user=self.user,
                stdout=log,
                stderr=log,
            )

    def send(self, number: signal.Signals) -> None:
        """Send a signal to the first of its processes."""
        if self.process:
            self.process.send_signal(number)

    def stop(self) -> None:
        """Tell it to stop, and wait until it has, if it runs."""
        if self.process:
            self.process.terminate()
            self.process.wait(60)
