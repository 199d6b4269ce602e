"""Differences between two answers, and how they are found."""

import re
from collections.abc import Iterator

from .answers import Answer
from .calls import Call, shape
from .documented import NO_CONTEXT, Context, documented, error_of, status_kind
from .kinds import CONTENT, ERROR_CODE, ERROR_TEXT, SESSIONS, SIZE, Difference, Kind
from .values import Values, rows_of

# The codes of errors of LoopBack, of databases and of HTTP.
CODE = re.compile(r"\w{1,60}", re.ASCII)


def differences(
    call: Call, old: Answer, new: Answer, context: Context = NO_CONTEXT
) -> list[Difference]:
    """Return how the answers to a call differ."""
    try:
        return _differences(call, old, new, context)
    except RecursionError:
        # JSON that can be read may be nested too deeply to be compared.
        return [Difference(CONTENT, "", old.content_type, new.content_type)]


def _differences(call: Call, old: Answer, new: Answer, context: Context) -> list[Difference]:
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
    """Compare two errors of the same status by their codes, if LoopBack's has one."""
    before, after = error_of(old), error_of(new)
    code, other = before.get("code"), after.get("code")
    if code is not None and code != other:
        yield Difference(ERROR_CODE, "error.code", _shown_code(code), _shown_code(other))
    elif before != after:
        yield Difference(ERROR_TEXT, "error", shape(before), shape(after))


def _shown_code(code: object) -> str:
    """Return the code of an error; the shape of anything else."""
    return code if isinstance(code, str) and CODE.fullmatch(code) else shape(code)
