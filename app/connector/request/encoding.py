"""Encoding a request: its query, headers and body, which is JSON, a form, files or text."""

import json
import math
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from decimal import Decimal
from functools import reduce
from typing import Any

from urllib3.filepost import encode_multipart_formdata

from app.connector.errors import VariableError
from app.connector.types import Values
from app.connector.values import MISSING, number, to_json_scalar, to_text
from app.problems import join_path, type_name

from .url import MAX_URL_LENGTH, percent_encode, url_length_error

_ILLEGAL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
# A token; RFC 9110, section 5.6.2.
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
#: Maximum characters of all names of a form, each with `=` and `&`; a nested value has the names of
#: all its parents. In a query the limit is that of a URL.
_MAX_NAME_CHARACTERS = 100_000
# Types that are their own JSON form.
_PLAIN = (str, int)
_FORM = "application/x-www-form-urlencoded"
_JSON = "application/json"
#: Maximum characters of a name in the path of a value that is not JSON.
_MAX_STEP_LENGTH = 100


def serialize_headers(built: Values) -> list[tuple[str, str]]:
    """Return headers that are not null as text; raise VariableError for an invalid one."""
    given = [(name, value) for name, value in built.items() if value is not None]
    return [
        (
            name,
            validate_header(
                name, value if isinstance(value, str) else to_text(value, f"Header {name}")
            ),
        )
        for name, value in given
    ]


def validate_header(name: str, text: str) -> str:
    """Return the text of a header; raise VariableError for control characters or beyond latin-1."""
    if not _NAME.fullmatch(name):
        raise VariableError(f"{name!r} cannot be used as a header name")
    if text.isascii() and text.isprintable():
        return text.strip()
    if _ILLEGAL.search(text):
        raise VariableError(f"Header {name} must not contain line breaks or control characters")
    if not all(character <= "\xff" for character in text):
        raise VariableError(f"Header {name} must be latin-1 text")
    return text.strip()


class _Pairs(list[tuple[str, str]]):
    """The flat entries of a query or form; `room` limits the characters of their names.

    `longest` limits the entries as a whole before they are encoded.
    """

    def __init__(self, *, repeat: bool, room: int, longest: float = math.inf) -> None:
        super().__init__()
        self._repeat = repeat
        self._room = room
        self._left = longest

    def add(self, key: str, value: object) -> None:
        """Add an entry and what is nested in it; VariableError beyond the limits."""
        self._room -= len(key) + 2
        if self._room < 0:
            raise VariableError("A query or form is too large or contains itself")
        if not isinstance(value, _PLAIN):
            value = to_json_scalar(value)
        # Lists first: checking for Mapping takes several times as long.
        if isinstance(value, list | tuple):
            for index, item in enumerate(value):
                self.add(key if self._repeat else f"{key}[{index}]", item)
        elif not isinstance(value, _PLAIN) and isinstance(value, Mapping):
            for name, item in value.items():
                self.add(f"{key}[{name}]", item)
        else:
            self._add_text(key, to_text(value, f"Entry {key}"))

    def _add_text(self, key: str, text: str) -> None:
        self._left -= len(key) + len(text) + 2
        if self._left < 0:
            raise url_length_error()
        self.append((key, text))


def encode_query(entries: Values, *, repeat: bool = False) -> str:
    """Encode entries as the query of a url; `repeat` writes lists as `a=1&a=2`."""
    return _encode(entries, _Pairs(repeat=repeat, room=MAX_URL_LENGTH, longest=MAX_URL_LENGTH))


def encode_form(entries: Values, *, repeat: bool = False) -> str:
    """Encode entries as a form, which may be longer than a url."""
    return _encode(entries, _Pairs(repeat=repeat, room=_MAX_NAME_CHARACTERS))


def _encode(entries: Values, pairs: _Pairs) -> str:
    with suppress(RecursionError):
        for key, value in entries.items():
            pairs.add(str(key), value)
        return "&".join([f"{percent_encode(key)}={percent_encode(text)}" for key, text in pairs])
    raise VariableError("A query or form value is nested too deeply or contains itself")


