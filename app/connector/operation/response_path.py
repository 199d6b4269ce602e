"""Selecting parts of a response body with a JSONPath."""

import re
from collections import Counter
from collections.abc import Iterator

from jsonpath_ng import Child, DatumInContext, Descendants, Fields, Index, JSONPath, Root, This
from jsonpath_ng.ext.arithmetic import Operation
from jsonpath_ng.ext.filter import Filter
from jsonpath_ng.ext.parser import parse

from app.connector.errors import ResponsePathError, translate_errors
from app.connector.types import JsonValue, Response
from app.connector.values import levels_of

#: Maximum values of a body that a response path with `*` searches.
# jsonpath-ng takes up to 5 microseconds per value, or up to 10 for a path with `..` or a filter.
MAX_VALUES = 20_000
#: Maximum values of a body that a response path with `..` or a filter searches.
MAX_SEARCHED_VALUES = 5_000
#: Maximum levels of a body that a response path with `*`, `..` or a filter searches.
MAX_DEPTH = 100
#: Maximum sum of the levels of all values that a response path with `..` or a filter searches.
# jsonpath-ng passes each match up through all levels above it.
MAX_SEARCHED_LEVELS = 100_000
#: Maximum number of names, indices and filters in a response path.
_MAX_STEPS = 100
#: Maximum number of values and characters that a response path with `..` matches; a value counts
#: again for each match that contains it.
_LARGEST_MATCHES = 10_000_000


# Syntax that is refused outside of quotes: LoopBack 3 gives it another meaning, or none.
_REFUSED = {
    r"^\s*[.\[@]": "a path must start with $",
    r"\[\s*-\s*\d+\s*\]": "LoopBack 3 finds nothing at a negative index; the last item is [-1:]",
    r"\[\s*\((?!@\.length\s*-\s*1\))": "no script is evaluated except [(@.length-1)]",
    r"\w\(": "no function is evaluated",
    r"~": "the name of a match (~) cannot be selected",
    r"\^": "the parent of a match (^) cannot be selected",
    r"@(parent|parentProperty|path|property|root)\b": "a filter has only the values below @",
    r"\.\.\s*length\b": "'..' does not find lengths",
    r"\.@": "a name with @ is written in brackets and quotes: ['@name']",
}
# Syntax that is written differently for jsonpath-ng.
_REWRITTEN = {
    r"\[\(@\.length\s*-\s*1\)\]": "[-1:]",
    r"([=!]=)=": r"\1",
    r"(?<!\.)\.\[": "..[",
}
_QUOTED = re.compile(r"""'[^']*'|"[^"]*"|`[^`]*`""")


class ResponsePath:
    """A compiled JSONPath, with what to return for several matches or none."""

    def __init__(self, text: str, select: str = "auto", on_no_match: str = "empty") -> None:
        self.text = text
        self._path = parse_path(text)
        parts = list(_parts(self._path))
        kinds = set(map(type, parts))
        self._is_definite = all(map(_leads_to_one, parts))
        self._descends = Descendants in kinds
        searches = bool(kinds & {Descendants, Filter})
        self._max_values = MAX_SEARCHED_VALUES if searches else MAX_VALUES
        self._max_levels = MAX_SEARCHED_LEVELS if searches else MAX_VALUES * MAX_DEPTH
        self._returns_first = select == "first" or (select == "auto" and self._is_definite)
        self._on_no_match = on_no_match

    def select(self, body: JsonValue) -> JsonValue:
        """Return the first match or all of them, as `responseSelect` says."""
        if body is None:
            return None
        if not self._is_definite:
            self._check_body(body)
        matches = self._find(body)
        if self._descends and _size(matches, _LARGEST_MATCHES) > _LARGEST_MATCHES:
            raise ResponsePathError(f"the response path {self.text} matches too much of this body")
        if not matches:
            return self._no_match()
        return matches[0] if self._returns_first else matches

    def select_from(self, response: Response) -> JsonValue:
        """Return the first match or all of them in the body of a response."""
        return self.select(response.body)

    def _check_body(self, body: JsonValue) -> None:
        values = levels = 0
        for depth, level in enumerate(levels_of(body), 1):
            values += len(level)
            levels += depth * len(level)
            if values > self._max_values or depth > MAX_DEPTH or levels > self._max_levels:
                raise ResponsePathError(
                    f"the response path {self.text} cannot search a body of more than "
                    f"{self._max_values} values, {MAX_DEPTH} levels, or {self._max_levels} levels "
                    "of all values together"
                )

    def _find(self, body: JsonValue) -> list[JsonValue]:
        def error(error: Exception) -> ResponsePathError:
            found = f"failed on this body ({type(error).__name__})"
            return ResponsePathError(f"the response path {self.text} {found}")

        # Expressions of jsonpath-ng may raise any error.
        with translate_errors(Exception, error):
            return [match.value for match in self._path.find(body)]

    def _no_match(self) -> JsonValue:
        if self._on_no_match == "error":
            raise ResponsePathError(f"the response path {self.text} matched nothing")
        return None if self._returns_first or self._on_no_match == "null" else []


