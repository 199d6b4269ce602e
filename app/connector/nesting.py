"""The limit on how deeply settings and templates are nested."""

from collections.abc import Iterable, Mapping

from .errors import ConfigError

#: Levels of a data source's settings, or of a template.
MAX_LEVELS = 50


def check_levels(value: object, path: str, name: str = "") -> None:
    """Raise ConfigError for a structure that is nested too deeply, or contains itself."""
    level = [value]
    for _ in range(MAX_LEVELS + 1):
        # What occurs in several places is looked at once.
        level = list({id(item): item for item in _items_of(level)}.values())
        if not level:
            return
    raise ConfigError({path: [f"must not have more than {MAX_LEVELS} levels"]}, name)


def _items_of(values: Iterable[object]) -> Iterable[object]:
    """Yield the items of objects and lists."""
    for value in values:
        if isinstance(value, Mapping):
            yield from value.values()
        elif isinstance(value, list | tuple):
            yield from value
