"""Encoding a query string or a form; nested values are written with brackets."""

import math
from collections.abc import Mapping

from app.connector.errors import VariableError, translate_errors
from app.connector.types import Values
from app.connector.values import to_json_scalar, to_text

from .url import MAX_URL_LENGTH, percent_encode, url_length_error

#: Maximum characters of all names of a form, each with `=` and `&`; a nested value has the names of
#: all its parents. In a query the limit is that of a URL.
_MAX_NAME_CHARACTERS = 100_000
# Types that are their own JSON form.
_PLAIN = (str, int)


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
    message = "A query or form value is nested too deeply or contains itself"
    with translate_errors(RecursionError, lambda _: VariableError(message)):
        for key, value in entries.items():
            pairs.add(str(key), value)
    return "&".join([f"{percent_encode(key)}={percent_encode(text)}" for key, text in pairs])


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
