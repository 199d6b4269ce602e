"""Picking the part of a response body that a JSONPath points at."""

from __future__ import annotations

from typing import Any

from jsonpath_ng import Child, Fields, Index, JSONPath, Root, This
from jsonpath_ng.exceptions import JSONPathError
from jsonpath_ng.ext.parser import parse

from .errors import ResponsePathError


class ResponsePath:
    """A compiled JSONPath and what to make of its matches."""

    def __init__(self, text: str, select: str = "auto", on_no_match: str = "empty") -> None:
        self.text = text
        self._path = parse_path(text)
        self._gives_one = select == "first" or (select == "auto" and is_definite(self._path))
        self._on_no_match = on_no_match

    def pick(self, body: Any) -> Any:
        """Return the value or the list of matches, by what `responseSelect` says."""
        if body is None:
            return None
        matches = find(self._path, self.text, body)
        if not matches:
            return self._nothing()
        return matches[0] if self._gives_one else matches

    def _nothing(self) -> Any:
        if self._on_no_match == "error":
            raise ResponsePathError(f"the response path {self.text} matched nothing")
        return None if self._gives_one or self._on_no_match == "null" else []


def parse_path(text: str) -> JSONPath:
    """Compile a JSONPath, or raise ValueError with what the parser says."""
    try:
        return parse(text)
    except (JSONPathError, TypeError, DeprecationWarning) as error:
        message = " ".join(str(error).split())
    raise ValueError(message)


def find(path: JSONPath, text: str, body: Any) -> list[Any]:
    """Return the values a compiled path matches."""
    try:
        return [match.value for match in path.find(body)]
    except Exception as error:
        # jsonpath-ng lets any error of an expression out, not only its own.
        message = f"the response path {text} failed on this body ({type(error).__name__})"
    raise ResponsePathError(message)


def is_definite(path: JSONPath) -> bool:
    """Tell whether a path can match only one place."""
    if isinstance(path, Child):
        return is_definite(path.left) and is_definite(path.right)
    if isinstance(path, Fields):
        return len(path.fields) == 1 and path.fields[0] != "*"
    if isinstance(path, Index):
        return len(path.indices) == 1
    return isinstance(path, Root | This)
