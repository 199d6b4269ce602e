"""The service as a process with its own instance folder."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]


@dataclass
class Installation:
    """A folder in which the service runs as it does for its users."""

    folder: Path

    def __post_init__(self) -> None:
        for name in ("app", "ostiary"):
            (self.folder / name).symlink_to(ROOT / name)
        # Copies: `flask` follows links, and would find itself in our own folder.
        for name in ("wsgi.py", "gunicorn.conf.py"):
            shutil.copy(ROOT / name, self.folder)
        (self.folder / "instance").mkdir()

    def environment(self, **variables: str) -> dict[str, str]:
        """Return our environment without the service's settings, and with these instead."""
        ours = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("APP_", "FLASK_", "DATABASE_URL"))
        }
        return {**ours, "PYTHONPATH": str(self.folder), **variables}

    def run(self, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run `python` with arguments, in the folder."""
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=self.folder,
            env=self.environment(**variables),
            capture_output=True,
            text=True,
            timeout=110,
            check=False,
        )

    def settings(self, *names: str, **variables: str) -> list[str]:
        """Start the service; return the values of settings as they print."""
        code = f"from wsgi import app; [print(repr(app.config[name])) for name in {names!r}]"
        result = self.run("-c", code, **variables)
        assert result.returncode == 0, result.stderr
        return result.stdout.splitlines()
