"""Visibility of a row's values, including those inside its JSON objects."""

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

    # Properties that no client sees or may request.
    withheld: frozenset[str] = frozenset()
    # Properties that hold objects, or arrays of objects, of further kinds; kinds may form cycles.
    inner: dict[str, "Visibility"] = field(default_factory=dict)
    # The property that identifies an object in an array.
    id_name: str = "id"

    def show(self, value: object) -> Any:
        """Return the visible part of an object, or of the objects in an array."""
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
        """Return True if a path in an object leads to something that clients do not see."""
        name, *rest = path
        if name in self.withheld:
            return True
        return bool(rest) and name in self.inner and self.inner[name].hides(rest)

    def keep(self, given: object, stored: object) -> object:
        """Return a client's value completed by hidden parts of the stored one.

        An object keeps hidden values that the client does not set. An object in an array
        corresponds to the stored one with the same id or, without an id, with the same visible
        part.
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

    def _keep_items(self, given: Sequence[object], stored: Sequence[object]) -> Iterator[object]:
        known = defaultdict[str, deque[object]](deque)
        for item in stored:
            known[self._identity(item)].append(item)
        for item in given:
            same = known[self._identity(item)]
            yield self.keep(item, same.popleft() if same else None)

    def _identity(self, item: object) -> str:
        """Return the identity of an item of an array."""
        seen = self.show(item)
        is_known = isinstance(seen, dict) and seen.get(self.id_name) is not None
        return json.dumps([seen[self.id_name]] if is_known else seen, sort_keys=True)

    def hides_anything(self) -> bool:
        """Return True if something in such objects is hidden, at any depth."""
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
