"""Redaction: secrets are masked in messages, logs and reprs, by name and by value."""

import base64
import binascii
import json
import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from contextvars import ContextVar
from itertools import islice
from urllib.parse import quote, quote_plus, unquote

from .types import JsonValue
from .values import SCALARS, levels_of

MASK = "***"
_SECRET_NAME = re.compile(
    r"(^|[-_])(auth|key|otp)$|(?-i:[a-z](Auth|Key)$)|^pin$|(^|\.)sid$|authorization"
    r"|^cookie2?$|^set-cookie$|(api|access|private)_?key|token|secret|bearer|jwt|assertion"
    r"|passw|passphrase|passcode|pass$|pwd|credential|signature|^sig$|sess(ion)?[-_]?id"
    r"|connection[-_]?string",
    re.IGNORECASE,
)
_ESCAPE = re.compile("%[0-9A-F]{2}")
_WORD = re.compile(r"\w")
_CREDENTIALS = re.compile("//[^/@]*@")
_SHORT_SECRET = 4
_MAX_DEPTH = 50
# Maximum characters of a log line of urllib3.
_MAX_LOG_LENGTH = 2000
#: Maximum number of secrets that are searched for in a text; with more, all of it is masked.
# Searching for more would take over 100 ms.
MAX_SECRETS = 200
#: Maximum characters of the secrets that are searched for; with more, all of the text is masked.
MAX_CHARACTERS = 20_000
#: Maximum characters of a name; a value with a longer name is masked, as callers can send names of
#: any length.
MAX_NAME_LENGTH = 256


def is_secret_name(name: str) -> bool:
    """Return True if a header, query entry or field of this name is a secret."""
    return len(name) > MAX_NAME_LENGTH or _SECRET_NAME.search(name) is not None


