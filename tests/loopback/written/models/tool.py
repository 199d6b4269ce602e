"""What the JavaScript of Tool does."""

from typing import Any

from flask import has_request_context
from sqlalchemy import ColumnElement, func, select
from werkzeug.exceptions import Conflict

from ostiary import fields
from ostiary.columns import Id, now
from ostiary.database import db, transaction
from ostiary.errors import AuthorizationRequired
from ostiary.identity import current_identity
from ostiary.resources import Resource, SaveEvent, get_resource
from ostiary.rules import EXECUTE, READ


def before_save(resource: Resource, event: SaveEvent) -> None:
    """Set `changed` whenever a row is saved."""
    event.values["changed"] = now()


def before_remote_create(resource: Resource, event: SaveEvent) -> None:
    """Set `ownerId` of a row that a request creates."""
    if not event.is_new or not has_request_context():
        return
    if event.caller.user_id is None:
        raise AuthorizationRequired()
    event.values["owner_id"] = event.caller.user_id


class LendBody(fields.Schema):
    """The body of lend."""

    days = fields.Number(required=True)


class ToolIsLent(Conflict):
    """409: somebody has the tool."""

    error_code = "TOOL_IS_LENT"
    description = "Somebody has this tool"


def is_open(tool_id: Any) -> list[ColumnElement[bool]]:
    """Return the conditions of the loans of a tool that have not ended."""
    loan = get_resource("Loans").model
    return [loan.tool_id == tool_id, loan.returned.is_(None)]


def lend(tool: Any, body: dict[str, Any]) -> Any:
    """Borrow a tool."""
    tools, loans = get_resource("Tools"), get_resource("Loans")
    with transaction():
        tools.lock(tool.id)
        if db.session.scalar(select(func.count()).where(*is_open(tool.id))):
            raise ToolIsLent()
        member_id = current_identity().user_id
        values = {"tool_id": tool.id, "member_id": member_id, "lent": now(), **body}
        [loan] = loans.insert([values])
    return loan


def give_back(tool: Any) -> dict[str, int]:
    """End the loan of a tool."""
    return {"count": len(get_resource("Loans").update(is_open(tool.id), {"returned": now()}))}


def statistics() -> dict[str, int | None]:
    """Count the tools, and those that are lent."""
    tool, loan = get_resource("Tools").model, get_resource("Loans").model
    lent = select(func.count()).select_from(loan).where(loan.returned.is_(None))
    tools = select(func.count()).select_from(tool)
    return {"tools": db.session.scalar(tools), "lent": db.session.scalar(lent)}


def borrower(user_id: Id) -> ColumnElement[bool]:
    """Return the condition that a user has borrowed the tool and not given it back yet."""
    tool, loan = get_resource("Tools").model, get_resource("Loans").model
    loans = select(loan.id).where(*is_open(tool.id), loan.member_id == user_id)
    return loans.correlate(tool).exists()


def extend(resource: Resource) -> None:
    """Add what the JavaScript of Tool does."""
    resource.roles["borrower"] = borrower
    resource.before_save.connect(before_save)
    resource.before_save.connect(before_remote_create)
    resource.endpoint(
        "lend",
        EXECUTE,
        "POST /<id>/lend",
        body=LendBody,
        answer=get_resource("Loans").schema,
        errors=[ToolIsLent()],
    )(lend)
    resource.endpoint(
        "giveBack",
        EXECUTE,
        "POST /<id>/giveBack",
        answer={"type": "object", "properties": {"count": {"type": "number"}}},
    )(give_back)
    resource.endpoint(
        "statistics",
        READ,
        "GET /statistics",
        answer={
            "type": "object",
            "properties": {"tools": {"type": "number"}, "lent": {"type": "number"}},
        },
    )(statistics)
