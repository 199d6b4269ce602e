"""Methods of models that are switched off: LoopBack 3's `sharedMethods`."""

import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

from flask import Flask

from app.access.policy import compiled_rules
from app.problems import ConfigurationError, suggest

from .endpoint import Endpoint

# LoopBack 3's prefix for the names of methods of a row.
PROTOTYPE = "prototype."
# LoopBack 3's alternative names of methods.
ALIASES = {
    "destroyById": "deleteById",
    "removeById": "deleteById",
    "updateAttributes": "patchAttributes",
    "upsert": "patchOrCreate",
    "updateOrCreate": "patchOrCreate",
    "update": "updateAll",
    "patchOrCreateWithWhere": "upsertWithWhere",
}
# Methods of a row that LoopBack 3 names without the prefix, and those, in addition to relations',
# that it names with it; the application's own may be named either way.
WITHOUT_PREFIX = ("findById", "exists", "replaceById", "deleteById")
WITH_PREFIX = ("patchAttributes", "verify")
RELATED = "__"
# LoopBack 3's methods that no model here has.
UNSERVED = (
    *("destroyAll", "createChangeStream", "diff", "changes", "checkpoint", "currentCheckpoint"),
    *("createUpdates", "bulkUpdate", "findLastChange", "updateLastChange"),
)


def switch_off(
    endpoints: Iterable[Endpoint], *shared_methods: Mapping[str, bool]
) -> list[Endpoint]:
    """Return the endpoints, marked if they are switched off; later mappings take precedence."""
    shared: dict[str, bool] = {}
    for methods in shared_methods:
        shared |= methods
    endpoints = list(endpoints)
    off = {endpoint.method for endpoint in endpoints if _is_off(endpoint, shared)}
    return [
        _mark(endpoint, endpoint.method in off or _is_narrowed(endpoint, off, shared))
        for endpoint in endpoints
    ]


def _is_narrowed(endpoint: Endpoint, off: Container[str], shared: Mapping[str, bool]) -> bool:
    """Return True if a method is off together with another one, and not switched on by name."""
    if endpoint.ruled_by in off:
        return True
    is_on = endpoint.narrowed_by and True in map(shared.get, _own_names(endpoint))
    return endpoint.narrowed_by in off and not is_on


def _mark(endpoint: Endpoint, is_off: bool) -> Endpoint:
    return endpoint if endpoint.is_off == is_off else endpoint.replace(is_off=is_off)


def _is_off(endpoint: Endpoint, shared: Mapping[str, bool]) -> bool:
    """Return True if a method is switched off.

    As in LoopBack 3, an exact name precedes patterns, and patterns that switch off precede those
    that switch on. Unlike there, alternative names of a method switch it off, too.
    """
    if not shared:
        return False
    if False in map(shared.get, _all_names(endpoint.method)):
        return True
    names = _own_names(endpoint)
    if True in map(shared.get, names):
        return False
    prefix = PROTOTYPE if names[0].startswith(PROTOTYPE) else ""
    names += [prefix + alias for alias in _aliases(endpoint.method)]
    return any(_matches(pattern, name) for pattern in _off_patterns(shared) for name in names)


def _own_names(endpoint: Endpoint) -> list[str]:
    """Return LoopBack 3's name of a method; both names for an application's own."""
    method = endpoint.method
    if method in WITH_PREFIX or method.startswith(RELATED):
        return [PROTOTYPE + method]
    is_of_row = endpoint.routes[0].path.startswith("/<id>")
    return [PROTOTYPE + method, method] if is_of_row and method not in WITHOUT_PREFIX else [method]


def _aliases(method: str) -> list[str]:
    return [alias for alias, name in ALIASES.items() if name == method]


def _all_names(method: str) -> list[str]:
    """Return the names of a method, with and without the prefix."""
    names = [method, *_aliases(method)]
    return [*names, *(PROTOTYPE + name for name in names)]


def _off_patterns(shared: Mapping[str, bool]) -> list[str]:
    """Return the patterns that switch methods off."""
    return [name for name, value in shared.items() if _is_pattern(name) and not value]


def _is_pattern(name: str) -> bool:
    return "*" in name


def _matches(pattern: str, name: str) -> bool:
    """Return True if a pattern matches anywhere in a name, as in LoopBack 3."""
    return bool(re.search(".*".join(map(re.escape, pattern.split("*"))), name))


def check_setting(app: Flask) -> None:
    """Raise ConfigurationError for a name in SHARED_METHODS that no model's method has."""
    methods = {method for _, method in compiled_rules.of(app)}
    for problem in _unknown([*methods, *UNSERVED], app.config["SHARED_METHODS"]).values():
        raise ConfigurationError(f"SHARED_METHODS cannot be used: {problem}")


def unknown_methods(endpoints: Iterable[Endpoint], shared: Mapping[str, bool]) -> dict[str, str]:
    """Return unknown names, each with a suggestion."""
    return _unknown((endpoint.method for endpoint in endpoints), shared)


def _unknown(methods: Iterable[str], shared: Mapping[str, bool]) -> dict[str, str]:
    if not shared:
        return {}
    known = [name for method in methods for name in _all_names(method)]
    return {
        name: f"there is no method {name!r}{suggest(name, known)}"
        for name in shared
        if not _is_pattern(name) and name not in known
    }


def ineffective(
    endpoints: Sequence[Endpoint], shared: Mapping[str, bool]
) -> Iterator[tuple[str, str]]:
    """Yield names without effect, each with the reason."""
    unknown = unknown_methods(endpoints, shared)
    for name, reason in unknown.items():
        if shared[name] or name.removeprefix(PROTOTYPE) not in UNSERVED:
            yield name, reason
    if not _off_patterns(shared):
        return
    own = {endpoint.method: _own_names(endpoint) for endpoint in endpoints}
    for name in [name for name in shared if name not in unknown]:
        if shared[name] and (why := _why_not_on(name, own)):
            yield name, f"is without effect: {why}"


def _why_not_on(name: str, own: Mapping[str, Sequence[str]]) -> str:
    """Return why a name cannot switch on what a pattern switches off; empty if it can.

    `own` has LoopBack 3's names of each method.
    """
    if _is_pattern(name):
        return "what a pattern switches off is switched on by its name"
    method = name.removeprefix(PROTOTYPE)
    names = own.get(ALIASES.get(method, method), [name])
    return "" if name in names else f"LoopBack 3 calls the method {names[0]}"