class Redactor:
    """Masks known secret values in texts, also percent-encoded, in base64 or in JSON."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self.secrets = frozenset(secret for secret in secrets if secret)
        self._hides_all = (
            len(self.secrets) > MAX_SECRETS or sum(map(len, self.secrets)) > MAX_CHARACTERS
        )
        known = () if self._hides_all else self.secrets
        self._forms = {form for secret in known for form in _encodings(secret)}

    def with_secrets(self, secrets: Iterable[str]) -> "Redactor":
        """Return a redactor for more secrets."""
        more = self.secrets.union(_bounded(secrets))
        return self if more == self.secrets else Redactor(more)

    def text(self, text: str) -> str:
        """Mask the secrets in a text."""
        return self.prefix(text, len(text))

    def prefix(self, text: str, length: int) -> str:
        """Return the first characters of a text; a secret that is cut off is masked too."""
        if self._hides_all:
            return MASK
        pieces: list[str] = []
        at = 0
        for start, end in sorted(self._spans(text, length)):
            if start >= at:
                pieces += [text[at:start], MASK]
            at = max(at, end)
        return "".join([*pieces, text[at:length]])

    def _spans(self, text: str, length: int) -> Iterator[tuple[int, int]]:
        for form in self._forms:
            start = text.find(form, 0, length + len(form))
            while 0 <= start < length:
                end = start + len(form)
                if len(form) >= _SHORT_SECRET:
                    # Overlapping occurrences are masked as one.
                    end = text.rfind(form, start, end + len(form) - 1) + len(form)
                    yield start, end
                elif _is_whole_word(text, start, end):
                    yield start, end
                start = text.find(form, end - len(form) + 1, length + len(form))

    def url(self, url: str, length: int | None = None) -> str:
        """Mask the secrets in a URL or the beginning of one, and query entries by their names."""
        return masked_url(self.prefix(url, len(url) if length is None else length))

    def structure(self, value: object, name: str = "", depth: int = 0) -> JsonValue:
        """Return a copy of a structure with its secrets masked."""
        if depth > _MAX_DEPTH or _is_secret(name, value):
            return MASK
        if isinstance(value, Mapping):
            entries = [(str(key), item) for key, item in value.items()]
            return {self.text(key): self.structure(item, key, depth + 1) for key, item in entries}
        if isinstance(value, list | tuple):
            return [self.structure(item, depth=depth + 1) for item in value]
        return self.text(value) if isinstance(value, str) else value


def _is_secret(name: str, value: object) -> bool:
    return not isinstance(value, dict | list) and is_secret_name(name)


def _bounded(secrets: Iterable[str]) -> set[str]:
    found: set[str] = set()
    for secret in secrets:
        found.add(secret)
        if len(found) > MAX_SECRETS + 1:
            break
    return found


def masked_url(url: str) -> str:
    """Mask the credentials in a url, and entries of its query named like secrets."""
    address, mark, query = url.partition("?")
    address = _CREDENTIALS.sub(f"//{MASK}@", address)
    return address + mark + "&".join(map(_masked_pair, query.split("&")))


def _masked_pair(pair: str) -> str:
    key, mark, _ = pair.partition("=")
    return f"{key}={MASK}" if mark and is_secret_name(unquote(key)) else pair


def _is_whole_word(text: str, start: int, end: int) -> bool:
    return not any(_WORD.match(side) for side in (text[start - 1 : start], text[end : end + 1]))


def _encodings(secret: str) -> Iterator[str]:
    yield secret
    # Libraries log host names in lower case.
    yield secret.lower()
    yield base64.b64encode(secret.encode("utf-8", "replace")).decode()
    if secret.isascii() and secret.isalnum():
        return
    for quoted in (
        quote(secret, safe="", errors="replace"),
        quote(secret, errors="replace"),
        quote_plus(secret, errors="replace"),
    ):
        yield quoted
        yield _ESCAPE.sub(lambda escape: escape[0].lower(), quoted)
    yield json.dumps(secret)[1:-1]
    yield json.dumps(secret, ensure_ascii=False)[1:-1]
    yield repr(secret)[1:-1]


def secrets_by_name(value: object) -> Iterator[str]:
    """Yield the values in a structure that have the name of a secret, and their parts."""
    found: set[tuple[type, object]] = set()
    level = [(value, False)]
    for _ in range(_MAX_DEPTH + 1):
        if not level:
            break
        found |= _secret_scalars(level)
        level = _parts_of(level)
    for text in {scalar_text(scalar) for _, scalar in found}:
        yield from credential_parts(text)


def _secret_scalars(level: list[tuple[object, bool]]) -> set[tuple[type, object]]:
    # 1, 1.0 and true are equal, but differ as text.
    return {
        (type(item), item) for item, is_secret in level if is_secret and isinstance(item, SCALARS)
    }


def _parts_of(level: list[tuple[object, bool]]) -> list[tuple[object, bool]]:
    # Most items are scalars, and a function call for each would take most of the time.
    return [
        part
        for item, is_secret in level
        if not isinstance(item, SCALARS)
        for part in _parts(item, is_secret)
    ]


def _parts(value: object, is_secret: bool) -> Iterable[tuple[object, bool]]:
    """Return the parts of a structure, each with whether it has the name of a secret."""
    if isinstance(value, list | tuple):
        return [(item, is_secret) for item in value]
    if isinstance(value, Mapping):
        return [(item, is_secret_name(str(name))) for name, item in value.items()]
    return [(scalar_text(value), True)] if is_secret else ()


def scalar_texts(value: object) -> Iterator[str]:
    """Yield the text of every scalar in a structure."""
    for level in islice(levels_of(value), _MAX_DEPTH + 1):
        for item in level:
            if isinstance(item, SCALARS) or not isinstance(item, list | tuple | Mapping):
                yield scalar_text(item)


def scalar_text(value: object) -> str:
    """Return a scalar as text; an empty string for null and booleans."""
    if value is None or isinstance(value, bool):
        return ""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    # Python cannot write integers of more than 4,300 digits, so they are never sent.
    with suppress(ValueError):
        return str(value)
    return ""


def credential_parts(text: str) -> Iterator[str]:
    """Yield a credential and its parts: the token after the scheme, the password in Basic."""
    scheme, _, token = text.rpartition(" ")
    yield text
    yield token
    if scheme.lower() == "basic":
        try:
            pair = base64.b64decode(token, validate=True).decode("utf-8", "replace")
        except (binascii.Error, ValueError):
            return
        yield pair
        yield pair.partition(":")[2]


current_redactor: ContextVar[Callable[[], Redactor] | None] = ContextVar(
    "current_redactor", default=None
)


class _LogFilter(logging.Filter):
    """Masks what urllib3 logs during a call of the connector, and nothing else."""

    def filter(self, record: logging.LogRecord) -> bool:
        make_redactor = current_redactor.get()
        if make_redactor is not None:
            redactor = make_redactor()
            words = re.split(r"(\s+)", redactor.prefix(record.getMessage(), _MAX_LOG_LENGTH))
            record.msg = "".join(map(masked_url, words))
            record.args = ()
            # A traceback may contain data that the remote sent.
            record.exc_info = record.exc_text = None
        return True


def install_log_filter() -> None:
    """Add the filter to the loggers of urllib3 that log urls."""
    for name in ("urllib3.connectionpool", "urllib3.connection", "urllib3.util.retry"):
        logging.getLogger(name).addFilter(_LogFilter())
