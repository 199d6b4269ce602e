"""Traversal of nested objects and lists, level by level."""

from collections.abc import Iterable, Iterator, Mapping

from .errors import ConfigError

#: Maximum levels of a data source's settings, or of a template.
MAX_LEVELS = 50
# Checked before Mapping, which takes five times as long.
SCALARS = (str, int, float)


def check_levels(value: object, path: str, name: str = "") -> None:
    """Raise ConfigError for a structure that is nested too deeply, or contains itself."""
    level = [value]
    for _ in range(MAX_LEVELS + 1):
        # Each container is visited once, even if it occurs several times.
        level = list({id(item): item for item in items_of(level)}.values())
        if not level:
            return
    raise ConfigError({path: [f"must not have more than {MAX_LEVELS} levels"]}, name)


def levels_of(value: object) -> Iterator[list[object]]:
    """Yield the values of a structure level by level, from the structure itself on."""
    level = [value]
    while level:
        yield level
        level = list(items_of(level))


def items_of(values: Iterable[object]) -> Iterator[object]:
    """Yield the items of the objects and lists among values."""
    for value in values:
        if isinstance(value, SCALARS):
            continue
        if isinstance(value, list | tuple):
            yield from value
        elif isinstance(value, Mapping):
            yield from value.values()
