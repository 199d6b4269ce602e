"""Methods that are switched off and on in JSON: `sharedMethods`, `disableRemoteMethodByName`."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from app.problems import Problems
from app.rest.endpoint import Endpoint
from app.rest.shared_methods import ineffective, unknown_methods

REMOTING, SHARED, DISABLED = "remoting", "sharedMethods", "disableRemoteMethodByName"


@dataclass
class Switches:
    """What JSON says of the methods of a model, by their names, each with its place."""

    shared: dict[str, tuple[str, bool]] = field(default_factory=dict)
    # Those that no `sharedMethods` switches on again.
    disabled: dict[str, tuple[str, bool]] = field(default_factory=dict)

    def read(self, place: str, declared: Mapping[str, Any], problems: Problems) -> None:
        """Add what an object says, which precedes what was said before."""
        remoting = declared.get(REMOTING)
        path = f"{place}{REMOTING}"
        if isinstance(remoting, Mapping):
            problems.check_keys(path, remoting, [SHARED])
            self.shared |= _shared(f"{path}.{SHARED}", remoting.get(SHARED), problems)
        elif remoting is not None:
            problems.add(path, "must be an object")
        self.shared |= _shared(f"{place}{SHARED}", declared.get(SHARED), problems)
        self.disabled |= _disabled(f"{place}{DISABLED}", declared.get(DISABLED), problems)

    def usable(self, endpoints: Sequence[Endpoint], problems: Problems) -> dict[str, bool]:
        """Return which methods are switched off and on, given all; warn of names without effect."""
        switches = {**self.shared, **self.disabled}
        values = {name: value for name, (_, value) in switches.items()}
        for name, reason in ineffective(endpoints, values):
            problems.warn(switches[name][0], reason)
        unknown = unknown_methods(endpoints, values)
        return {name: value for name, value in values.items() if name not in unknown}


def _shared(path: str, methods: Any, problems: Problems) -> Iterator[tuple[str, tuple[str, bool]]]:
    if methods is not None and not isinstance(methods, Mapping):
        problems.add(path, "must be an object")
        return
    for name, value in (methods or {}).items():
        if isinstance(value, bool):
            yield name, (f"{path}.{name}", value)
        else:
            problems.add(f"{path}.{name}", "must be true or false")


def _disabled(path: str, names: Any, problems: Problems) -> Iterator[tuple[str, tuple[str, bool]]]:
    names = [names] if isinstance(names, str) else names or []
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        problems.add(path, "must be the name of a method, or a list of names")
        return
    yield from ((name, (path, False)) for name in names)
