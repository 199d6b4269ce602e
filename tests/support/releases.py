"""Wheels, built as those of a release are, and environments in which they are installed."""

import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import requests

from .installation import ROOT
from .ports import free_port
from .waiting import eventually

# What a wheel is built from.
SOURCES = [
    *("LICENSE", "README.md", "app", "ostiary", "ostiary_loopback", "pyproject.toml"),
    *("pytest_ostiary.py", "setup.cfg"),
]


@dataclass
class Environment:
    """A virtual environment, in which a wheel is installed and our libraries can be imported."""

    folder: Path

    def variables(self, **variables: str) -> dict[str, str]:
        """Return our environment with `bin` first, and these variables in place of settings.

        A run of pytest has its temporary folders in the environment's: at its end, pytest removes
        those of earlier runs, which may be tens of thousands of files of this suite.
        """
        ours = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("APP_", "FLASK_", "DATABASE_URL", "INSTANCE_PATH", "PYTHON"))
        }
        path = f"{self.folder / 'bin'}{os.pathsep}{ours['PATH']}"
        folders = {"VIRTUAL_ENV": str(self.folder), "PYTEST_DEBUG_TEMPROOT": str(self.folder)}
        return {**ours, "PATH": path, **folders, **variables}

    def run(
        self, command: str, *arguments: str, cwd: Path, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        """Run a command of the environment, such as `ostiary` or `python`, in a folder."""
        return subprocess.run(
            [self.folder / "bin" / command, *arguments],
            cwd=cwd,
            env=self.variables(**variables),
            capture_output=True,
            text=True,
            timeout=110,
            check=False,
        )

    def install(self, wheel: Path) -> None:
        """Install a wheel without what it depends on, in the place of an earlier release."""
        python = str(self.folder / "bin" / "python")
        options = ["--quiet", "--no-deps", "--no-index", "--no-compile", "--upgrade"]
        _run("-m", "pip", "--python", python, "install", *options, str(wheel))


def copy_sources(folder: Path) -> Path:
    """Copy what a wheel is built from, for one that differs from ours; return the folder."""
    folder.mkdir()
    for name in SOURCES:
        if (ROOT / name).is_dir():
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(ROOT / name, folder / name, ignore=ignored)
        else:
            shutil.copy(ROOT / name, folder)
    return folder


def build_wheel(sources: Path, *options: str) -> Path:
    """Build the sdist and, from it, the wheel, as `make dist` does; return the wheel.

    With `--wheel` it is built from the sources, in half of the time.
    """
    _run("-m", "build", "--no-isolation", *options, cwd=sources)
    [wheel] = (sources / "dist").glob("*.whl")
    return wheel


def make_environment(folder: Path, wheel: Path) -> Environment:
    """Install a wheel in a new environment, which takes a second: it has our libraries."""
    _run("-m", "venv", "--without-pip", str(folder))
    environment = Environment(folder)
    packages = sysconfig.get_path("purelib", vars={"base": str(folder)})
    # The checkout is installed here by a .pth file too, which is not read there.
    Path(packages, "libraries.pth").write_text(sysconfig.get_path("purelib"))
    environment.install(wheel)
    return environment


def download_environment(folder: Path, wheel: Path) -> Environment:
    """Install a wheel with its libraries, and pytest, from the index in a new environment."""
    _run("-m", "venv", str(folder))
    python = str(folder / "bin" / "python")
    _run("-m", "pip", "--python", python, "install", "--quiet", str(wheel), "pytest")
    return Environment(folder)


def _run(*arguments: str, cwd: Path | None = None) -> None:
    result = subprocess.run(
        [sys.executable, *arguments], cwd=cwd, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stdout + result.stderr


@dataclass
class ProjectServer:
    """A command that serves a project: its process, address, and what it has printed."""

    process: subprocess.Popen
    url: str
    log: Path

    def answers(self, path: str) -> bool:
        try:
            return requests.get(f"{self.url}{path}", timeout=60).ok
        except requests.ConnectionError:
            return False

    def wait_for(self, path: str) -> None:
        """Wait until a path is answered without an error."""
        self.wait_until(lambda: self.answers(path))

    def wait_until(self, condition: Callable[[], object]) -> None:
        eventually(condition, told=self.log.read_text)


@contextmanager
def start(
    environment: Environment, command: str, project: Path, **variables: str
) -> Iterator[ProjectServer]:
    """Start `ostiary run` or `dev` in a project, on a port of its own with one worker."""
    port = free_port()
    log = project.with_suffix(".log")
    variables = {
        "PORT": str(port),
        "WEB_CONCURRENCY": "1",
        "APP_MAIL_FOLDER": str(project / "mail"),
        "APP_PASSWORD_HASH": '{"time_cost": 1, "memory_cost": 8}',
        **variables,
    }
    with log.open("w") as output:
        process = subprocess.Popen(
            [environment.folder / "bin" / "ostiary", command],
            cwd=project,
            env=environment.variables(PYTHONUNBUFFERED="1", **variables),
            stdout=output,
            stderr=output,
        )
    try:
        yield ProjectServer(process, f"http://127.0.0.1:{port}", log)
    finally:
        process.terminate()
        process.wait(30)
