"""Compares answers with the recorded ones, field by field, but for documented differences."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tests.support.documents import section

from .client import Answer

DOCUMENT, HEADING = "docs/migration.md", "What differs"
ROW = re.compile(r"^\| (.+) \| `(\w+ [^`]+)`(?: by (\w+))? \| (\d{3})\b(.*?) \| (\d{3})\b(.*?) \|$")
# What users have in addition; a value that LoopBack stores as null counts as none.
OF_USERS = {"emailVerified", "created"}
# Files are copied, with the times of the copy.
OF_FILE_SYSTEM = {"atime", "mtime", "ctime"}


def documented() -> dict[str, tuple[int, int]]:
    """Return the calls whose answers differ, as the table says: LoopBack 3's status, and ours."""
    rows = filter(None, map(ROW.fullmatch, section(DOCUMENT, HEADING).splitlines()))
    return {f"{row[3] or 'anyone'}: {row[2]}": (int(row[4]), int(row[6])) for row in rows}


def differences(
    recorded: Sequence[Answer], answers: Sequence[Answer], known: Mapping[str, tuple[int, int]]
) -> Iterator[str]:
    """Yield what differs and is not known by the statuses of a call, such as what is documented."""
    for old, new in zip(recorded, answers, strict=True):
        statuses = old["status"], new["status"]
        if known.get(old["call"]) == statuses:
            continue
        if statuses[0] != statuses[1]:
            yield f"{old['call']}: {statuses[0]} became {statuses[1]}: {new['body']}"
        elif not is_same(old["body"], new["body"]):
            yield f"{old['call']}:\n  {old['body']}\n  {new['body']}"


def is_same(old: Any, new: Any) -> bool:
    """Tell whether an answer is the recorded one."""
    if isinstance(old, dict) and isinstance(new, dict):
        if "error" in old:
            return _is_same_error(old["error"], new["error"])
        names = (old.keys() | new.keys()) - OF_FILE_SYSTEM
        if "email" in names:
            names -= {name for name in OF_USERS if old.get(name) is None}
        # What a row does not have is null.
        return all(is_same(old.get(name), new.get(name)) for name in names)
    if isinstance(old, list) and isinstance(new, list):
        return len(old) == len(new) and all(map(is_same, old, new))
    # Emails are in lower case.
    return old == new or (isinstance(old, str) and "@" in old and old.lower() == new)


def _is_same_error(old: dict[str, Any], new: dict[str, Any]) -> bool:
    """Tell whether clients read the same of an error: LoopBack has not always a code."""
    kinds = [(error["statusCode"], error.get("name") == "ValidationError") for error in (old, new)]
    return kinds[0] == kinds[1] and old.get("code") in (None, new.get("code"))
