"""Values declared in JSON files, with their places for messages."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from app.problems import Problems

JsonObject = Mapping[str, object]


@dataclass(frozen=True)
class Declaration:
    """A value in a file, and its place, such as `note.json: properties.age.type`.

    >>> age = Declaration({"type": "strng"}, problems, "note.json: properties.age")
    >>> age["type"].add("there is no such type")
    >>> problems.found
    ['note.json: properties.age.type: there is no such type']
    """

    value: object
    problems: Problems
    path: str
    # The separator between the path and a key.
    separator: str = "."

    def __getitem__(self, key: str) -> "Declaration":
        """Return the value of a key, None if it does not exist or this is no object."""
        return self.at(key, self.mapping.get(key))

    def at(self, key: str, value: object) -> "Declaration":
        """Return another value at the place of a key."""
        return Declaration(value, self.problems, f"{self.path}{self.separator}{key}")

    def with_value(self, value: object) -> "Declaration":
        """Return another value at this place."""
        return replace(self, value=value)

    @property
    def mapping(self) -> JsonObject:
        """The value if it is an object, else an empty object."""
        return self.value if isinstance(self.value, Mapping) else {}

    def entries(self) -> dict[str, "Declaration"]:
        """Return the values of an object by key; report other types, except null.

        LoopBack 3's files may have an empty list in place of an empty object.
        """
        if self.value != []:
            self.check_object()
        return {key: self[key] for key in self.mapping}

    def check_object(self) -> None:
        """Report a value that is neither an object nor null."""
        if not isinstance(self.value, Mapping | None):
            self.add("must be an object")

    def items(self) -> list["Declaration"]:
        """Return the items of a list with their places; empty for other types."""
        values = self.value if isinstance(self.value, list) else []
        return [
            Declaration(value, self.problems, f"{self.path}[{index}]")
            for index, value in enumerate(values)
        ]

    def flag(self, key: str) -> bool:
        """Return whether a key is true; report a value that is neither a boolean nor null."""
        value = self.mapping.get(key) or False
        if value not in (True, False, "true", "false"):
            self[key].add("must be true or false")
        return value in (True, "true")

    def text(self, key: str) -> str:
        """Return the text of a key, or the lines of a list as one text; warn of other values."""
        value = self.mapping.get(key) or ""
        lines = value if isinstance(value, list) else [value]
        texts = [line for line in lines if isinstance(line, str)]
        if len(texts) < len(lines):
            self[key].warn("is ignored: it must be a text, or a list of texts")
            return ""
        return " ".join(" ".join(texts).split())

    def add(self, message: str) -> None:
        """Report an error: the value is invalid."""
        self.problems.add(self.path, message)

    def warn(self, message: str) -> None:
        """Report a warning: the value is used differently, or has no effect."""
        self.problems.warn(self.path, message)

    def add_unknown(self, message: str) -> None:
        """Report an error: what the value names does not exist."""
        self.problems.add_unknown(self.path, message)

    def report_unknown(self, message: str, effect: str = "") -> None:
        """Report the same; in files of LoopBack 3 only as a warning, which begins with the effect.

        The effect is what becomes of the value, such as `is ignored`.
        """
        self.problems.report_unknown(self.path, message, effect)

    def check_keys(self, known: Iterable[str], ignored: Iterable[str] = ()) -> None:
        """Report the unknown keys of an object."""
        self.problems.check_keys(self.path, self.mapping, known, ignored)
