"""The command `ostiary dev`: serve, and restart when a file of the project changes."""

import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path

import click

from app.projects.folder import project_folder
from app.server import listening

from .run import make_server, migrate_and_serve

# Seconds between two checks of the files.
INTERVAL = 0.3
# Suffixes of a project's files that cause a restart, and folders that are ignored.
SUFFIXES = (".py", ".json", ".html", ".txt")
IGNORED = {"__pycache__", "node_modules", "tests"}


@click.command()
@click.pass_context
def dev(ctx: click.Context) -> None:
    """Serve, and restart when a file changes.

    Also applies missing migrations at each start. HOST and PORT are the address.
    """
    listening.check_environment()
    # Exits if another program uses the address, for which each start would fail.
    make_server()
    click.echo(
        f"Serving on http://{listening.address()}. A change of the project's files starts it again;"
        " Ctrl-C ends it."
    )
    # Imported once for all servers, which are forked.
    import_module("app.factory")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    while True:
        times = _modification_times()
        server = os.fork()
        if not server:
            migrate_and_serve(ctx, workers=1, loglevel="warning", graceful_timeout=1)
        try:
            changed = _wait_for_change(times)
        except KeyboardInterrupt:
            return
        finally:
            _stop(server)
        click.echo(f"{changed.relative_to(project_folder())} has changed.")


def _modification_times() -> dict[Path, int]:
    """Return the modification time of each file of the project."""
    times = {}
    for path in _files():
        # It may have been deleted.
        with suppress(FileNotFoundError):
            times[path] = path.stat().st_mtime_ns
    return times


def _files() -> Iterator[Path]:
    for folder, subfolders, names in os.walk(project_folder()):
        subfolders[:] = [name for name in subfolders if name not in IGNORED and name[0] != "."]
        if "pyvenv.cfg" in names:
            subfolders.clear()
        yield from (Path(folder, name) for name in names if name.endswith(SUFFIXES))


def _wait_for_change(times: dict[Path, int]) -> Path:
    """Return a file that was changed, created or deleted."""
    while True:
        time.sleep(INTERVAL)
        if changed := dict(_modification_times().items() ^ times.items()):
            return min(changed)


def _stop(server: int) -> None:
    """Stop a server, which may have ended with an error."""
    os.kill(server, signal.SIGTERM)
    os.waitpid(server, 0)
