"""Calls that COMPATIBILITY answers differently, as listed in `docs/compatibility.md`."""

import json
from typing import Any, NamedTuple

# A status with an error's code, or with the content of the response.
Answer = tuple[int, Any]

REFUSED = (401, "AUTHORIZATION_REQUIRED")
DENIED = (403, "ACCESS_DENIED")
INVALID = (422, "VALIDATION_ERROR")
NO_ROW = (404, "MODEL_NOT_FOUND")
NO_METHOD = (404, "NOT_FOUND")
OTHER_METHOD = (405, "METHOD_NOT_ALLOWED")
NOTHING = (204, None)
BAD_FILTER = (400, "INVALID_FILTER")
HANDLE = "0123456789abcdef"


class Call(NamedTuple):
    """A call of the user 1, its purpose, and its responses without and with COMPATIBILITY."""

    about: str
    verb: str
    path: str
    body: Any
    without: Answer
    compatible: Answer


DIFFERENT = [
    Call("the record of another user", "GET", "/users/2", None, DENIED, REFUSED),
    Call("a method that no rule allows", "GET", "/users", None, DENIED, REFUSED),
    Call(
        "a row of another user, which only a rule for `$owner` allows to read",
        *("GET", "/todos/1", None, NO_ROW, REFUSED),
    ),
    Call(
        "changing it, or one that does not exist",
        *("PATCH", "/todos/99", {"title": "b"}, NO_ROW, REFUSED),
    ),
    Call(
        "an unknown property",
        *("POST", "/notes", {"text": "a", "color": "red"}, INVALID, (200, {"text": "a"})),
    ),
    Call(
        "another value of a read-only property",
        *("POST", "/todos", {"title": "a", "ownerId": 2}, INVALID, (200, {"ownerId": 1})),
    ),
    Call(
        "another id in a change of a row",
        *("PATCH", "/notes/1", {"id": 2}, INVALID, (400, "INVALID_ID")),
    ),
    Call(
        "a number for a text",
        *("POST", "/notes", {"text": 1.5}, INVALID, (200, {"text": "1.5"})),
    ),
    Call(
        "a boolean for a text",
        *("POST", "/notes", {"text": True}, INVALID, (200, {"text": "true"})),
    ),
    Call(
        "a text for a number",
        *("POST", "/notes", {"text": "a", "stars": "4"}, INVALID, (200, {"stars": 4})),
    ),
    Call(
        "0 or 1 as a text for a boolean",
        *("POST", "/todos", {"title": "a", "isComplete": "1"}),
        *(INVALID, (200, {"isComplete": True})),
    ),
    Call(
        "a number or a boolean for a text in a `where`",
        *("GET", '/notes?filter={"where":{"text":{"inq":[1.5,true]}}}', None),
        *(BAD_FILTER, (200, [{"text": "1.5"}, {"text": "true"}])),
    ),
    Call(
        "0 or 1 for a boolean there",
        *("GET", '/todos?filter={"where":{"isComplete":1}}', None),
        *(BAD_FILTER, (200, [{"isComplete": True}])),
    ),
    Call(
        "an empty `limit`, `skip` or `offset`",
        *("GET", "/notes?filter[where][id]=1&filter[limit]=", None),
        *(BAD_FILTER, (200, [{"id": 1}])),
    ),
    Call(
        "an unknown key of a filter",
        *("GET", '/notes?filter={"where":{"id":1},"page":2}', None),
        *(BAD_FILTER, (200, [{"id": 1}])),
    ),
    Call(
        "an unknown property in `fields`",
        *("GET", '/notes/1?filter={"fields":["id","color"]}', None),
        *(BAD_FILTER, (200, {"id": 1})),
    ),
    Call(
        "an unknown property in `order`",
        *("GET", '/notes?filter={"where":{"id":1},"order":"color DESC"}', None),
        *(BAD_FILTER, (200, [{"id": 1}])),
    ),
    Call(
        "an empty belongsTo relation; `null` if its row was deleted, or the caller may not read it",
        *("GET", "/notes/1/origin", None, NO_ROW, (200, {})),
    ),
    Call(
        "deleting a row that does not exist, by callers who may delete every row",
        *("DELETE", "/notes/99", None, NO_ROW, (200, {"count": 0})),
    ),
    Call(
        "deleting by an invalid id, by the same callers",
        *("DELETE", "/notes/x", None, NO_ROW, (200, {"count": 0})),
    ),
    Call(
        "asking whether a row with an invalid id exists",
        *("GET", "/notes/x/exists", None, NO_ROW, (200, {"exists": False})),
    ),
    Call(
        "the sessions of a user, `id` being the handle",
        *("GET", "/users/1/accessTokens", None),
        *((200, [{"handle": HANDLE}]), (200, [{"id": HANDLE, "userId": 1}])),
    ),
    Call(
        "their number",
        *("GET", "/users/1/accessTokens/count", None, OTHER_METHOD, (200, {"count": 1})),
    ),
    Call(
        "one of them, by its handle",
        *("GET", f"/users/1/accessTokens/{HANDLE}", None),
        *(OTHER_METHOD, (200, {"id": HANDLE, "userId": 1})),
    ),
    Call(
        "an unknown one",
        *("GET", "/users/1/accessTokens/ffffffffffffffff", None, OTHER_METHOD, NO_ROW),
    ),
    Call(
        "a confirmation, without `EMAIL_VERIFICATION`",
        *("GET", "/users/confirm?uid=1&token=x", None, DENIED, (400, "INVALID_TOKEN")),
    ),
    Call(
        "a request for it, which sends no mail",
        *("POST", "/users/1/verify", None, NO_METHOD, NOTHING),
    ),
    Call(
        "the same for a user who does not exist",
        *("POST", "/users/99/verify", None, NO_METHOD, NOTHING),
    ),
]
# Calls that LoopBack 3 answers differently, and the service in neither case.
ALIKE = [
    Call(
        "a text that is not a number: LoopBack stores `null`",
        *("POST", "/notes", {"text": "a", "stars": "many"}, INVALID, INVALID),
    ),
    Call(
        "a value that cannot be converted: LoopBack stores the result of JavaScript, here 1",
        *("POST", "/notes", {"text": "a", "stars": True}, INVALID, INVALID),
    ),
    Call(
        "a password that is not a string",
        *("POST", "/users", {"email": "x@example.com", "password": 1234567890}, INVALID, INVALID),
    ),
    Call(
        "a `where` with an unknown property or operator: LoopBack finds nothing, or ignores what is"
        " hidden",
        *("GET", '/todos?filter={"where":{"color":"red"}}', None, BAD_FILTER, BAD_FILTER),
    ),
    Call(
        "a hidden property in `fields` or `order`: LoopBack omits it, and orders by it",
        *("GET", '/users/1?filter={"fields":["id","password"]}', None, BAD_FILTER, BAD_FILTER),
    ),
    Call(
        "a condition without an operator: LoopBack finds nothing, or fails with 500",
        *("GET", '/notes?filter={"where":{"text":{}}}', None, BAD_FILTER, BAD_FILTER),
    ),
    Call(
        "a part of a filter with an invalid type: LoopBack ignores most of them",
        *("GET", '/notes?filter={"fields":5}', None, BAD_FILTER, BAD_FILTER),
    ),
    Call(
        "a change without `where`",
        *("POST", "/todos/update", {"title": "a"}, BAD_FILTER, BAD_FILTER),
    ),
    Call(
        "a password reset: LoopBack's response is 204, without a body",
        *("POST", "/users/reset", {"email": "ada@example.com"}, (200, {}), (200, {})),
    ),
    Call(
        "a password reset for an unknown address: LoopBack reveals that it is unknown",
        *("POST", "/users/reset", {"email": "nobody@example.com"}, (200, {}), (200, {})),
    ),
    Call(
        "tokens as a collection: LoopBack shows their values",
        *("GET", "/accessTokens", None, NO_METHOD, NO_METHOD),
    ),
    Call(
        "a password in a change of a user, unless it confirms a new email: LoopBack sets it without"
        " asking for the old one, which `POST /users/change-password` does",
        *("PATCH", "/users/1", {"password": "a wide green field"}, INVALID, INVALID),
    ),
    Call(
        "including the sessions of a user: LoopBack's response is 200, with or without them",
        *("GET", '/users/1?filter={"include":"accessTokens"}', None),
        *(BAD_FILTER, BAD_FILTER),
    ),
    Call(
        "a `where` with a value of another type: LoopBack finds nothing, or reads it as JavaScript"
        " does, such as any text as true",
        *("GET", '/notes?filter={"where":{"stars":"many"}}', None),
        *(BAD_FILTER, BAD_FILTER),
    ),
    Call(
        "a reference to a row that the caller may not read, such as another user: LoopBack accepts"
        " any id, and a relation then shows the row",
        *("POST", "/badges", {"nextId": 1}, INVALID, INVALID),
    ),
    Call(
        "the identities and credentials of a user: LoopBack shows their tokens of identity"
        " providers; with providers, identities are listed without them",
        *("GET", "/users/1/identities", None, NO_METHOD, NO_METHOD),
    ),
    Call(
        "including them",
        *("GET", '/users/1?filter={"include":"identities"}', None),
        *(BAD_FILTER, BAD_FILTER),
    ),
    Call(
        "a change by `upsertWithWhere` without the required properties, which the row has: LoopBack"
        " validates the body as a new row, and its response is 422",
        *("POST", '/notes/upsertWithWhere?where={"id":1}', {"stars": 4}),
        *((200, {"stars": 4}), (200, {"stars": 4})),
    ),
]


