"""Reasons for allowing calls that LoopBack 3 refuses: the documents, for each call."""

from collections.abc import Callable, Mapping

from werkzeug.test import TestResponse

from .cases import Call
from .worlds import ADMIN, World

# Methods without the id of a row, by whether they answer with rows or with a number of rows.
OF_ROWS, OF_NUMBERS = ("find", "findOne", "upsertWithWhere"), ("count", "updateAll")


def is_about_own_rows(world: World, call: Call, response: TestResponse) -> bool:
    """Tell whether the answer shows existing rows of the caller alone, or is about so many."""
    key = world.owner_key(call.model)
    own = [row["id"] for row in world.rows[call.model] if row.get(key) == call.caller]
    if call.caller is None or call.method not in OF_ROWS + OF_NUMBERS:
        return False
    # Answered by the same view as GET.
    if call.verb == "HEAD":
        return True
    if call.method in OF_NUMBERS:
        return response.json["count"] <= len(own)
    rows = response.json if isinstance(response.json, list) else [response.json]
    return all(row["id"] in own for row in rows)


def is_of_own_record(world: World, call: Call) -> bool:
    """Tell whether a call is about the caller's own record."""
    ids = {row["id"] for row in world.rows[call.model]}
    is_user = call.model in world.models_of_users and call.caller in ids
    return is_user and (call.path + "/").startswith(f"/{call.model}s/{call.caller}/")


# By the keys that the reasons have in the documents.
REASONS: Mapping[str, Callable[[World, Call, TestResponse], bool]] = {
    "own rows": is_about_own_rows,
    "no row": lambda world, call, response: (
        call.method == "exists" and call.verb == "GET" and response.json == {"exists": False}
    ),
    "head": lambda world, call, response: (
        call.verb == "HEAD" and call.method in ("findOne", "count")
    ),
    "chosen id": lambda world, call, response: (
        call.method == "create" and response.status_code == 422 and "id" in call.body
    ),
    "own record": lambda world, call, response: (
        call.method == "exists" and is_of_own_record(world, call)
    ),
    "sessions": lambda world, call, response: (
        call.method == "__get__accessTokens"
        and is_of_own_record(world, call)
        and all("id" not in session for session in response.json)
    ),
    "admin": lambda world, call, response: (
        call.caller == ADMIN and call.model in world.models_of_users
    ),
}


def reason(world: World, call: Call, response: TestResponse) -> str | None:
    """Return the first reason for which a call is allowed, if there is one."""
    return next((key for key, holds in REASONS.items() if holds(world, call, response)), None)
