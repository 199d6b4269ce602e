"""What tools have beyond their properties: lending, statistics, hooks, the role of a borrower."""

from typing import Any

from sqlalchemy import ColumnElement, func, select
from werkzeug.exceptions import Conflict

from ostiary import fields
from ostiary.columns import now
from ostiary.database import db, transaction
from ostiary.identity import current_identity
from ostiary.resources import Resource, SaveEvent, get_resource
from ostiary.rules import EXECUTE, READ


class DaysSchema(fields.Schema):
    """How long a tool is lent."""

    days = fields.Number(required=True)


class CountSchema(fields.Schema):
    """How many loans have ended."""

    count = fields.Integer()


class StatisticsSchema(fields.Schema):
    """How many tools there are, and how many of them are lent."""

    tools = fields.Integer()
    lent = fields.Integer()


class ToolIsLent(Conflict):
    """409: somebody has the tool."""

    error_code = "TOOL_IS_LENT"
    description = "Somebody has this tool"


def open_loans(tool_id: Any) -> list[ColumnElement[bool]]:
    """Return the conditions of the loans of a tool that have not ended."""
    loan = get_resource("Loans").model
    return [loan.tool_id == tool_id, loan.returned.is_(None)]


def borrower(user_id: Any) -> ColumnElement[bool]:
    """Return the condition that a user has borrowed the tool and not given it back yet."""
    tool, loan = get_resource("Tools").model, get_resource("Loans").model
    is_open = select(loan.id).where(*open_loans(tool.id), loan.member_id == user_id)
    return is_open.correlate(tool).exists()


def extend(tools: Resource) -> None:
    """Add the endpoints, the hook and the role to the model."""
    tools.roles["borrower"] = borrower
    loans = get_resource("Loans")

    @tools.before_save.connect
    def set_changed(resource: Resource, event: SaveEvent) -> None:
        event.values["changed"] = now()

    @tools.endpoint(
        "lend",
        EXECUTE,
        "POST /<id>/lend",
        body=DaysSchema,
        answer=loans.schema,
        errors=[ToolIsLent],
    )
    def lend(tool: Any, body: dict[str, Any]) -> Any:
        """Borrow a tool."""
        with transaction():
            tools.lock(tool.id)
            if db.session.scalar(select(func.count()).where(*open_loans(tool.id))):
                raise ToolIsLent()
            member_id = current_identity().user_id
            values = {"tool_id": tool.id, "member_id": member_id, "lent": now(), **body}
            [loan] = loans.insert([values])
        return loan

    @tools.endpoint("giveBack", EXECUTE, "POST /<id>/giveBack", answer=CountSchema)
    def give_back(tool: Any) -> dict[str, int]:
        """End the loan of a tool."""
        return {"count": len(loans.update(open_loans(tool.id), {"returned": now()}))}

    @tools.endpoint("statistics", READ, "GET /statistics", answer=StatisticsSchema)
    def statistics() -> dict[str, int | None]:
        lent = select(func.count()).where(loans.model.returned.is_(None))
        counted = select(func.count()).select_from(tools.model)
        return {"tools": db.session.scalar(counted), "lent": db.session.scalar(lent)}
