"""The floor: the same answers from bare Flask views, with SQL written by hand."""

import secrets
from collections import defaultdict
from datetime import datetime, timedelta
from hashlib import sha256
from threading import get_ident
from typing import Any

import requests
from argon2 import PasswordHasher
from flask import Flask, Response, abort, jsonify, request
from sqlalchemy import Row, text

from app import config, hash_slots
from app.database import session
from app.database.session import db
from app.times import now

COLUMNS = 'id, title, "desc", is_complete, created, owner_id'
TOKEN = text(
    "SELECT digest, user_id, scope, expires_at, EXISTS (SELECT 1 FROM role_mappings"
    " WHERE role_mappings.user_id = access_tokens.user_id) FROM access_tokens"
    " WHERE digest = :digest"
)
ONE = text(f"SELECT {COLUMNS} FROM todos WHERE id = :id AND owner_id = :owner")
SOME = text(
    f"SELECT {COLUMNS} FROM todos WHERE owner_id = :owner AND is_complete = :done"
    " ORDER BY id LIMIT :limit OFFSET 0"
)
CREATE = text(
    'INSERT INTO todos (title, "desc", is_complete, created, owner_id)'
    f" VALUES (:title, NULL, :done, :created, :owner) RETURNING {COLUMNS}"
)
USER = text("SELECT id, password_hash FROM users WHERE email = :email AND realm = ''")
SAME_HASH = text("SELECT id FROM users WHERE id = :id AND password_hash = :password_hash")
LOGIN = text(
    "INSERT INTO access_tokens (digest, handle, user_id, ttl, created, expires_at)"
    " VALUES (:digest, :handle, :user, :ttl, :created, :expires)"
)
TTL = 1209600

# The tokens of resets, with all that Ostiary does about one but its mail.
RESET = text(
    "INSERT INTO access_tokens (digest, handle, user_id, ttl, scope, email, created, expires_at)"
    " VALUES (:digest, :handle, :user, :ttl, 'reset-password', :email, :created, :expires)"
)
RESET_TTL = 900

hasher = PasswordHasher(time_cost=2, memory_cost=19456, parallelism=1)
app = Flask(__name__)
app.json.sort_keys = False
# The settings that Ostiary has, from the environment: for the database and the worker, which would
# start the outbox, and starts a thread that purges nothing here.
config.configure(app, None)
app.config["OUTBOX_IN_PROCESS"] = False
hash_slots.init_app(app)
session.init_app(app)
sources = app.config["DATA_SOURCES"] or {}
# One for each thread.
sessions: defaultdict[int, requests.Session] = defaultdict(requests.Session)


@app.get("/api/todos/<int:id>")
def find_by_id(id: int) -> Response:
    """Show a to-do."""
    row = db.session.execute(ONE, {"id": id, "owner": caller()}).first()
    return jsonify(todo(row)) if row else abort(404)


@app.get("/api/todos")
def find() -> Response:
    """List to-dos; like Ostiary, read one more, which would tell of a next page."""
    wanted = app.json.loads(request.args["filter"])
    done, limit = wanted["where"]["isComplete"], wanted["limit"]
    rows = db.session.execute(SOME, {"owner": caller(), "done": done, "limit": limit + 1}).all()
    return jsonify([todo(row) for row in rows[:limit]])


@app.post("/api/todos")
def create() -> Response:
    """Create a to-do."""
    title = request.get_json()["title"]
    values = {"title": title, "done": False, "created": stored(now()), "owner": caller()}
    row = db.session.execute(CREATE, values).one()
    db.session.commit()
    return jsonify(todo(row))


@app.post("/api/users/login")
def login() -> Response:
    """Verify a password, with nothing held in the database meanwhile, and issue a token."""
    body = request.get_json()
    user = db.session.execute(USER, {"email": body["email"]}).one()
    db.session.commit()
    hasher.verify(user.password_hash, body["password"])
    value, created = secrets.token_hex(32), now()
    db.session.execute(LOGIN, new_token(value, user.id, TTL, created))
    db.session.execute(SAME_HASH, user._asdict()).one()
    db.session.commit()
    return jsonify(id=value, ttl=TTL, created=shown(created), userId=user.id)


@app.post("/api/users/reset")
def reset() -> Response:
    """Issue a token for a new password; no mail is sent."""
    email = request.get_json()["email"]
    user = db.session.execute(USER, {"email": email}).one()
    token = new_token(secrets.token_hex(32), user.id, RESET_TTL, now())
    db.session.execute(RESET, {**token, "email": email})
    db.session.commit()
    return jsonify({})


@app.get("/api/remote/fast")
def call() -> Response:
    """Call the remote service of the setting DATA_SOURCES."""
    caller()
    session = sessions[get_ident()]
    found = session.get(f"{sources['remote']['baseURL']}/fast", timeout=(5, 30))
    found.raise_for_status()
    return jsonify(found.json())


def caller() -> int:
    """Return the id of the user whose token came with the request."""
    digest = sha256(request.headers["Authorization"].encode()).hexdigest()
    row = db.session.execute(TOKEN, {"digest": digest}).first()
    return row.user_id if row else abort(401)


def new_token(value: str, user_id: int, ttl: int, created: datetime) -> dict[str, Any]:
    """Return the columns of a new token."""
    return {
        "digest": sha256(value.encode()).hexdigest(),
        "handle": secrets.token_hex(8),
        "user": user_id,
        "ttl": ttl,
        "created": stored(created),
        "expires": stored(created + timedelta(seconds=ttl)),
    }


def todo(row: Row[Any]) -> dict[str, Any]:
    """Return the JSON object of a row."""
    return {
        "id": row.id,
        "title": row.title,
        "desc": row.desc,
        "isComplete": bool(row.is_complete),
        "created": shown(row.created),
        "ownerId": row.owner_id,
    }


def stored(time: datetime) -> str:
    """Write a time as both databases read it; PostgreSQL's zone here is UTC."""
    return f"{time:%Y-%m-%d %H:%M:%S.%f}"


def shown(time: datetime | str) -> str:
    """Write a time as clients read it; SQLite keeps it as text."""
    if isinstance(time, str):
        return f"{time[:10]}T{time[11:23]}Z"
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")
