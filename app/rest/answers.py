"""Responses of endpoints: how they may be declared, and what becomes of a view's result."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import chain
from typing import Any

import marshmallow
from flask import Response, jsonify, stream_with_context
from flask.typing import ResponseReturnValue
from marshmallow import missing
from marshmallow.utils import get_value

JSON = "application/json"
NO_CONTENT = ("", 204)
MEDIA_TYPE = re.compile(r"[\w.+-]+/[\w.+-]+", re.ASCII)
# Values that are no object of a schema, which would dump nothing of them.
SCALARS = (str, bytes, int, float, type(None), set, frozenset, Iterator)


def check_answer(answer: object, media_type: str) -> None:
    """Raise TypeError for a response that cannot be declared."""
    if media_type != JSON:
        if not MEDIA_TYPE.fullmatch(media_type):
            raise TypeError(f"answer_type must be a type such as text/csv, not {media_type!r}")
        if not isinstance(answer, Mapping | None):
            raise TypeError(f"answer must not be set with the answer_type {media_type}")
        return
    if isinstance(answer, list):
        if len(answer) != 1:
            raise TypeError("answer must have one schema, that of the items, if it is a list")
        [answer] = answer
    check_schema("answer", answer)


def check_schema(name: str, value: object) -> None:
    """Make a declared schema; raise TypeError for what is none, and what making it raises."""
    if isinstance(value, marshmallow.Schema):
        schema = type(value).__name__
        lists = f", or [{schema}] for a list" if name == "answer" else ""
        raise TypeError(f"{name} must be the class {schema}{lists}, and not an instance of it")
    if is_schema(value):
        value()  # type: ignore[operator]
    elif not isinstance(value, Mapping | str | list | None):
        raise TypeError(f"{name} must be a schema or a JSON schema, and is {value!r:.80}")


def is_schema(value: object) -> bool:
    """Return True for the class of a marshmallow schema."""
    return isinstance(value, type) and issubclass(value, marshmallow.Schema)


def make_dumper(
    name: str, answer: Any, media_type: str, status: int
) -> Callable[[object], ResponseReturnValue]:
    """Return the function that makes a response from a view's result.

    `name` is that of the endpoint, for the error, and `status` that of a response without content.
    """
    if media_type != JSON:
        return partial(_dump_text, name, media_type)
    if answer is None:
        return lambda _: ("", status)
    many = isinstance(answer, list)
    described = answer[0] if many else answer
    if not is_schema(described):
        return jsonify
    # Made by the first request, as it takes time.
    schema = cache(partial(described, many=many))

    def dump(result: object) -> Response:
        found = fitting(name, answer, result)
        dumped = schema().dump(found)
        check_dumped(name, schema(), found, dumped)
        return jsonify(dumped)

    return dump


def fitting(name: str, answer: Any, result: object) -> Any:
    """Return a view's result, or a list of it; raise TypeError unless its schema can dump it."""
    if not isinstance(answer, list):
        if not _is_object(result):
            schema = answer.__name__
            hint = f"; declare answer=[{schema}]" if isinstance(result, list) else ""
            raise TypeError(f"{name} returned {_kind(result)} in place of one {schema}{hint}")
        return result
    is_list = isinstance(result, Iterable) and not isinstance(result, Mapping | str | bytes)
    items = list(result) if is_list else []  # type: ignore[call-overload]
    wrong = [item for item in items if not _is_object(item)]
    if not is_list or wrong:
        kind = f"a list with {_kind(wrong[0])}" if wrong else _kind(result)
        raise TypeError(f"{name} returned {kind} in place of a list of {answer[0].__name__}")
    return items


def check_dumped(name: str, schema: marshmallow.Schema, result: Any, dumped: Any) -> None:
    """Raise TypeError if nothing of a value was dumped because it has no field of its schema.

    `result` and `dumped` are two objects or two lists.
    """
    pairs = zip(result, dumped, strict=True) if isinstance(dumped, list) else [(result, dumped)]
    for value, found in pairs:
        if not found and value != {} and not _has_field(schema, value):
            kind, place = _kind(value), type(schema).__name__
            raise TypeError(f"{name} returned {kind} that has no field of {place}")


def _has_field(schema: marshmallow.Schema, value: object) -> bool:
    names = [field.attribute or name for name, field in schema.dump_fields.items()]
    return not names or any(get_value(value, name) is not missing for name in names)


def _dump_text(name: str, media_type: str, result: object) -> Response:
    """Return a response with text or bytes, or parts of them, which are sent one by one."""
    if isinstance(result, str | bytes):
        return Response(result, mimetype=media_type)
    if not isinstance(result, Iterable) or isinstance(result, Mapping | tuple):
        raise TypeError(f"{name} returned {_kind(result)} in place of text, bytes or parts of them")
    parts = _parts(name, result)
    # An error before the first part is answered like one of the view.
    first = next(parts, "")
    return Response(stream_with_context(chain([first], parts)), mimetype=media_type)


def _parts(name: str, result: Iterable[Any]) -> Iterator[Any]:
    for part in result:
        if not isinstance(part, str | bytes):
            raise TypeError(f"{name} returned {_kind(part)} as a part of text or bytes")
        yield part


def _is_object(value: object) -> bool:
    """Return True if a value has keys, attributes or named columns."""
    is_row = hasattr(value, "_fields")
    return is_row or not isinstance(value, (*SCALARS, Sequence))


def _kind(value: object) -> str:
    return "None" if value is None else f"a value of the type {type(value).__name__}"
