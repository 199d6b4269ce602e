"""Packages of node that tests need: installed once, by the lock file of their folder."""

import fcntl
import subprocess
from pathlib import Path

from .programs import require


def install(folder: Path) -> None:
    """Install the packages, unless these are; test processes wait for each other."""
    wanted = (folder / "package-lock.json").read_bytes()
    installed = folder / "node_modules" / "installed.json"
    with (folder / "package.json").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not installed.exists() or installed.read_bytes() != wanted:
            require("npm")
            subprocess.run(["npm", "ci", "--loglevel=error"], cwd=folder, check=True, timeout=110)
            installed.write_bytes(wanted)
