"""Reading calls, and how a report names them: without tokens, and without values of rows."""

import json
import re
from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from app.connector.redaction import MASK, is_secret_name

READING_VERBS = ("GET", "HEAD")
# Words in the paths of GET routes that change something, or whose response has no end.
EFFECTS = frozenset(
    {
        *("login", "logout", "confirm", "verify", "reset", "reset-password", "change-password"),
        *("change-email", "change-stream"),
    }
)
#: Maximum parameters of a compared call.
MAX_PARAMETERS = 100
# Characters of a value, and of a whole call, in a report.
MAX_SHAPE = 32
MAX_DESCRIPTION = 200
# Words, numbers, UUIDs and ObjectIds, but not tokens, addresses and free text.
_PLAIN_SEGMENT = re.compile(r"[A-Za-z0-9_-]{1,36}")
_PLAIN_VALUE = re.compile(r"[A-Za-z_][\w.]{0,39}( (ASC|DESC))?", re.IGNORECASE)
_TOKENS = "accesstokens"


class Call(NamedTuple):
    """A call that reads; `path` is below the address of the API, and encoded."""

    verb: str
    path: str
    query: Sequence[tuple[str, str]] = ()

    @property
    def target(self) -> str:
        """The path and the query, as they are sent."""
        return f"{self.path}?{urlencode(self.query)}" if self.query else self.path

    def __str__(self) -> str:
        path = "/".join(_shown_segments(self.path))
        query = "&".join(f"{shape_key(name)}={_shown(name, value)}" for name, value in self.query)
        return f"{self.verb} {path}{'?' if query else ''}{query}"[:MAX_DESCRIPTION]


def filtered(path: str, **parameters: object) -> Call:
    """Return a GET whose parameters, such as `filter`, are JSON."""
    query = [(name, json.dumps(value, ensure_ascii=False)) for name, value in parameters.items()]
    return Call("GET", path, query)


def read_call(verb: str, target: str, excepted: frozenset[str] = EFFECTS) -> Call | None:
    """Return the call of a request, without parameters of its query that may be tokens.

    None if it may change something: another verb than GET and HEAD, or a path with an excepted
    word. None, too, if the URL is invalid, or has too many parameters.
    """
    try:
        address = urlsplit(target)
        pairs = parse_qsl(address.query, keep_blank_values=True, max_num_fields=MAX_PARAMETERS)
    except ValueError:
        return None
    if verb not in READING_VERBS or has_effect(address.path, excepted):
        return None
    return Call(verb, address.path, [pair for pair in pairs if not is_secret_name(pair[0])])


def has_effect(path: str, excepted: frozenset[str] = EFFECTS) -> bool:
    """Return True if a GET of this path may change something: one of its segments is excepted."""
    return any(unquote(segment).lower() in excepted for segment in path.split("/"))


def below(root: str, path: str) -> str | None:
    """Return the part of a path below the root of an API, or None if it is elsewhere."""
    if not path.startswith(f"{root}/"):
        return None
    return path.removeprefix(root)


def encoded(value: object) -> str:
    """Return an id as a segment of a path."""
    return quote(str(value), safe="")


def shape(value: object) -> str:
    """Describe a value without revealing it: each letter is an `a`, each digit a `9`.

    >>> shape("Ada@example.com")
    '"Aaa@aaaaaaa.aaa"'
    """
    if isinstance(value, list):
        return f"a list of {len(value)}"
    if isinstance(value, dict):
        return f"an object of {len(value)}"
    text = json.dumps(value, ensure_ascii=False, default=str)
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        text = "".join(map(_shape_character, text[: MAX_SHAPE + 1]))
    return text if len(text) <= MAX_SHAPE else f"{text[:MAX_SHAPE]}…"


def shape_key(name: str) -> str:
    """Return the name of a property, or its shape if it may be data."""
    return name if re.fullmatch(r"[\w$.\[\]-]{1,60}", name) else shape(name)


def _shape_character(char: str) -> str:
    if char.isdigit():
        return "9"
    if char.isalpha():
        return "A" if char.isupper() else "a"
    return char if char.isprintable() else "?"


def _shown_segments(path: str) -> list[str]:
    segments = path.split("/")
    after = ["", *segments]
    return [
        segment
        if not segment or (_PLAIN_SEGMENT.fullmatch(segment) and before.lower() != _TOKENS)
        else shape(unquote(segment)).strip('"')
        for before, segment in zip(after, segments, strict=False)
    ]


def _shown(name: str, value: str) -> str:
    if is_secret_name(name):
        return MASK
    if name not in ("filter", "where"):
        is_plain = not name.startswith(("filter[where]", "where"))
        return value if is_plain and _is_plain(value) else shape(value)
    try:
        parsed = json.loads(value)
    except (ValueError, RecursionError):
        return shape(value)
    return json.dumps(_masked(parsed, name == "where"), separators=(",", ":"), ensure_ascii=False)


def _masked(value: object, is_condition: bool, depth: int = 0) -> object:
    """Return a filter with the shapes of the values in its conditions."""
    if depth > 12:
        return "…"
    if isinstance(value, dict):
        return {
            shape_key(name): _masked(item, is_condition or name == "where", depth + 1)
            for name, item in value.items()
        }
    if isinstance(value, list):
        return [_masked(item, is_condition, depth + 1) for item in value]
    if value is None or isinstance(value, bool):
        return value
    return shape(value).strip('"') if is_condition or not _is_plain(str(value)) else value


def _is_plain(value: str) -> bool:
    return value.isdigit() or _PLAIN_VALUE.fullmatch(value) is not None
