"""References of a call to what earlier calls have answered: in its path and in its body."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, Self
from urllib.parse import quote as percent_encode

from app.errors import quote
from app.http.responses import encode_json

from .errors import InvalidBatch

# The only key of an object that stands for a value.
KEY = "$result"
# The key in compact JSON; quotation marks of texts are escaped.
KEY_JSON = b'"$result":'
# A call's id, and a property of the object that it answers, or a path to one in inner objects.
REFERENCE = re.compile(r"([A-Za-z0-9_-]{1,64})((?:\.[^.{}/]{1,200}){1,6})", re.ASCII)
IN_PATH = re.compile(r"\{([^{}]*)\}")


class ResultReference(NamedTuple):
    """A property of the object that the call with an id has answered."""

    call: str
    steps: tuple[str, ...]

    @classmethod
    def parse(cls, text: object) -> Self:
        """Read `name.property` or `name.property.inner`; raise InvalidBatch."""
        found = REFERENCE.fullmatch(text) if isinstance(text, str) else None
        if found is None:
            raise InvalidBatch(
                f"{quote(text)} is no reference: write the id of an earlier call, a dot and a"
                " property, as in order.id"
            )
        return cls(found[1], tuple(found[2].split(".")[1:]))

    def __str__(self) -> str:
        return ".".join((self.call, *self.steps))


# Returns the value of a reference.
Resolve = Callable[[ResultReference], Any]


def resolve(results: Mapping[str, object], reference: ResultReference) -> Any:
    """Return the value of a reference in the answers by id; raise InvalidBatch."""
    value = results[reference.call]
    for step in reference.steps:
        if not isinstance(value, dict) or step not in value:
            raise InvalidBatch(f"{quote(reference)} is no property of what that call has answered.")
        value = value[step]
    return value


class ReferencedValues:
    """The values of references in a batch, whose JSON has at most `most` bytes together."""

    def __init__(self, most: int) -> None:
        self.results: dict[str, object] = {}
        self._most = self._left = most

    def of_body(self, reference: ResultReference) -> Any:
        """Return the value for a body; raise InvalidBatch."""
        value = resolve(self.results, reference)
        self._left -= len(encode_json(value))
        if self._left < 0:
            raise InvalidBatch(f"The references stand for more than {self._most} bytes.")
        return value

    def of_path(self, reference: ResultReference) -> str:
        """Return the value for a path, text or an integer, as text; raise InvalidBatch."""
        value = resolve(self.results, reference)
        if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
            raise InvalidBatch(f"{quote(reference)} is neither text nor an integer.")
        self._left -= len(text := str(value))
        if self._left < 0:
            raise InvalidBatch(f"The references stand for more than {self._most} bytes.")
        return text


def in_body(body: object) -> Iterator[ResultReference]:
    """Yield the references in a body; raise InvalidBatch for a malformed one."""
    waiting = [body]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            if len(value) == 1 and KEY in value:
                yield ResultReference.parse(value[KEY])
            else:
                waiting += value.values()
        elif isinstance(value, list):
            waiting += value


def fill_body(body: Any, value_of: Resolve) -> Any:
    """Return a body with values in place of its references."""
    if isinstance(body, dict):
        if len(body) == 1 and KEY in body:
            return value_of(ResultReference.parse(body[KEY]))
        return {name: fill_body(value, value_of) for name, value in body.items()}
    return [fill_body(value, value_of) for value in body] if isinstance(body, list) else body


def in_path(path: str) -> Iterator[ResultReference]:
    """Yield the references in a path; raise InvalidBatch for a malformed one."""
    return (ResultReference.parse(text) for text in IN_PATH.findall(path))


def without_references(path: str) -> str:
    """Return the rest of a path."""
    return IN_PATH.sub("", path)


def fill_argument(argument: str, value_of: Callable[[ResultReference], str]) -> str:
    """Return an argument of a path with values in place of its references."""
    return IN_PATH.sub(lambda found: value_of(ResultReference.parse(found[1])), argument)


def fill_path(path: str, value_of: Callable[[ResultReference], str]) -> str:
    """Return a path with percent-encoded values in place of its references."""
    return fill_argument(path, lambda reference: percent_encode(value_of(reference), safe=""))
