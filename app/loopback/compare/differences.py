"""Differences between two answers, and how they are found."""

from collections.abc import Iterator

from .answers import Answer
from .calls import Call, shape
from .documented import NO_CONTEXT, Context, documented, error_of, status_kind
from .kinds import CONTENT, ERROR_CODE, ERROR_TEXT, SESSIONS, SIZE, Difference, Kind
from .values import Values, rows_of


def differences(
    call: Call, old: Answer, new: Answer, context: Context = NO_CONTEXT
) -> list[Difference]:
    """Return how the answers to a call differ."""
    if _is_about_sessions(call.path):
        return [] if old == new else [_by_status(SESSIONS, old, new)]
    if old.status != new.status:
        rows = rows_of(old.json.value if old.json else None)
        kind = status_kind(call, old, new, context)
        return [_by_status(kind, old, new)._replace(old_rows=rows)]
    if old.body is None or new.body is None:
        return [] if old.known_size == new.known_size else [_sizes(old, new)]
    if old.json is None or new.json is None:
        is_same = old.body == new.body or call.verb == "HEAD"
        return [] if is_same else [Difference(CONTENT, "", old.content_type, new.content_type)]
    if old.status >= 400:
        return list(_errors(old.json.value, new.json.value))
    values = old.json.value, new.json.value
    if context.is_first:
        # The first row of a list may be another one.
        values = [values[0]], [values[1]]
    found = Values(["id", *context.id_names]).compare(*values, "")
    return [documented(difference, call, context) for difference in found]


def _is_about_sessions(path: str) -> bool:
    return "accesstokens" in path.lower().split("/")


def _by_status(kind: Kind, old: Answer, new: Answer) -> Difference:
    return Difference(kind, "status", str(old.status), str(new.status))


def _sizes(old: Answer, new: Answer) -> Difference:
    return Difference(SIZE, "", f"{old.known_size} bytes", f"{new.known_size} bytes")


def _errors(old: object, new: object) -> Iterator[Difference]:
    """Compare two errors of the same status: by their codes, where LoopBack has one."""
    before, after = error_of(old), error_of(new)
    code, other = before.get("code"), after.get("code")
    if code is not None and code != other:
        # Codes are words of the service, and no data.
        yield Difference(ERROR_CODE, "error.code", str(code)[:60], str(other)[:60])
    elif before != after:
        yield Difference(ERROR_TEXT, "error", shape(before), shape(after))
