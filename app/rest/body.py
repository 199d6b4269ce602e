"""Read a request's body as one flat-or-nested object, or say what is wrong with it."""

import json
import re
from typing import Any, NoReturn

from flask import request
from werkzeug.exceptions import UnsupportedMediaType

from app.errors import BodyTooDeep, MalformedBody

FORM = "application/x-www-form-urlencoded"
# How deep data may nest; the reference's figure.
MAX_DEPTH = 32
# Text that no database stores and no encoding carries.
UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def read_body() -> dict[str, Any]:
    """Return the body's object; an empty body is an empty object.

    Raises 400 for what is not an object, 415 for another media type than JSON or a form.
    """
    data = _read_form() if request.mimetype == FORM else _read_json()
    _check_text(data)
    return data


def _read_form() -> dict[str, Any]:
    form = request.form.to_dict()
    if any(name.lstrip().startswith(("{", "[")) for name in form):
        raise UnsupportedMediaType("The body looks like JSON: send Content-Type: application/json.")
    return form


def _read_json() -> dict[str, Any]:
    raw = request.get_data()
    if not raw.strip():
        return {}
    if not request.is_json:
        raise UnsupportedMediaType("Send the body with Content-Type: application/json.")
    data = _parse(raw)
    if not isinstance(data, dict):
        raise MalformedBody("The body must be a JSON object.")
    return data


def _parse(raw: bytes) -> Any:
    try:
        return json.loads(raw.decode(), parse_constant=_refuse_constant)
    except RecursionError:
        raise BodyTooDeep(f"The body nests deeper than {MAX_DEPTH} levels.") from None
    except json.JSONDecodeError as error:
        where = f"line {error.lineno} column {error.colno}"
        raise MalformedBody(f"The body is not JSON: {error.msg}, {where}.") from None
    except UnicodeDecodeError:
        raise MalformedBody("The body is not UTF-8.") from None
    except ValueError:
        raise MalformedBody("The body has a number with too many digits.") from None


def _refuse_constant(name: str) -> NoReturn:
    raise MalformedBody(f"The body is not JSON: {name} is not a JSON number.")


def _check_text(data: Any, depth: int = 0) -> None:
    """Refuse unstorable text anywhere, and depth without end."""
    if depth > MAX_DEPTH:
        raise BodyTooDeep(f"The body nests deeper than {MAX_DEPTH} levels.")
    if isinstance(data, str):
        if UNSTORABLE.search(data):
            raise MalformedBody("The body has a NUL character or an unpaired surrogate in a text.")
    elif isinstance(data, dict):
        for name, value in data.items():
            _check_text(name, depth + 1)
            _check_text(value, depth + 1)
    elif isinstance(data, list):
        for value in data:
            _check_text(value, depth + 1)