def parse_path(text: str) -> JSONPath:
    """Compile a JSONPath; raise ValueError with the reason if it is invalid."""
    unquoted = _QUOTED.sub("''", text)
    for syntax, reason in _REFUSED.items():
        if re.search(syntax, unquoted):
            raise ValueError(reason)
    for syntax, same in _REWRITTEN.items():
        text = re.sub(syntax, same, text)
    # Expressions of jsonpath-ng may raise any error, here as in `_find`.
    with translate_errors(Exception, lambda error: ValueError(" ".join(str(error).split()))):
        path = parse(text)
    parts = list(_parts(path))
    if refusal := _refusal(parts):
        raise ValueError(refusal)
    _read_properties(parts)
    return path


def _read_properties(parts: list[JSONPath]) -> None:
    """Match names, except those after `..`, as in JavaScript."""
    descended = {id(part.right) for part in parts if isinstance(part, Descendants)}
    for part in parts:
        if type(part) is Fields and id(part) not in descended:
            part.__class__ = _Property


class _Property(Fields):
    """Names as in JavaScript: lists and texts have a length, and indices are names, too."""

    @staticmethod
    def get_field_datum(datum: DatumInContext, field: str, create: bool) -> DatumInContext | None:
        value = datum.value
        if not isinstance(value, list | str):
            return Fields.get_field_datum(datum, field, create)
        if field == "length":
            return DatumInContext(len(value), path=Fields(field), context=datum)
        if field.isdecimal() and field.isascii() and int(field[:9]) < len(value):
            return DatumInContext(value[int(field[:9])], path=Fields(field), context=datum)
        return None


def _refusal(parts: list[JSONPath]) -> str:
    """Return why a path is refused, or an empty string."""
    kinds = Counter(type(part) for part in parts)
    if kinds[Child] > _MAX_STEPS:
        return f"a path must not have more than {_MAX_STEPS} steps"
    if kinds[Descendants] > 1:
        return "'..' can be used only once; the matches of two multiply"
    if any(map(_multiplies_two, parts)):
        return "'*' cannot multiply two values; one may be a text, and be repeated"
    return ""


def _multiplies_two(part: JSONPath) -> bool:
    return (
        isinstance(part, Operation)
        and part.op_symbol == "*"
        and isinstance(part.left, JSONPath)
        and isinstance(part.right, JSONPath)
    )


def _parts(path: object) -> Iterator[JSONPath]:
    # Without recursion: a path may have more steps than Python's stack allows.
    waiting = [path]
    while waiting:
        part = waiting.pop()
        if isinstance(part, list | tuple):
            waiting += part
        elif isinstance(part, JSONPath):
            yield part
            waiting += vars(part).values()


def _size(matches: list[JsonValue], most: int) -> int:
    """Return the number of values and characters in matches; stop counting soon after `most`."""
    total = 0
    for level in levels_of(matches):
        total += len(level) + sum([len(value) for value in level if isinstance(value, str)])
        if total > most:
            break
    return total


def _leads_to_one(part: JSONPath) -> bool:
    """Return True if this part of a path has at most one match."""
    if isinstance(part, Fields):
        return len(part.fields) == 1 and part.fields[0] != "*"
    if isinstance(part, Index):
        return len(part.indices) == 1
    return isinstance(part, Child | Root | This)
