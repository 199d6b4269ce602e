"""Values that JSON files declare, with their places, which problems of them name."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from app.problems import Problems

JsonObject = Mapping[str, object]


@dataclass(frozen=True)
class Declaration:
    """A value of a file, and its place, such as `note.json: properties.age.type`.

    >>> age = Declaration({"type": "strng"}, problems, "note.json: properties.age")
    >>> age["type"].add("there is no such type")
    >>> problems.found
    ['note.json: properties.age.type: there is no such type']
    """

    value: object
    problems: Problems
    path: str
    # What stands between the path and a key.
    separator: str = "."

    def __getitem__(self, key: str) -> "Declaration":
        """Return the value of a key, None if there is no such key, or this is no object."""
        return self.at(key, self.mapping.get(key))

    def at(self, key: str, value: object) -> "Declaration":
        """Return another value in the place of a key."""
        return Declaration(value, self.problems, f"{self.path}{self.separator}{key}")

    def with_value(self, value: object) -> "Declaration":
        """Return another value in this place."""
        return replace(self, value=value)

    @property
    def mapping(self) -> JsonObject:
        """The value, if it is an object; an empty object otherwise."""
        return self.value if isinstance(self.value, Mapping) else {}

    def entries(self) -> dict[str, "Declaration"]:
        """Return the values of an object by their keys; anything but null is a problem.

        Files of LoopBack 3 may have an empty list in place of an empty object.
        """
        if self.value != []:
            self.check_object()
        return {key: self[key] for key in self.mapping}

    def check_object(self) -> None:
        """Report a value that is neither an object nor null."""
        if not isinstance(self.value, Mapping | None):
            self.add("must be an object")

    def items(self) -> list["Declaration"]:
        """Return the items of a list with their places; anything else has none."""
        values = self.value if isinstance(self.value, list) else []
        return [
            Declaration(value, self.problems, f"{self.path}[{index}]")
            for index, value in enumerate(values)
        ]

    def flag(self, key: str) -> bool:
        """Return whether a key is true; anything but true, false and null is a problem."""
        value = self.mapping.get(key) or False
        if value not in (True, False, "true", "false"):
            self[key].add("must be true or false")
        return value in (True, "true")

    def add(self, message: str) -> None:
        """Add a problem: the value cannot be used."""
        self.problems.add(self.path, message)

    def warn(self, message: str) -> None:
        """Add a warning: the value is used otherwise, or has no effect."""
        self.problems.warn(self.path, message)

    def check_keys(self, known: Iterable[str], ignored: Iterable[str] = ()) -> None:
        """Report the keys of an object that are not known."""
        self.problems.check_keys(self.path, self.mapping, known, ignored)
