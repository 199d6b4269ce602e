"""Commands that installed packages add to `ostiary`: entry points of the group `ostiary.commands`.

The name of an entry point is that of the command, and its object is a Click command or group. Entry
points are read when all commands are listed, and when one is looked up that the service lacks.
"""

from collections.abc import Set
from importlib.metadata import EntryPoint, entry_points

import click

from app.commands import unavailable
from app.problems import describe_error

GROUP = "ostiary.commands"
# The distribution whose commands no other one replaces.
PRODUCT = "ostiary"


def added_names(taken: Set[str]) -> Set[str]:
    """Return the names that packages add; warn of those that are taken, and are not added."""
    found = entry_points(group=GROUP)
    kept = taken | {point.name for point in found if _is_own(point)}
    for point in found:
        if point.name in kept and not _is_own(point):
            click.echo(
                f"Warning: the command `{point.name}` of the package {_package(point)} is not"
                " added: Ostiary has one of this name",
                err=True,
            )
    return found.names - taken


def find_command(name: str) -> click.Command | None:
    """Return the command that a package adds by a name, or None.

    One that cannot be used is a command that says why.
    """
    found = list(entry_points(group=GROUP, name=name))
    found = [point for point in found if _is_own(point)] or found
    if not found:
        return None
    if len(found) > 1:
        packages = ", ".join(sorted(map(_package, found)))
        return unavailable(name, f"several packages add the command `{name}`: {packages}")
    return _load(found[0])


def _load(point: EntryPoint) -> click.Command:
    origin = f"the command `{point.name}` of the package {_package(point)}"
    try:
        command = point.load()
    # Whatever its modules raise; a script among them may exit.
    except (Exception, SystemExit) as error:
        return unavailable(point.name, f"{origin} cannot be imported: {describe_error(error)}")
    if not isinstance(command, click.Command):
        return unavailable(point.name, f"{origin} is no command of click: {point.value}")
    return command


def _is_own(point: EntryPoint) -> bool:
    return _package(point) == PRODUCT


def _package(point: EntryPoint) -> str:
    return point.dist.name if point.dist else point.value
