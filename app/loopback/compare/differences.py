"""Differences between two answers: their kinds, and how they are found."""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from .answers import Answer
from .calls import Call, shape, shape_key
from .filters import is_limited_include, selects_without_value
from .kinds import (
    ACCOUNT,
    ADDED,
    ADDED_ROW,
    ALLOWED,
    CONTENT,
    DATE,
    EMAIL,
    EMBEDDED_SCOPE,
    ERROR_CODE,
    ERROR_TEXT,
    HIDDEN_ROW,
    HIDDEN_USER,
    KEY_ORDER,
    LINKED_LIMIT,
    MISSING,
    MISSING_ROW,
    NO_RELATED,
    NO_VALUE,
    NULL,
    OWN_RECORD,
    OWN_ROWS,
    REFUSAL,
    RELATION,
    ROW_ORDER,
    SESSIONS,
    SIZE,
    STATUS,
    TYPE,
    UNKNOWN_PROPERTY,
    VALUE,
    Kind,
)

# Objects and lists in one another, beyond which an answer is compared as text.
MAX_DEPTH = 32
REFUSED = (401, 403)
# Properties of users that LoopBack 3 leaves out, or does not have.
_OF_ACCOUNTS = ("created", "emailVerified")
_DATE = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?")
# An error of Ostiary for a condition on a property that a model does not have.
_UNKNOWN_PROPERTY = "There is no property"
# One for an include of what is embedded in a row.
_EMBEDDED_SCOPE = "takes no scope: what is embedded"


class Difference(NamedTuple):
    """A difference, the place in the answers, and what both have there, as a report may show it."""

    kind: Kind
    place: str
    old: str
    new: str


class Context(NamedTuple):
    """What the document of the new service says of a call."""

    # Rules let the new service answer the call for the caller's own rows, or own record.
    is_own_rows: bool = False
    is_own_record: bool = False
    # Names of relations that lead to users.
    user_relations: frozenset[str] = frozenset()
    # Those whose rows are linked by a model between both.
    linked: frozenset[str] = frozenset()


NO_CONTEXT = Context()


def differences(
    call: Call, old: Answer, new: Answer, context: Context = NO_CONTEXT
) -> list[Difference]:
    """Return how the answers to a call differ."""
    if _is_about_sessions(call.path):
        return [] if old == new else [_by_status(SESSIONS, old, new)]
    if old.status != new.status:
        return [_by_status(_status_kind(call, old, new, context), old, new)]
    if old.body is None or new.body is None:
        return [] if old.known_size == new.known_size else [_sizes(old, new)]
    if old.json is None or new.json is None:
        is_same = old.body == new.body or call.verb == "HEAD"
        return [] if is_same else [Difference(CONTENT, "", old.content_type, new.content_type)]
    if old.status >= 400:
        return list(_errors(old.json.value, new.json.value))
    rows = old.json.value, new.json.value
    found = (_of_users(difference, call, context) for difference in _values(*rows, ""))
    return [_of_filters(difference, call, context, *rows) for difference in found]


def _of_users(difference: Difference, call: Call, context: Context) -> Difference:
    """Return a difference, as one of users if their rules say so."""
    place = (difference.place or call.path).rstrip("[]").replace("/", ".")
    name = place.rpartition(".")[2]
    is_left_out = difference.kind in (MISSING, TYPE) and difference.new in ("missing", "null")
    if is_left_out and name in context.user_relations:
        return difference._replace(kind=HIDDEN_USER)
    return difference


def _of_filters(
    difference: Difference, call: Call, context: Context, old: object, new: object
) -> Difference:
    """Return a difference, as one of filters if LoopBack 3 is known to read this one otherwise."""
    relation = difference.place.removeprefix("[].").removesuffix("[]")
    if difference.kind is MISSING_ROW and relation in context.linked:
        if is_limited_include(call.query, relation):
            return difference._replace(kind=LINKED_LIMIT)
    elif difference.kind is ADDED_ROW and isinstance(old, list) and isinstance(new, list):
        before, after = _by_id(old) or {}, _by_id(new) or {}
        added = [row for key, row in after.items() if key not in before]
        if difference.place == "[]" and selects_without_value(call.query, added):
            return difference._replace(kind=NO_VALUE)
    return difference


def _is_about_sessions(path: str) -> bool:
    return "accesstokens" in path.lower().split("/")


def _by_status(kind: Kind, old: Answer, new: Answer) -> Difference:
    return Difference(kind, "status", str(old.status), str(new.status))


def _sizes(old: Answer, new: Answer) -> Difference:
    return Difference(SIZE, "", f"{old.known_size} bytes", f"{new.known_size} bytes")


def _status_kind(call: Call, old: Answer, new: Answer, context: Context) -> Kind:
    if old.status in REFUSED:
        return _refused_kind(new, context)
    if new.status in REFUSED and old.status == 200 and _names_relation(new):
        return RELATION
    if old.status == 200 and new.status == 404 and _is_relation(call.path) and _is_empty(old):
        return NO_RELATED
    if old.status < 500 and new.status == 400:
        message = str(_error_of(new.json.value if new.json else None).get("message"))
        if _UNKNOWN_PROPERTY in message:
            return UNKNOWN_PROPERTY
        if _EMBEDDED_SCOPE in message:
            return EMBEDDED_SCOPE
    return STATUS


