"""PocketBase with the rows of data.py: a server of its own, on SQLite, with other paths."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from benchmarks import load, stack
from benchmarks.data import EMAIL, PASSWORD
from benchmarks.kinds import (
    COUNTED_LIST,
    GET,
    INCLUDE,
    LIST,
    LOGIN,
    LONG_COUNTED_LIST,
    LONG_LIST,
    POST,
    RENAME,
    STRANGER,
)
from benchmarks.load import Request
from benchmarks.stack import Server

# Its ids have fifteen characters: this is the id of row 0.
FIRST_ID = 10**14
LOGS_IN = "/api/collections/users/auth-with-password"
TODOS = "/api/collections/todos/records"


@contextmanager
def serve(folder: Path) -> Iterator[Server]:
    """Serve PocketBase in one process, with its database in the folder."""
    command = [
        *(str(stack.OTHERS / "bin" / "pocketbase"), "serve", "--http=127.0.0.1:{port}"),
        *(f"--dir={folder}/pocketbase", f"--migrationsDir={Path(__file__).parent}"),
    ]
    with stack.serving(command, folder, {}, folder) as server:
        yield replace(server, requests=_requests(server.port))


def rows(answer: Any) -> list[dict[str, Any]]:
    """Return the rows of an answer, of PocketBase or another, with included owners as others."""
    found = answer.get("items", [answer]) if isinstance(answer, dict) else answer
    return [{**row, **row["expand"]} if "expand" in row else row for row in found]


def _requests(port: int) -> dict[str, Request]:
    """Return its form of each request, with a token of the user whose rows they are."""
    user = {"identity": "user1@example.com", "password": PASSWORD}
    login = replace(LOGIN, path=LOGS_IN, body={**user, "identity": EMAIL})
    mine = load.ask(port, replace(login, body=user))["token"]
    creator = load.ask(port, login)
    row = f"{TODOS}/{{id}}"
    new = {**(POST.body or {}), "owner": creator["record"]["id"]}
    forms = [
        _with_token(GET, mine, row),
        _with_token(LIST, mine, _listed(20, skipTotal="true")),
        _with_token(LONG_LIST, mine, _listed(100, skipTotal="true")),
        _with_token(COUNTED_LIST, mine, _listed(20)),
        _with_token(LONG_COUNTED_LIST, mine, _listed(100)),
        _with_token(STRANGER, creator["token"], f"{TODOS}/{FIRST_ID + 1}"),
        _with_token(INCLUDE, mine, _listed(20, skipTotal="true", expand="owner")),
        replace(_with_token(POST, creator["token"], TODOS), body=new),
        _with_token(RENAME, mine, row),
        login,
    ]
    return {form.name: form for form in forms}


def _listed(rows: int, **parameters: str) -> str:
    wanted = {"filter": "isComplete=false", "sort": "id", "perPage": str(rows)}
    return f"{TODOS}?{urlencode({**wanted, **parameters})}"


def _with_token(request: Request, token: str, path: str) -> Request:
    headers = {"Authorization": token}
    first, last = request.first + FIRST_ID, request.last + FIRST_ID
    return replace(request, path=path, first=first, last=last, with_token=False, headers=headers)
