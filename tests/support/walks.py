"""Documents that a reader follows: files to write, and commands with what they print.

A line that ends in "`models/site.json`:" names the file below it; after "to", as in "add to
`config.py`:", the lines are added to the file. A block `console` has commands behind `$`, each
followed by what it prints, where `…` stands for any text. A block that ends with a command that
serves is typed in a terminal of its own, and `Ctrl-C` in the text stops the last of these. The
command behind a `sleep` may be typed again, on a machine that takes longer.
"""

import os
import re
import signal
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from .documents import NAMED, ROOT, STEP
from .waiting import PATIENCE, eventually

STEP_OR_STOP = re.compile(f"{STEP.pattern}|`Ctrl-C`", STEP.flags)
COMMAND = re.compile(r"^\$ ((?:.*\\\n)*.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
SERVES = re.compile(r"^(\w+=\S+ )*(ostiary (run|dev)|python neighbours)\b")
# What ends the output of a command of a shell; no command prints it.
END = "\x1e"


def fits(stated: str, printed: str) -> bool:
    """Return True if a command has printed what a document states."""
    pattern = ".*?".join(map(re.escape, stated.rstrip().split("…")))
    return re.fullmatch(pattern, printed.rstrip(), re.DOTALL) is not None


class Shell:
    """A shell in a folder, which keeps its variables between commands."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            ["bash"],
            cwd=folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )

    def run(self, command: str) -> str:
        """Run a command, which must succeed; return what it prints."""
        end = f"printf '{END}%s{END}' $?"
        self._process.stdin.write(f"{command}\n{end}\n".encode())
        self._process.stdin.flush()
        printed, status = self._read(), self._read()
        assert status == "0", f"$ {command}\n{printed}"
        return printed

    def _read(self) -> str:
        """Return what is printed up to the next mark."""
        read = bytearray()
        while (byte := self._process.stdout.read(1)) not in (END.encode(), b""):
            read += byte
        return read.decode().replace("\r\n", "\n")

    def close(self) -> None:
        """Let the shell end."""
        self._process.communicate(timeout=30)


@dataclass
class Server:
    """A command that serves until it is stopped, and what it prints."""

    process: subprocess.Popen[bytes]
    log: Path

    def stop(self) -> None:
        """Press Ctrl-C."""
        os.killpg(self.process.pid, signal.SIGINT)
        self.process.wait(60)


class Walk:
    """A reader who follows documents in the folder of a project, and begins in the folder above.

    `replaced` are words of the documents, such as ports, with those that are used in their place.
    """

    def __init__(
        self, folder: Path, environment: Mapping[str, str], replaced: Mapping[str, str]
    ) -> None:
        self.folder, self.replaced = folder, replaced
        self._environment = environment
        self._servers: list[Server] = []
        self._shell = Shell(folder.parent, environment)

    def type(self, command: str) -> str:
        """Type a command that no document has; return what it prints."""
        return self._shell.run(command)

    def follow(self, document: str, *headings: str) -> None:
        """Do what sections of a document say."""
        parts = re.split(r"^##+ (.*)$", (ROOT / document).read_text(), flags=re.MULTILINE)
        for heading in headings:
            for step in STEP_OR_STOP.finditer(parts[parts.index(heading) + 1]):
                self._take(step)

    def close(self) -> None:
        """Stop what runs."""
        for server in reversed(self._servers):
            server.stop()
        self._shell.close()

    def _take(self, step: re.Match[str]) -> None:
        if step["language"] is None:
            self._servers.pop().stop()
        elif step["language"] == "console":
            self._type(COMMAND.findall(self._local(step["text"])))
        else:
            self._write(NAMED.search(step["before"]), self._local(step["text"]))

    def _local(self, text: str) -> str:
        words = "|".join(self.replaced)
        return re.sub(rf"\b({words})\b", lambda word: self.replaced[word[1]], text)

    def _write(self, named: re.Match[str] | None, text: str) -> None:
        assert named, f"nothing names the file of these lines:\n{text}"
        path = self.folder / named[2]
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a" if named[1] else "w") as file:
            file.write(text)

    def _type(self, commands: list[tuple[str, str]]) -> None:
        if SERVES.match(commands[-1][0]):
            self._serve(commands)
            return
        before = ""
        for command, stated in commands:
            self._check(command, stated, patience=PATIENCE if before.startswith("sleep ") else 0)
            before = command

    def _check(self, command: str, stated: str, patience: float) -> None:
        """Run a command, again for so many seconds until it prints what is stated."""
        printed = ""

        def prints_it() -> bool:
            nonlocal printed
            printed = self._shell.run(command)
            return fits(stated, printed)

        eventually(prints_it, patience, lambda: f"$ {command}\n{printed}\ninstead of\n{stated}")

    def _serve(self, commands: list[tuple[str, str]]) -> None:
        """Start a server in a terminal of its own; wait until it has printed what is stated."""
        *before, (command, stated) = commands
        log = self.folder.with_name(f"server{len(self._servers)}.log")
        with log.open("w") as output:
            process = subprocess.Popen(
                ["bash", "-ec", "\n".join([*(text for text, _ in before), f"exec env {command}"])],
                cwd=self.folder,
                env=self._environment,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        self._servers.append(Server(process, log))
        said = f"…{stated.rstrip()}…"
        eventually(lambda: fits(said, log.read_text()), told=log.read_text)
