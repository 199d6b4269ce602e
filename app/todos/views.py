"""The endpoints of to-dos; every query is scoped to the caller's own."""

from typing import Any

from flask import Blueprint, jsonify
from flask.typing import ResponseReturnValue
from sqlalchemy import ColumnElement, delete, select, update

from app.access.policy import require_token
from app.errors import ModelNotFound
from app.extensions import db
from app.rest.body import read_body
from app.rest.ids import row_id

from .models import Todo
from .schemas import TodoSchema

bp = Blueprint("todos", __name__)


@bp.post("")
def create() -> ResponseReturnValue:
    """Create a to-do of the caller's."""
    token = require_token()
    todo = Todo(owner_id=token.user_id, **TodoSchema().load(read_body()))
    db.session.add(todo)
    db.session.commit()
    return jsonify(TodoSchema().dump(todo))


@bp.get("")
def find() -> ResponseReturnValue:
    """List the caller's to-dos, in the order in which they came."""
    token = require_token()
    todos = db.session.scalars(select(Todo).where(Todo.owner_id == token.user_id).order_by(Todo.id))
    return jsonify(TodoSchema(many=True).dump(todos))


@bp.get("/<todo_id>")
def show(todo_id: str) -> ResponseReturnValue:
    """Show one to-do of the caller's."""
    todo = db.session.scalar(select(Todo).where(*_own(todo_id)))
    return _dump(todo, todo_id)


@bp.patch("/<todo_id>")
def change(todo_id: str) -> ResponseReturnValue:
    """Change some fields of a to-do of the caller's."""
    return _update(todo_id, partial=True)


@bp.put("/<todo_id>")
def replace(todo_id: str) -> ResponseReturnValue:
    """Replace a to-do of the caller's; fields that are not sent go back to their default."""
    return _update(todo_id, partial=False)


@bp.delete("/<todo_id>")
def remove(todo_id: str) -> ResponseReturnValue:
    """Delete a to-do of the caller's."""
    gone = db.session.scalar(delete(Todo).where(*_own(todo_id)).returning(Todo.id))
    db.session.commit()
    if gone is None:
        raise ModelNotFound("todo", todo_id)
    return jsonify({"count": 1})


def _own(todo_id: str) -> tuple[ColumnElement[bool], ...]:
    """Return the conditions of the one row that is meant, if it is the caller's."""
    token = require_token()
    return Todo.owner_id == token.user_id, Todo.id == row_id("todo", todo_id)


def _update(todo_id: str, partial: bool) -> ResponseReturnValue:
    own = _own(todo_id)
    values: dict[str, Any] = TodoSchema().load(read_body(), partial=partial)
    statement = update(Todo).where(*own).values(values or {"id": Todo.id}).returning(Todo)
    todo = db.session.scalar(statement)
    db.session.commit()
    return _dump(todo, todo_id)


def _dump(todo: Todo | None, todo_id: str) -> ResponseReturnValue:
    if todo is None:
        raise ModelNotFound("todo", todo_id)
    return jsonify(TodoSchema().dump(todo))
