"""The url of a template: values are percent-encoded and cannot add path segments."""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple
from urllib.parse import quote, urljoin, urlsplit

from requests.utils import requote_uri

from app.connector.errors import BlockedHostError, MissingVariableError, VariableError
from app.connector.template import may_hold_variables, scan
from app.connector.types import Values
from app.connector.values import known_type, to_text
from app.connector.variables import Token, Variable
from app.problems import Problems

_ABSOLUTE = re.compile(r"https?://", re.IGNORECASE)
_AUTHORITY = re.compile(r"https?://([^/?#]*)", re.IGNORECASE)
_IN_AUTHORITY = re.compile(r"[^/?#]*://[^/?#]*\Z")
_HOST_TEXT = re.compile(r"[A-Za-z0-9.:_\[\]-]*")
_UNSAFE = re.compile(r"[\x00-\x20\x7f\\]")
_SEPARATOR = re.compile("[/?#]")
#: Maximum characters of the host and port of a URL.
# Libraries take quadratic time to normalize an international host.
_MAX_AUTHORITY_LENGTH = 300
#: Maximum characters of a URL; few servers accept more than 16 KiB.
MAX_URL_LENGTH = 32_768
#: Maximum characters of a host name (RFC 1035, 2.3.4).
_MAX_HOST_LENGTH = 253
DEFAULT_PORTS = {"http": 80, "https": 443}
_PLACEHOLDER = "\0"
_HOST_WARNING = (
    "a variable in the host: calls to other hosts than those of the settings are blocked; the "
    'entry "{}" of `allowedHosts`, or the hosts themselves there, would permit them'
)
_IN_PATH = ("path", "segments", "start")


class _Piece(NamedTuple):
    """A piece of a url: a literal, or a variable with its position in the url."""

    literal: str
    name: str = ""
    position: str = ""


class UrlTemplate:
    """A compiled url; the encoding of a value depends on its position."""

    def __init__(
        self, text: str, base: str, multi_segment: Collection[str], add: Callable[[Token], None]
    ) -> None:
        """Compile a url; `add` is called with each variable in it."""
        self.text = text
        self._base = base.rstrip("/")
        pieces = scan(text) if may_hold_variables(text) else [str(text)]
        for piece in pieces:
            if isinstance(piece, Token):
                add(piece)
        self._pieces, self.shape = _read_pieces(pieces, multi_segment)
        self.path_names = [piece.name for piece in self._pieces if piece.position in _IN_PATH]
        self._starts_with_variable = self.shape.startswith(_PLACEHOLDER) or not self._pieces
        if not self._starts_with_variable:
            self._pieces[0] = _Piece(join_base(self._base, self._pieces[0].literal))

    def check(self, problems: Problems, path: str, allowed: Sequence[str]) -> None:
        """Report errors in the fixed parts of the url, and variables in the host."""
        for message in self._errors():
            problems.add(path, message)
        pattern = self._host_pattern()
        if pattern and not allowed:
            problems.warn(path, _HOST_WARNING.format(pattern))

    def _errors(self) -> Iterator[str]:
        if address := _AUTHORITY.match(self.shape):
            if not address[1]:
                yield "the url has no host"
            if "@" in address[1]:
                yield "the url must not contain credentials; use options.auth"
        elif not self.shape.startswith(_PLACEHOLDER):
            if "://" in self.shape.partition("?")[0]:
                yield "must start with http:// or https://"
            elif not self._base:
                yield "a relative url needs a baseURL; else start with http:// or https://"
        if has_dot_segment(self.shape):
            yield "must not contain . or .. as a path segment"

    def _host_pattern(self) -> str | None:
        """Return the entry of `allowedHosts` that permits all values of variables in the host."""
        found = _AUTHORITY.match(self.shape)
        authority = found[1] if found else "" if self._base else self.shape[:1]
        if _PLACEHOLDER not in authority:
            return None
        host, _, port = authority.partition(":")
        return re.sub(f"{_PLACEHOLDER}+", "*", host if _PLACEHOLDER in port else authority)

    def default_url(self, variables: Mapping[str, Variable]) -> str:
        """Return the url with the defaults of its variables."""
        texts = [
            str(variables[piece.name].default or "") if piece.name else piece.literal
            for piece in self._pieces
        ]
        return join_base(self._base, "".join(texts))

    def build(self, values: Values, *, require_values: bool = False) -> str:
        """Return the url for the given values; `require_values` refuses empty ones in the path."""
        url = "".join(
            [
                _text(name, position, values[name], require_values) if name else literal
                for literal, name, position in self._pieces
            ]
        )
        if self._starts_with_variable:
            url = join_base(self._base, url)
        if "/." in url and has_dot_segment(url):
            raise VariableError("'.' or '..' cannot be used as a path segment")
        return url