def _refused_kind(new: Answer, context: Context) -> Kind:
    if new.status in REFUSED:
        return REFUSAL
    if new.status == 404 or (new.json is not None and new.json.value == {"exists": False}):
        return HIDDEN_ROW
    if new.status >= 400:
        return STATUS
    if context.is_own_record:
        return OWN_RECORD
    return OWN_ROWS if context.is_own_rows else ALLOWED


def _is_relation(path: str) -> bool:
    """Tell whether a path has more than a model, an id and `exists` or `count`."""
    segments = path.strip("/").split("/")
    return len(segments) > 2 and segments[-1] != "exists"


def _is_empty(answer: Answer) -> bool:
    return answer.json is not None and answer.json.value in (None, {})


def _names_relation(answer: Answer) -> bool:
    """Tell whether the rules of the target of a relation refuse a call."""
    details = _error_of(answer.json.value if answer.json else None).get("details")
    return isinstance(details, dict) and "relation" in details


def _error_of(body: object) -> Mapping[str, Any]:
    error = body.get("error") if isinstance(body, dict) else None
    return error if isinstance(error, dict) else {}


def _errors(old: object, new: object) -> Iterator[Difference]:
    """Compare two errors of the same status: by their codes, where LoopBack has one."""
    before, after = _error_of(old), _error_of(new)
    code, other = before.get("code"), after.get("code")
    if code is not None and code != other:
        # Codes are words of the service, and no data.
        yield Difference(ERROR_CODE, "error.code", str(code)[:60], str(other)[:60])
    elif before != after:
        yield Difference(ERROR_TEXT, "error", shape(before), shape(after))


def _values(old: object, new: object, place: str, depth: int = 0) -> Iterator[Difference]:
    if isinstance(old, dict) and isinstance(new, dict) and depth < MAX_DEPTH:
        yield from _objects(old, new, place, depth)
    elif isinstance(old, list) and isinstance(new, list) and depth < MAX_DEPTH:
        yield from _lists(old, new, place, depth)
    elif json_type(old) != json_type(new):
        yield Difference(TYPE, place, shape(old), shape(new))
    elif old != new:
        yield Difference(_value_kind(old, new, place), place, shape(old), shape(new))


def _value_kind(old: object, new: object, place: str) -> Kind:
    if _are_same_moment(old, new):
        return DATE
    is_email = place.rpartition(".")[2] == "email"
    return EMAIL if is_email and isinstance(old, str) and old.lower() == new else VALUE


def _objects(
    old: Mapping[str, Any], new: Mapping[str, Any], place: str, depth: int
) -> Iterator[Difference]:
    common = [name for name in old if name in new]
    if common != [name for name in new if name in old]:
        yield Difference(KEY_ORDER, place, ", ".join(map(shape_key, common[:3])), "another order")
    for name in common:
        yield from _values(old[name], new[name], _join(place, name), depth + 1)
    for name in old.keys() - new.keys():
        kind = NULL if old[name] is None else MISSING
        yield Difference(kind, _join(place, name), shape(old[name]), "missing")
    for name in new.keys() - old.keys():
        kind = NULL if new[name] is None else _added_kind(name, new)
        yield Difference(kind, _join(place, name), "missing", shape(new[name]))


def _added_kind(name: str, row: Mapping[str, Any]) -> Kind:
    return ACCOUNT if name in _OF_ACCOUNTS and "email" in row else ADDED


def _join(place: str, name: str) -> str:
    return f"{place}.{shape_key(name)}" if place else shape_key(name)


def _lists(old: Sequence[Any], new: Sequence[Any], place: str, depth: int) -> Iterator[Difference]:
    """Compare lists: rows by their ids, other items by their positions."""
    inside = f"{place}[]"
    before, after = _by_id(old), _by_id(new)
    if before is None or after is None:
        for left, right in zip(old, new, strict=False):
            yield from _values(left, right, inside, depth + 1)
        if len(old) != len(new):
            kind = MISSING_ROW if len(old) > len(new) else ADDED_ROW
            yield Difference(kind, inside, f"{len(old)} items", f"{len(new)} items")
        return
    yield from _rows(before, after, inside)
    for key in before:
        if key in after:
            yield from _values(before[key], after[key], inside, depth + 1)


def _by_id(items: Sequence[Any]) -> dict[str, Any] | None:
    """Return rows by their ids as text, or None if these are not rows with different ids."""
    rows = {str(item["id"]): item for item in items if isinstance(item, dict) and "id" in item}
    return rows if len(rows) == len(items) else None


def _rows(old: Mapping[str, Any], new: Mapping[str, Any], place: str) -> Iterator[Difference]:
    counts = f"{len(old)} rows", f"{len(new)} rows"
    if old.keys() - new.keys():
        yield Difference(MISSING_ROW, place, *counts)
    if new.keys() - old.keys():
        yield Difference(ADDED_ROW, place, *counts)
    if [key for key in old if key in new] != [key for key in new if key in old]:
        yield Difference(ROW_ORDER, place, *counts)


def json_type(value: object) -> str:
    """Return the JSON type of a value; 1 and 1.0 are both numbers."""
    if isinstance(value, bool):
        return "boolean"
    return "number" if isinstance(value, int | float) else type(value).__name__


def _are_same_moment(old: object, new: object) -> bool:
    moments = [_moment(value) for value in (old, new)]
    return None not in moments and moments[0] == moments[1]


def _moment(value: object) -> datetime | None:
    if not isinstance(value, str) or len(value) > 40 or not _DATE.fullmatch(value):
        return None
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
