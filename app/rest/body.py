"""Read a request's body, or say what is wrong with it."""

import json
import re
from typing import Any, NoReturn

from flask import request
from werkzeug.exceptions import UnsupportedMediaType

from app.errors import MalformedBody, TooDeep

FORM = "application/x-www-form-urlencoded"
# How deep data may nest; the reference's figure.
MAX_DEPTH = 32
# Text that no database stores and no encoding carries.
UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def read_body() -> dict[str, Any]:
    """Return the body's object; an empty body is an empty object.

    Raises 400 for what is not an object, 415 for another media type than JSON or a form.
    """
    body = _read()
    if not isinstance(body, dict):
        raise MalformedBody("The body must be a JSON object.")
    return body


def read_items() -> dict[str, Any] | list[Any]:
    """Return the body's object, or its array of what should be objects."""
    body = _read()
    if not isinstance(body, dict | list):
        raise MalformedBody("The body must be a JSON object or an array of objects.")
    return body


def parse_json(text: str) -> Any:
    """Parse JSON by the letter of RFC 8259, as text that can be stored; raise ValueError."""
    try:
        data = json.loads(text, parse_constant=_refuse_constant)
    except RecursionError:
        raise TooDeep(f"It nests deeper than {MAX_DEPTH} levels.") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"{error.msg}, line {error.lineno} column {error.colno}") from None
    except ValueError as error:
        # Python reads no integer of more than 4300 digits, and says so at length.
        raise ValueError(str(error).partition(":")[0]) from None
    check_text(data)
    return data


def check_text(data: Any, depth: int = 0) -> None:
    """Raise ValueError for text that cannot be stored, TooDeep for depth without end."""
    if depth > MAX_DEPTH:
        raise TooDeep(f"It nests deeper than {MAX_DEPTH} levels.")
    if isinstance(data, str):
        if UNSTORABLE.search(data):
            raise ValueError("a text has a NUL character or an unpaired surrogate")
    elif isinstance(data, dict):
        for name, value in data.items():
            check_text(name, depth + 1)
            check_text(value, depth + 1)
    elif isinstance(data, list):
        for value in data:
            check_text(value, depth + 1)


def _read() -> Any:
    try:
        return _read_form() if request.mimetype == FORM else _read_json()
    except ValueError as error:
        raise MalformedBody(f"The body cannot be read: {error}.") from None


def _read_form() -> dict[str, Any]:
    form = request.form.to_dict()
    if any(name.lstrip().startswith(("{", "[")) for name in form):
        raise UnsupportedMediaType("The body looks like JSON: send Content-Type: application/json.")
    check_text(form)
    return form


def _read_json() -> Any:
    raw = request.get_data()
    if not raw.strip():
        return {}
    if not request.is_json:
        raise UnsupportedMediaType("Send the body with Content-Type: application/json.")
    return parse_json(raw.decode())


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")
