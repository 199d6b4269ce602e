"""To-dos of the caller on FastAPI and asyncpg, on the tables of Ostiary."""

import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from hashlib import sha256
from typing import Annotated, Any
from urllib.parse import parse_qs, urlsplit

import asyncpg
import uvicorn
from fastapi import Depends, FastAPI, Header, HTTPException, Response
from pydantic import BaseModel, Field, PlainSerializer

PLACE = urlsplit(os.environ["DATABASE_URL"])
COLUMNS = 'id, title, "desc", is_complete AS "isComplete", created, owner_id AS "ownerId"'
TOKEN = "SELECT user_id, expires_at FROM access_tokens WHERE digest = $1"
ONE = f"SELECT {COLUMNS} FROM todos WHERE id = $1 AND owner_id = $2"
SOME = f"SELECT {COLUMNS} FROM todos WHERE owner_id = $1 AND is_complete = $2 ORDER BY id LIMIT $3"
TOTAL = "SELECT count(*) FROM todos WHERE owner_id = $1 AND is_complete = $2"
USERS = (
    "SELECT id, email, username, nullif(realm, '') AS realm,"
    ' email_verified AS "emailVerified", created FROM users WHERE id = any($1)'
)
RENAME = f"UPDATE todos SET title = $3 WHERE id = $1 AND owner_id = $2 RETURNING {COLUMNS}"
CREATE = (
    'INSERT INTO todos (title, "desc", is_complete, created, owner_id)'
    f" VALUES ($1, $2, $3, $4, $5) RETURNING {COLUMNS}"
)
Time = Annotated[
    datetime,
    PlainSerializer(
        lambda value: value.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        return_type=str,
    ),
]


class NewTodo(BaseModel):
    """What a client may send."""

    title: str = Field(min_length=1)
    desc: str | None = None
    isComplete: bool = False


class Todo(NewTodo):
    """A to-do."""

    id: int
    title: str
    created: Time
    ownerId: int


class User(BaseModel):
    """A user."""

    id: int
    email: str
    username: str | None
    realm: str | None
    emailVerified: bool
    created: Time


class TodoWithOwner(Todo):
    """A to-do, with its owner if requested."""

    owner: User | None = None


class Change(BaseModel):
    """What a client may change."""

    title: str = Field(min_length=1)


@asynccontextmanager
async def connected(application: FastAPI) -> AsyncIterator[None]:
    """Keep a pool of connections while the application runs."""
    host, database = parse_qs(PLACE.query)["host"][0], PLACE.path.removeprefix("/")
    async with asyncpg.create_pool(host=host, database=database, user=PLACE.username) as pool:
        application.state.pool = pool
        yield


app = FastAPI(lifespan=connected)


async def caller(authorization: Annotated[str, Header()]) -> int:
    """Return the id of the user whose token came with the request."""
    digest = sha256(authorization.encode()).hexdigest()
    row = await app.state.pool.fetchrow(TOKEN, digest)
    if row is None or row["expires_at"] <= datetime.now(UTC):
        raise HTTPException(401)
    return int(row["user_id"])


Caller = Annotated[int, Depends(caller)]


@app.get("/api/todos/{id}", response_model=Todo)
async def find_by_id(id: int, user_id: Caller) -> Any:
    """Show a to-do."""
    row = await app.state.pool.fetchrow(ONE, id, user_id)
    if row is None:
        raise HTTPException(404)
    return dict(row)


@app.get("/api/todos", response_model=list[TodoWithOwner], response_model_exclude_unset=True)
async def find(filter: str, user_id: Caller, response: Response, count: bool = False) -> Any:
    """List to-dos; read one more, which would tell of a next page."""
    wanted, pool = json.loads(filter), app.state.pool
    done, limit = wanted["where"]["isComplete"], wanted["limit"]
    rows = await pool.fetch(SOME, user_id, done, limit + 1)
    if count:
        response.headers["X-Total-Count"] = str(await pool.fetchval(TOTAL, user_id, done))
    found = [dict(row) for row in rows[:limit]]
    if "include" in wanted:
        users = await pool.fetch(USERS, list({row["ownerId"] for row in found}))
        owners = {user["id"]: dict(user) for user in users}
        found = [{**row, "owner": owners[row["ownerId"]]} for row in found]
    return found


@app.patch("/api/todos/{id}", response_model=Todo)
async def change(id: int, change: Change, user_id: Caller) -> Any:
    """Change the title of a to-do."""
    row = await app.state.pool.fetchrow(RENAME, id, user_id, change.title)
    if row is None:
        raise HTTPException(404)
    return dict(row)


@app.post("/api/todos", response_model=Todo)
async def create(todo: NewTodo, user_id: Caller) -> Any:
    """Create a to-do."""
    created = datetime.now(UTC)
    values = todo.title, todo.desc, todo.isComplete, created, user_id
    return dict(await app.state.pool.fetchrow(CREATE, *values))


if __name__ == "__main__":
    uvicorn.run(
        "benchmarks.fast_api:app",
        port=int(os.environ["PORT"]),
        workers=2,
        access_log=False,
        log_level="warning",
    )