def add_query(url: str, entries: Values, *, repeat: bool = False) -> str:
    """Add entries to the query of a url, replacing those of the same name."""
    if not entries:
        return url
    address, _, own = url.partition("?")
    if own:
        replaced = {percent_encode(str(key)) for key in entries}
        kept = [pair for pair in own.split("&") if pair and pair.partition("=")[0] not in replaced]
        own = "&".join(kept)
    text = "&".join(filter(None, (own, encode_query(entries, repeat=repeat))))
    return f"{address}?{text}" if text else address


def encode_body(
    body: object, form: object, files: Values, content_type: str | None, *, repeat: bool
) -> tuple[bytes | None, str | None]:
    """Return the body as bytes, and the content type to add or None."""
    known = content_type or ""
    if files:
        return encode_multipart_formdata(list(_parts(form, files)))
    if form is not MISSING:
        return _form_bytes(form, repeat), None if known.lower().startswith(_FORM) else _FORM
    if body is MISSING:
        return None, None
    return _body_bytes(body, known, repeat), None if known or isinstance(body, bytes) else _JSON


def _body_bytes(body: object, content_type: str, repeat: bool) -> bytes:
    """Return a body as bytes in the format of its content type; JSON by default."""
    if isinstance(body, bytes):
        return body
    if isinstance(body, dict) and content_type.startswith(_FORM):
        return _form_bytes(body, repeat)
    if isinstance(body, str) and content_type and "json" not in content_type.lower():
        return encode_text(body)
    return _json_bytes(body)


def _form_bytes(form: object, repeat: bool) -> bytes:
    if isinstance(form, Mapping):
        return encode_form(form, repeat=repeat).encode()
    return encode_text(to_text(form, "The form"))


def encode_text(text: str) -> bytes:
    """Return a text as UTF-8; VariableError for lone surrogates, which UTF-8 cannot encode."""
    with suppress(UnicodeEncodeError):
        return text.encode()
    raise VariableError("A text with lone surrogates cannot be sent")


def _json_bytes(body: object) -> bytes:
    with suppress(TypeError, ValueError, RecursionError):
        return _ENCODER.encode(body).encode()
    steps, kind = next(_unserializable(body, 0), ([], ""))
    path = reduce(join_path, steps, "body")
    raise VariableError(f"{path}{kind} cannot be written as JSON")


def _json_default(value: object) -> object:
    if isinstance(value, Decimal):
        return number(value)
    plain = to_json_scalar(value)
    if plain is value:
        raise TypeError
    return plain


_ENCODER = json.JSONEncoder(default=_json_default, allow_nan=False, separators=(",", ":"))


def _unserializable(value: object, depth: int) -> Iterator[tuple[list[str | int], str]]:
    """Yield the path of each value that is not JSON, as steps, and its type in parentheses."""
    if depth > 100:
        yield [], ""
    elif isinstance(value, Mapping | list | tuple):
        for step, item in value.items() if isinstance(value, Mapping) else enumerate(value):
            for steps, kind in _unserializable(item, depth + 1):
                yield [_shortened(step), *steps], kind
    elif not _is_serializable(value):
        yield [], f" ({type_name(value)})"


def _shortened(step: object) -> str | int:
    return step if isinstance(step, int) else str(step)[:_MAX_STEP_LENGTH]


def _is_serializable(value: object) -> bool:
    if isinstance(value, str):
        return True
    try:
        _ENCODER.encode(value)
    except (TypeError, ValueError):
        return False
    return True


def _parts(form: object, files: Values) -> Iterator[tuple[str, Any]]:
    if isinstance(form, Mapping):
        for key, value in form.items():
            yield key, encode_text(to_text(value, f"Entry {key}"))
    yield from files.items()


def read_files(files: Values) -> dict[str, object]:
    """Read the files of a request, so that they can be sent again."""
    return {key: _file_part(key, value) for key, value in files.items() if value is not None}


def _file_part(key: str, value: object) -> tuple[object, ...]:
    name, content, *rest = value if isinstance(value, tuple) else (_file_name(key, value), value)
    data = content.read() if hasattr(content, "read") else content
    if not isinstance(data, bytes):
        raise VariableError(f"File {key} must be bytes or a file opened in binary mode")
    return (name, data, *rest)


def _file_name(key: str, value: object) -> str:
    name = getattr(value, "name", key)
    return str(name).replace("\\", "/").rpartition("/")[2]
