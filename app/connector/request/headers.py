"""Checked headers of a request as text."""

import re
from collections.abc import Iterator

from app.connector.errors import VariableError
from app.connector.types import Values
from app.connector.values import to_text

_ILLEGAL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
# A token; RFC 9110, section 5.6.2.
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


def serialize_headers(built: Values) -> Iterator[tuple[str, str]]:
    """Yield headers that are not null as text; raise VariableError for an invalid one."""
    for name, value in built.items():
        if value is not None:
            text = value if isinstance(value, str) else to_text(value, f"Header {name}")
            yield name, validate_header(name, text)


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
