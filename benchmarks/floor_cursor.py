"""The floor without SQLAlchemy: the driver's cursor on a connection that each thread keeps."""

import os
import threading
from collections.abc import Sequence
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

import psycopg
from flask import Flask, Response, abort, jsonify, request
from sqlalchemy import make_url

from app import config, hash_slots

COLUMNS = 'id, title, "desc", is_complete, created, owner_id'
TOKEN = (
    "SELECT digest, user_id, scope, expires_at, EXISTS (SELECT 1 FROM role_mappings"
    " WHERE role_mappings.user_id = access_tokens.user_id) FROM access_tokens"
    " WHERE digest = %s"
)
ONE = f"SELECT {COLUMNS} FROM todos WHERE id = %s AND owner_id = %s"
CREATE = (
    'INSERT INTO todos (title, "desc", is_complete, created, owner_id)'
    f" VALUES (%s, NULL, false, %s, %s) RETURNING {COLUMNS}"
)

URL = make_url(os.environ["DATABASE_URL"]).set(drivername="postgresql").render_as_string(False)
kept = threading.local()
app = Flask(__name__)
app.json.sort_keys = False
# The project's gunicorn worker reads settings, and starts the outbox, the purges and the queue.
config.configure(app, None)
app.config["OUTBOX_IN_PROCESS"] = False
hash_slots.init_app(app)


@app.get("/api/todos/<int:id>")
def find_by_id(id: int) -> Response:
    """Show a to-do."""
    row = execute(ONE, (id, caller()))
    return jsonify(todo(row)) if row else abort(404)


@app.post("/api/todos")
def create() -> Response:
    """Create a to-do."""
    title = request.get_json()["title"]
    row = execute(CREATE, (title, datetime.now(UTC), caller()))
    return jsonify(todo(row))


def caller() -> int:
    """Return the id of the user whose token came with the request."""
    digest = sha256(request.headers["Authorization"].encode()).hexdigest()
    row = execute(TOKEN, (digest,))
    return row[1] if row else abort(401)


def execute(statement: str, values: Sequence[Any]) -> Any:
    """Run a statement by itself, without BEGIN and COMMIT; return its row, or None."""
    if not hasattr(kept, "cursor"):
        kept.cursor = psycopg.connect(URL, autocommit=True).cursor()
    return kept.cursor.execute(statement, values).fetchone()


def todo(row: Sequence[Any]) -> dict[str, Any]:
    """Return the JSON object of a row."""
    id, title, desc, is_complete, created, owner = row
    return {
        "id": id,
        "title": title,
        "desc": desc,
        "isComplete": is_complete,
        "created": created.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "ownerId": owner,
    }
