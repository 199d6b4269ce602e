"""Parsed filters in LoopBack 3's form, for requests to a remote service."""

from collections.abc import Iterable, Mapping
from datetime import date, datetime
from decimal import Decimal
from uuid import UUID

from app.times import iso_time

from .operators import IGNORING_CASE
from .patterns import DELIMITED, REGEXP
from .tree import Comparison, Group, Near, Order, Pattern, Related, Where

# Operators whose names do not say that they ignore the case, unlike `ilike`.
WITH_OPTIONS = {word for word, meant in IGNORING_CASE.items() if word != meant}


def remote_where(where: Where) -> dict[str, object]:
    """Return a `where` as JSON."""
    asked: dict[str, object] = {}
    operands: dict[str, dict[str, object]] = {}
    for condition in where:
        if isinstance(condition, Group):
            asked[condition.operator] = [remote_where(inner) for inner in condition.wheres]
        elif isinstance(condition, Related):
            raise TypeError(f"{condition.path}: rows of a data source have no relations")
        else:
            operands.setdefault(str(condition.place), {}).update(_operands(condition))
    for name, words in operands.items():
        # A condition that is only an equality is written as the operand alone.
        asked[name] = words["eq"] if words.keys() == {"eq"} else words
    return asked


def remote_order(order: Iterable[Order]) -> str | list[str]:
    """Return the order; a text if there is only one term.

    Excludes the distance from a position, which is in `where`.
    """
    terms = [f"{term.place}{' DESC' * term.descending}" for term in order if not term.near]
    return terms[0] if len(terms) == 1 else terms


def _operands(comparison: Comparison) -> Mapping[str, object]:
    """Return the operands of a comparison by their keys."""
    word, operand = comparison.operator, comparison.operand
    if isinstance(operand, Near):
        return operand.given
    if not isinstance(operand, Pattern):
        return {word: _as_json(operand)}
    needs_options = word in WITH_OPTIONS and not _says_itself(word, operand.text)
    options = {"options": "i"} if operand.ignores_case and needs_options else {}
    return {word: operand.text, **options}


def _says_itself(word: str, text: str) -> bool:
    """Return True if a pattern is `/.../i`, a regular expression that ignores the case."""
    delimited = DELIMITED.fullmatch(text) if word in REGEXP else None
    return delimited is not None and delimited[2] == "i"


def _as_json(operand: object) -> object:
    if isinstance(operand, tuple):
        return [_as_json(value) for value in operand]
    if isinstance(operand, datetime):
        return iso_time(operand)
    return str(operand) if isinstance(operand, date | Decimal | UUID) else operand
