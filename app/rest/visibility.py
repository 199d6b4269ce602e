"""What clients see of the values of a row, also inside the objects that it holds as JSON."""

import json
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(eq=False)
class Visibility:
    """What clients see of objects of one kind, such as those of a model.

    >>> address = Visibility(frozenset({"doorCode"}))
    >>> person = Visibility(frozenset({"pin"}), {"address": address})
    >>> person.show({"pin": 1, "address": {"city": "Ulm", "doorCode": 2}})
    {'address': {'city': 'Ulm'}}
    """

    # The properties that no client sees, or may ask for.
    withheld: frozenset[str] = frozenset()
    # Those that hold objects, or arrays of objects, of further kinds; these may form circles.
    inner: dict[str, "Visibility"] = field(default_factory=dict)
    # The property by which an object in an array is known.
    id_name: str = "id"

    def show(self, value: Any) -> Any:
        """Return what clients see of an object, or of the objects in an array."""
        if isinstance(value, list):
            return list(map(self.show, value))
        if not isinstance(value, dict):
            return value
        inner = self.inner
        return {
            name: inner[name].show(held) if name in inner else held
            for name, held in value.items()
            if name not in self.withheld
        }

    def hides(self, path: Sequence[str]) -> bool:
        """Return True if a path in an object leads to what clients do not see."""
        name, *rest = path
        if name in self.withheld:
            return True
        return bool(rest) and name in self.inner and self.inner[name].hides(rest)

    def keep(self, given: Any, stored: Any) -> Any:
        """Return what a client has written in place of what is stored, with what it cannot see.

        An object keeps the withheld values to which the client gives none. An object in an array
        is the stored one with the same id or, without an id, the one of which clients see the same.
        """
        if isinstance(given, list) and isinstance(stored, list):
            return list(self._keep_items(given, stored))
        if not isinstance(given, dict) or not isinstance(stored, dict):
            return given
        inner = {
            name: held.keep(given[name], stored.get(name))
            for name, held in self.inner.items()
            if name in given
        }
        kept = {name: value for name, value in stored.items() if name in self.withheld}
        return {**kept, **given, **inner}

    def _keep_items(self, given: Sequence[Any], stored: Sequence[Any]) -> Iterator[Any]:
        known = defaultdict[str, deque[Any]](deque)
        for item in stored:
            known[self._identity(item)].append(item)
        for item in given:
            same = known[self._identity(item)]
            yield self.keep(item, same.popleft() if same else None)

    def _identity(self, item: Any) -> str:
        """Return what an item of an array is known by."""
        seen = self.show(item)
        is_known = isinstance(seen, dict) and seen.get(self.id_name) is not None
        return json.dumps([seen[self.id_name]] if is_known else seen, sort_keys=True)

    def hides_anything(self) -> bool:
        """Return True if clients do not see something of such objects, at any depth."""
        return any(kind.withheld for kind in self._kinds())

    def _kinds(self) -> Iterator["Visibility"]:
        """Yield this kind of objects and those inside, each once."""
        seen, open_ = {id(self)}, [self]
        while open_:
            kind = open_.pop()
            yield kind
            new = [inner for inner in kind.inner.values() if id(inner) not in seen]
            seen.update(map(id, new))
            open_ += new
