"""Parse parameters that hold an object: `?filter=<JSON>`, `?filter[where][title]=...`, a header."""

import re
from collections.abc import Iterator
from functools import partial
from typing import Any

from flask import Response, after_this_request, request
from werkzeug.datastructures import MultiDict

from app.errors import InvalidFilter, TooDeep, quote

from .bodies import check_text, parse_json

#: Maximum levels of a filter, as in LoopBack 3.
MAX_DEPTH = 12
BRACKETS = re.compile(r"\[([^\]]*)\]")
# A name, in brackets or in JSON, that is an index of a list.
INDEX = re.compile(r"0|[1-9][0-9]{0,9}", re.ASCII)
# Parameters that may be sent as headers, each with its header's key in the WSGI environment.
HEADERS = {name: f"HTTP_{name.upper()}" for name in ("filter", "where")}

# The query parameters of a request.
Arguments = MultiDict[str, str]
# The names and values by which a request sends a parameter.
Given = tuple[tuple[str, str], ...]


def read_parameter(name: str) -> dict[str, object] | None:
    """Return the object in a parameter of the request, None if it is missing.

    It is read from the query, else from the header of its name, as LoopBack 3 does.
    """
    return parse_parameter(name, MultiDict(given_parameter(name)))


def is_given(name: str) -> bool:
    """Return True if the request has a parameter, in the query or as a header."""
    environ = request.environ
    return HEADERS[name] in environ or bool(environ.get("QUERY_STRING") and _in_query(name))


def given_parameter(name: str) -> Given:
    """Return the names and values by which the request sends a parameter, for `read_parameter`.

    If the header is read, the response varies with it.
    """
    if given := _in_query(name):
        return given
    text = request.environ.get(HEADERS[name])
    if text is None:
        return ()
    after_this_request(partial(_vary_on, name))
    return ((name, _decoded(text)),)


def parse_parameter(name: str, arguments: Arguments) -> dict[str, object] | None:
    """Return the object in a query parameter, None if it is missing.

    Values in the bracket form stay strings. A list is a repeated name, one that ends in `[]`, or
    has numbers for names, such as `[0]` and `[2]`, in their order.
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


def _in_query(name: str) -> Given:
    pairs = request.args.items(multi=True)
    return tuple(pair for pair in pairs if pair[0].partition("[")[0] == name)


def _decoded(text: str) -> str:
    """Return the text of a header, which WSGI decodes as Latin-1, as browsers encode it.

    Other clients send UTF-8.
    """
    try:
        return text.encode("latin-1").decode()
    except UnicodeDecodeError:
        return text


def _vary_on(header: str, response: Response) -> Response:
    response.vary.add(header)
    return response


def _read_json(name: str, arguments: Arguments) -> object:
    texts = arguments.getlist(name)
    if len(texts) > 1:
        raise InvalidFilter(f"{name} is given {len(texts)} times.")
    return parse_json(texts[0]) if texts[0].strip() else None


def _read_brackets(name: str, arguments: Arguments) -> dict[str, object] | None:
    tree: dict[str, object] = {}
    for path, value in _bracket_paths(name, arguments):
        check_text([path, value])
        _put(tree, path, value)
    return tree or None


def _bracket_paths(name: str, arguments: Arguments) -> Iterator[tuple[list[str], object]]:
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


def _put(tree: dict[str, Any], path: list[str], value: object) -> None:
    if not path:
        raise InvalidFilter("A parameter with empty brackets names nothing.")
    for step in path[:-1]:
        tree = tree.setdefault(step, {})
        if not isinstance(tree, dict):
            raise InvalidFilter(f"{quote(step)} is given a value and something inside it.")
    if path[-1] in tree:
        raise InvalidFilter(f"{quote(path[-1])} is given twice.")
    tree[path[-1]] = value


def _with_lists(name: str, value: object, depth: int = 0) -> object:
    """Return a value with lists in place of objects that have numbers for names; raise TooDeep."""
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
