"""Keeping secrets out of messages, logs and reprs: by name and by value."""

from __future__ import annotations

import base64
import json
import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextvars import ContextVar
from typing import Any
from urllib.parse import quote, quote_plus, unquote

MASK = "***"
_SECRET_NAME = re.compile(
    r"authorization|^cookie2?$|^set-cookie$|(^|[-_])key$|api_?key|(?-i:[a-z]Key$)"
    r"|token|secret|passw|passphrase|^pass$|credential|signature|^sig$",
    re.IGNORECASE,
)
_SHORT = 4
_DEEPEST = 50


def is_secret_name(name: str) -> bool:
    """Tell whether a header, query entry or field of this name is a secret."""
    return _SECRET_NAME.search(name) is not None


class Redactor:
    """Masks known secret values wherever they appear in a text, in any usual spelling."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self.secrets = frozenset(secret for secret in secrets if secret)
        forms = {form for secret in self.secrets for form in _spellings(secret)}
        by_length = sorted(forms, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(_as_pattern, by_length))) if forms else None

    def plus(self, secrets: Iterable[str]) -> Redactor:
        """Return a redactor that knows more secrets."""
        more = self.secrets.union(secrets)
        return self if more == self.secrets else Redactor(more)

    def text(self, text: str) -> str:
        """Mask the secrets in a text."""
        return self._pattern.sub(MASK, text) if self._pattern else text

    def url(self, url: str) -> str:
        """Mask the secrets in a url, its query also by name."""
        address, mark, query = url.partition("?")
        pairs = [_masked_pair(pair) for pair in query.split("&")]
        return self.text(address + mark + "&".join(pairs))

    def structure(self, value: Any, name: str = "", depth: int = 0) -> Any:
        """Return a copy of a structure with its secrets masked."""
        if depth > _DEEPEST:
            return MASK
        if name and is_secret_name(name) and not isinstance(value, dict | list):
            return MASK
        if isinstance(value, Mapping):
            entries = [(str(key), item) for key, item in value.items()]
            return {self.text(key): self.structure(item, key, depth + 1) for key, item in entries}
        if isinstance(value, list | tuple):
            return [self.structure(item, depth=depth + 1) for item in value]
        return self.text(value) if isinstance(value, str) else value


def _masked_pair(pair: str) -> str:
    key, mark, _ = pair.partition("=")
    return f"{key}={MASK}" if mark and is_secret_name(unquote(key)) else pair


def _as_pattern(form: str) -> str:
    pattern = re.escape(form)
    return rf"(?<!\w){pattern}(?!\w)" if len(form) < _SHORT else pattern


def _spellings(secret: str) -> Iterator[str]:
    yield secret
    yield quote(secret, safe="", errors="replace")
    yield quote(secret, errors="replace")
    yield quote_plus(secret, errors="replace")
    yield json.dumps(secret)[1:-1]
    yield repr(secret)[1:-1]
    yield base64.b64encode(secret.encode("utf-8", "replace")).decode()


def named_secrets(value: Any, name: str = "", depth: int = 0) -> Iterator[str]:
    """Give every value in a structure whose name says that it is a secret."""
    if depth > _DEEPEST:
        return
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from named_secrets(item, str(key), depth + 1)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from named_secrets(item, name, depth + 1)
    elif name and is_secret_name(name) and isinstance(value, str | bytes) and value:
        text = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
        yield text
        yield text.rpartition(" ")[2]


current_redactor: ContextVar[Callable[[], Redactor] | None] = ContextVar(
    "current_redactor", default=None
)


class _LogFilter(logging.Filter):
    """Masks what urllib3 logs while the connector is calling; other users see no change."""

    def filter(self, record: logging.LogRecord) -> bool:
        make_redactor = current_redactor.get()
        if make_redactor is not None:
            redactor = make_redactor()
            words = re.split(r"(\s+)", record.getMessage())
            record.msg = "".join(redactor.url(word) for word in words)
            record.args = ()
        return True


def guard_library_logs() -> None:
    """Put the filter on the loggers of urllib3 that print urls."""
    for name in ("urllib3.connectionpool", "urllib3.connection", "urllib3.util.retry"):
        logging.getLogger(name).addFilter(_LogFilter())