def _read_pieces(
    pieces: Sequence[str | Token], multi_segment: Collection[str]
) -> tuple[list[_Piece], str]:
    """Return the pieces up to the fragment, and the url with placeholders for its variables."""
    read, shape = [], ""
    tokens = [piece for piece in pieces if isinstance(piece, Token)]
    declared = {token.name for token in tokens if is_path_type(token.type)}
    multi_segment = declared.union(multi_segment)
    for piece in pieces:
        if "#" not in shape:
            read.append(_read_piece(piece, shape, multi_segment))
        shape += _PLACEHOLDER if isinstance(piece, Token) else piece
    return read, shape


def is_path_type(word: str | None) -> bool:
    """Return True if a declared type is `path`; no misspelt type may let a value add segments."""
    return word is not None and known_type(word) == "path"


def _read_piece(piece: str | Token, before: str, multi_segment: Collection[str]) -> _Piece:
    """Return a piece after others, up to the fragment of the url."""
    if isinstance(piece, str):
        return _Piece(piece.partition("#")[0])
    return _Piece("", piece.name, _position(before, piece.name in multi_segment))


def _position(before: str, is_multi_segment: bool) -> str:
    if "?" in before:
        return "query"
    if _IN_AUTHORITY.match(before):
        return "authority"
    if is_multi_segment:
        return "segments"
    return "path" if before else "start"


def _text(name: str, position: str, value: object, require_value: bool) -> str:
    """Return the text of a variable in a url."""
    text = to_text(value, f"Variable {name}")
    if len(text) > MAX_URL_LENGTH:
        raise url_length_error()
    if text.isalnum() and text.isascii():
        return text
    if require_value and not text and position in _IN_PATH:
        raise MissingVariableError(f"DELETE needs a value for path variable {name}")
    return _encoded(name, position, text)


def _encoded(name: str, position: str, text: str) -> str:
    if position == "authority":
        is_safe = _HOST_TEXT.fullmatch(text) is not None
    elif position == "start" and _ABSOLUTE.match(text):
        is_safe = _UNSAFE.search(text) is None and has_short_authority(text)
        text = text.partition("#")[0]
    else:
        return percent_encode(text, safe="/" if position == "segments" else "")
    if not is_safe:
        raise VariableError(f"Variable {name} cannot be used in the host of a url")
    return text


def has_short_authority(url: str) -> bool:
    """Return True if the host of a url is short enough to be normalized."""
    start = url.find("//") + 2
    return _SEPARATOR.search(url, start, start + _MAX_AUTHORITY_LENGTH) is not None or (
        len(url) - start < _MAX_AUTHORITY_LENGTH
    )


def url_length_error() -> VariableError:
    """Return the error for a url that is too long."""
    return VariableError(f"The url is longer than {MAX_URL_LENGTH} characters")


def percent_encode(text: str, safe: str = "") -> str:
    """Percent-encode a text for a url."""
    # Checked first because `quote` takes several times as long.
    if text.isascii() and text.isalnum():
        return text
    with suppress(UnicodeEncodeError):
        return quote(text, safe=safe)
    raise VariableError("A value with lone surrogates cannot be sent in a url")


def join_base(base: str, url: str) -> str:
    """Append a relative url to the base url as text, so that it cannot replace the host."""
    if _ABSOLUTE.match(url) or not base:
        return url
    return f"{base}/{url.removeprefix('/')}" if url else base


def resolve_location(url: str, location: str) -> str:
    """Resolve the url of a redirect or link, relative to the url that returned it."""
    with suppress(ValueError):
        target = urljoin(url, requote_uri(_as_unicode(location)))
        if len(target) <= MAX_URL_LENGTH and urlsplit(target).port != 0:
            return target
    raise BlockedHostError("the remote leads to something that is not a valid url")


def _as_unicode(location: str) -> str:
    # http.client reads headers as latin-1, but most servers write UTF-8.
    try:
        return location.encode("latin-1").decode()
    except UnicodeError:
        return location


def origin_of(url: str) -> tuple[str, str, int] | None:
    """Return scheme, host and port of a url; None for one that cannot be called."""
    try:
        parts = urlsplit(url)
        port = parts.port or DEFAULT_PORTS[parts.scheme]
    except (ValueError, KeyError):
        return None
    host = parts.hostname
    return (parts.scheme, host, port) if host and len(host) <= _MAX_HOST_LENGTH else None


def has_dot_segment(url: str) -> bool:
    """Return True if the path has a segment that is `.` or `..`."""
    path = url.partition("?")[0]
    return any(segment in (".", "..") for segment in path.split("/"))
