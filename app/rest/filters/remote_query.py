"""Parsed conditions in the form of LoopBack 3, as a remote service is asked for rows."""

from datetime import date, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from app.times import iso_time

from .tree import Comparison, Condition, Group, Near, Pattern, Where


def remote_where(where: Where) -> dict[str, Any]:
    """Return a `where` as JSON."""
    members: dict[str, Any] = {}
    for condition in where:
        name, value = _member(condition)
        members[name] = {**members.get(name, {}), **value} if isinstance(value, dict) else value
    return {name: _shortened(value) for name, value in members.items()}


def _member(condition: Condition) -> tuple[str, Any]:
    match condition:
        case Group(word, wheres):
            return word, [remote_where(where) for where in wheres]
        case Comparison(place, _, _, Near() as near):
            return str(place), dict(near.given)
        case Comparison(place, _, word, Pattern() as pattern):
            # The other operators and `/text/i` say so themselves.
            needs_options = word in ("like", "nlike", "regexp") and not pattern.text.endswith("/i")
            options = {"options": "i"} if pattern.ignores_case and needs_options else {}
            return str(place), {word: pattern.text, **options}
        case Comparison(place, _, word, operand):
            return str(place), {word: _as_json(operand)}


def _shortened(value: Any) -> Any:
    """Return the operand alone, if all that is asked for is that a property equals it."""
    return value["eq"] if isinstance(value, dict) and value.keys() == {"eq"} else value


def _as_json(operand: Any) -> Any:
    if isinstance(operand, tuple):
        return list(map(_as_json, operand))
    if isinstance(operand, datetime):
        return iso_time(operand)
    return str(operand) if isinstance(operand, date | Decimal | UUID) else operand
