"""PocketBase with the rows of data.py: a server of its own, on SQLite, with other paths."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from benchmarks import kinds, load, stack
from benchmarks.data import EMAIL, PASSWORD
from benchmarks.load import Request
from benchmarks.stack import Server

# The user whose the rows are.
OWNER = "user1@example.com"
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
    # Read by the migration.
    numbers = {"ROWS": str(kinds.ROWS), "FIRST_ID": str(FIRST_ID)}
    environment = {**numbers, "OWNER": OWNER, "CREATOR": EMAIL, "PASSWORD": PASSWORD}
    with stack.serving(command, folder, environment, folder) as server:
        yield replace(server, requests=_requests(server.port))


def rows(answer: Any) -> list[dict[str, Any]]:
    """Return the rows of an answer, of PocketBase or another, with included owners as others."""
    found = answer.get("items", [answer]) if isinstance(answer, dict) else answer
    return [{**row, **row["expand"]} if "expand" in row else row for row in found]


def _requests(port: int) -> dict[str, Request]:
    """Return its form of each request, with a token of the user whose rows they are."""
    login = replace(kinds.LOGIN, path=LOGS_IN, body={"identity": EMAIL, "password": PASSWORD})
    owner = {"identity": OWNER, "password": PASSWORD}
    mine = load.ask(port, replace(login, body=owner))["token"]
    creator = load.ask(port, login)
    row = f"{TODOS}/{{id}}"
    new = {**(kinds.POST.body or {}), "owner": creator["record"]["id"]}
    forms = [
        _with_token(kinds.GET, mine, row),
        _with_token(kinds.LIST, mine, _listed(20, skipTotal="true")),
        _with_token(kinds.LONG_LIST, mine, _listed(100, skipTotal="true")),
        _with_token(kinds.COUNTED_LIST, mine, _listed(20)),
        _with_token(kinds.LONG_COUNTED_LIST, mine, _listed(100)),
        _with_token(kinds.STRANGER, creator["token"], f"{TODOS}/{FIRST_ID + 1}"),
        _with_token(kinds.INCLUDE, mine, _listed(20, skipTotal="true", expand="owner")),
        replace(_with_token(kinds.POST, creator["token"], TODOS), body=new),
        _with_token(kinds.RENAME, mine, row),
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
