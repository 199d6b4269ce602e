"""Parse query parameters that hold an object: `?filter=<JSON>` or `?filter[where][title]=...`."""

import re
from collections.abc import Iterator
from typing import Any

from flask import request
from werkzeug.datastructures import MultiDict

from app.errors import InvalidFilter, TooDeep, quote

from .bodies import check_text, parse_json

#: Levels of a filter, as in LoopBack 3.
MAX_DEPTH = 12
BRACKETS = re.compile(r"\[([^\]]*)\]")
# A name in brackets, or in JSON, that is a place in a list.
INDEX = re.compile(r"0|[1-9][0-9]{0,9}", re.ASCII)

# The query parameters of a request.
Arguments = MultiDict[str, str]


def read_parameter(name: str) -> dict[str, Any] | None:
    """Return what `parse_parameter` does for the request."""
    return parse_parameter(name, request.args)


def parse_parameter(name: str, arguments: Arguments) -> dict[str, Any] | None:
    """Return the object that a query parameter holds, None if there is no such parameter.

    Values in the bracket form stay strings. A list is a repeated name, one that ends in `[]`, and
    what has numbers for names, such as `[0]` and `[2]`: it has the values in their order.
    """
    try:
        read = _read_json if name in arguments else _read_brackets
        value = read(name, arguments)
    except ValueError as error:
        raise InvalidFilter(f"{name} cannot be read: {error}.") from None
    if value is None:
        return None
    value = _with_lists(name, value)
    if not isinstance(value, dict):
        raise InvalidFilter(f"{name} must be an object.")
    return value


def _read_json(name: str, arguments: Arguments) -> Any:
    texts = arguments.getlist(name)
    if len(texts) > 1:
        raise InvalidFilter(f"{name} is given {len(texts)} times.")
    return parse_json(texts[0]) if texts[0].strip() else None


def _read_brackets(name: str, arguments: Arguments) -> dict[str, Any] | None:
    tree: dict[str, Any] = {}
    for path, value in _bracket_paths(name, arguments):
        check_text([path, value])
        _put(tree, path, value)
    return tree or None


def _bracket_paths(name: str, arguments: Arguments) -> Iterator[tuple[list[str], Any]]:
    for key, values in arguments.lists():
        if key.startswith(f"{name}["):
            path = _steps(name, key)
            is_list = len(values) > 1 or path[-1] == ""
            yield [step for step in path if step], values if is_list else values[0]


def _steps(name: str, key: str) -> list[str]:
    """Return the names in the brackets of a key."""
    if key.count("[") > MAX_DEPTH + 1:
        raise TooDeep(f"{name} nests deeper than {MAX_DEPTH} levels.")
    path = BRACKETS.findall(key)
    if f"{name}{''.join(f'[{step}]' for step in path)}" != key:
        raise InvalidFilter(f"{quote(key)} has brackets that do not match.")
    return path


def _put(tree: dict[str, Any], path: list[str], value: Any) -> None:
    if not path:
        raise InvalidFilter("A parameter with empty brackets names nothing.")
    for step in path[:-1]:
        tree = tree.setdefault(step, {})
        if not isinstance(tree, dict):
            raise InvalidFilter(f"{quote(step)} is given a value and something inside it.")
    if path[-1] in tree:
        raise InvalidFilter(f"{quote(path[-1])} is given twice.")
    tree[path[-1]] = value


def _with_lists(name: str, value: Any, depth: int = 0) -> Any:
    """Return a value in which objects with numbers for names are lists; raise TooDeep."""
    if depth > MAX_DEPTH:
        raise TooDeep(f"{name} nests deeper than {MAX_DEPTH} levels.")
    if isinstance(value, list):
        return [_with_lists(name, item, depth + 1) for item in value]
    if not isinstance(value, dict):
        return value
    object_ = {key: _with_lists(name, inner, depth + 1) for key, inner in value.items()}
    if object_ and all(map(INDEX.fullmatch, object_)):
        return [object_[key] for key in sorted(object_, key=int)]
    return object_