class Looser(NamedTuple):
    """Calls that LoopBack 3 refuses and the service allows, and why."""

    calls: str
    ostiary: str
    reason: str


LOOSER = {
    "own rows": Looser(
        "`find`, `findOne`, `count`, `updateAll` and `upsertWithWhere` by callers whom only"
        " a rule for `$owner` allows them: without an id there is no row that the caller could own",
        "They apply to the caller's own rows. `upsertWithWhere` creates none.",
        "The rule is a condition of the query: nobody sees or changes a row of somebody else.",
    ),
    "no row": Looser(
        "`GET /{id}/exists` by callers whom only such a rule allows it, for a row of another user",
        '200 `{"exists": false}`, as for a row that does not exist',
        "The response reveals nothing.",
    ),
    "head": Looser(
        "`HEAD` of `/count` and `/findOne`, for which it reads `count` and `findOne` as the id of a"
        " row and applies the rules of `exists`",
        "The rules of `GET` apply to `HEAD`, except for that of a row.",
        "It reveals less than `GET`.",
    ),
    "chosen id": Looser(
        "`create` with the `id` of a row of the caller, where a rule denies it to `$owner`",
        "422, as for every `id` that clients may not choose or that is taken",
        "Nothing is created, and a row that does not exist has no owner.",
    ),
    "own record": Looser(
        "`exists` of users, by `GET` and `HEAD`, for their own record",
        "Users may call it, unless a rule of the model denies it.",
        "They may read the record anyway.",
    ),
    "sessions": Looser(
        "`accessTokens` of users, for their own",
        "Users see and end their sessions, unless a rule of the model denies it.",
        "The response has no token, and a stolen session can be ended.",
    ),
    "admin": Looser(
        "every method of users and to-dos, for callers with the role `admin`",
        "The built-in rules allow them.",
        "Somebody has to manage users; only a command grants the role.",
    ),
}


def row(call: Call) -> tuple[str, ...]:
    """Return the cells of a call."""
    body = f" `{json.dumps(call.body)}`" if call.body is not None else ""
    called = f"`{call.verb} {call.path}`{body}"
    return (call.about, called, answer(call.without), answer(call.compatible))


def answer(expected: Answer) -> str:
    """Return a response's text: its status, and its code or content."""
    status, content = expected
    if content is None:
        return str(status)
    return f"{status} `{content if isinstance(content, str) else json.dumps(content)}`"
