"""Parse the body of a request."""

import json
import re
from io import BytesIO
from typing import Any, NoReturn
from urllib.parse import parse_qsl

from flask import Request, current_app, request
from werkzeug.exceptions import RequestEntityTooLarge, UnsupportedMediaType

from app.errors import MalformedBody, TooDeep

# A JSON object from a client, with or without its values loaded.
Body = dict[str, Any]

FORM = "application/x-www-form-urlencoded"
#: Maximum levels of a JSON body, as in LoopBack 3.
MAX_DEPTH = 32
#: Maximum fields of a form.
MAX_FIELDS = 1000
# Some clients send it before a body; it is not part of the JSON (RFC 8259, 8.1).
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
# In a request's environment: the object of a form that was read before the view was called.
LOADED = "ostiary.loaded_form"
# Characters that PostgreSQL cannot store or UTF-8 cannot encode.
UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def read_body() -> Body:
    """Return the body's object; an empty body is an empty object.

    Raises MalformedBody (400) for a body that is not an object, and UnsupportedMediaType (415) for
    a media type other than JSON or a form.
    """
    body = _read()
    if not isinstance(body, dict):
        raise MalformedBody("The body must be a JSON object.")
    return body


def read_items() -> Body | list[object]:
    """Return the body's object or array; the items of an array are not checked."""
    body = _read()
    if not isinstance(body, dict | list):
        raise MalformedBody("The body must be a JSON object or an array of objects.")
    return body


def read_array() -> list[object]:
    """Return the body's array, whose items are not checked."""
    body = _read()
    if not isinstance(body, list):
        raise MalformedBody("The body must be a JSON array of objects.")
    return body


def parse_json(text: str) -> object:
    """Parse strict JSON (RFC 8259) whose text can be stored; raise ValueError or TooDeep."""
    try:
        data = DECODER.decode(text)
    except RecursionError:
        raise TooDeep(f"It nests deeper than {MAX_DEPTH} levels.") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"{error.msg}, line {error.lineno} column {error.colno}") from None
    except ValueError as error:
        # Python refuses integers of more than 4300 digits with a long message.
        raise ValueError(str(error).partition(":")[0]) from None
    # Such a character needs an escape, and such a depth so many brackets.
    if "\\u" in text or text.count("{") + text.count("[") > MAX_DEPTH:
        check_text(data)
    return data


def check_text(data: object, depth: int = 0) -> None:
    """Raise ValueError for text that cannot be stored, TooDeep for more than MAX_DEPTH levels."""
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


def _read() -> object:
    # The object behind the proxy, since every use of a proxy costs several calls.
    current: Request = request._get_current_object()  # type: ignore[attr-defined]
    if LOADED in current.environ:
        return current.environ[LOADED]
    try:
        raw = read_bytes(current)
        return _read_form(raw) if current.mimetype == FORM else _read_json(current, raw)
    except ValueError as error:
        raise MalformedBody(f"The body cannot be read: {error}.") from None


def read_bytes(current: Request) -> bytes:
    """Return the body of a request; raise RequestEntityTooLarge.

    Werkzeug would truncate a chunked one above the limit without an error.
    """
    received, most = current.environ["wsgi.input"], current_app.config["MAX_CONTENT_LENGTH"]
    if isinstance(received, BytesIO):
        # The worker has received all of it; Werkzeug's streams would take as long as parsing the
        # JSON.
        raw = received.getvalue()
        is_too_large = len(raw) > most
    else:
        raw = current.get_data()
        is_too_large = len(raw) >= most and current.content_length is None
    if is_too_large:
        raise RequestEntityTooLarge()
    return raw


def _read_form(raw: bytes) -> dict[str, str]:
    if raw.lstrip().startswith((b"{", b"[")):
        raise UnsupportedMediaType("The body looks like JSON: send Content-Type: application/json.")
    pairs = parse_qsl(
        raw.decode(), keep_blank_values=True, errors="strict", max_num_fields=MAX_FIELDS
    )
    form = dict(pairs)
    if len(form) < len(pairs):
        raise ValueError("a field is given twice")
    check_text(form)
    return form


def _read_json(current: Request, raw: bytes) -> object:
    if raw[:3] == BYTE_ORDER_MARK:
        raw = raw[3:]
    if not raw.strip():
        return {}
    if not current.is_json:
        raise UnsupportedMediaType("Send the body with Content-Type: application/json.")
    return parse_json(raw.decode())


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


# `json.loads` would create one for each text.
DECODER = json.JSONDecoder(parse_constant=_refuse_constant)
