"""Encoding a request body: JSON, a form, files or text."""

import json
from collections.abc import Iterator, Mapping
from decimal import Decimal
from functools import reduce
from typing import Any

from urllib3.filepost import encode_multipart_formdata

from app.connector.errors import VariableError, translate_errors
from app.connector.types import Values
from app.connector.values import MISSING, number, to_json_scalar, to_text
from app.problems import join_path, type_name

from .encoding import encode_form

_FORM = "application/x-www-form-urlencoded"
_JSON = "application/json"
#: Maximum characters of a name in the path of a value that is not JSON.
_MAX_STEP_LENGTH = 100


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
    message = "A text with lone surrogates cannot be sent"
    with translate_errors(UnicodeEncodeError, lambda _: VariableError(message)):
        return text.encode()


def _json_bytes(body: object) -> bytes:
    def error(_error: Exception) -> VariableError:
        steps, kind = next(_unserializable(body, 0), ([], ""))
        path = reduce(join_path, steps, "body")
        return VariableError(f"{path}{kind} cannot be written as JSON")

    with translate_errors((TypeError, ValueError, RecursionError), error):
        return _ENCODER.encode(body).encode()


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
