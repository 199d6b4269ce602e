"""The events that a caller sees of changes: what `find` would show now, and what it shows no more.

Of the changes of a row that are read together there is one event. A row that the caller can find is
sent as it is now, which may be by a change that is read later. Another one is therefore a `remove`
if the caller could see it as it was before any of the changes: by the values that the log keeps,
which replace the row's columns in the conditions of the rules.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, TextClause, and_, cast, select, type_coerce
from sqlalchemy.sql.visitors import iterate

from app.database.columns import AnyColumn
from app.database.dialects import JsonValue
from app.database.session import connection, engines
from app.ids import Id
from app.rest.filters.tree import Filter
from app.rest.rows.scopes import OwnTableCondition
from app.rest.rows.values import Conditions
from app.rest.views.serialization import serialize

from .log import LOG
from .models import CREATE, REMOVE, UPDATE
from .requests import METHODS
from .watched import Watched, watched_models


class Event(NamedTuple):
    """A change of a row as clients get it; `type` None: they must read the model's rows anew."""

    model: str
    type: str | None
    target: Id | None = None
    data: Mapping[str, Any] | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the object that is sent."""
        name = watched_models.current[self.model].collection.id_name or "id"
        data = {} if self.data is None else {"data": self.data}
        where = {name: self.target}
        sent = {"target": self.target, "where": where, **data, "type": self.type}
        return {"model": self.model, **sent}


class UndecidableError(Exception):
    """A condition depends on values that the log does not keep."""


def events_of(filters: Mapping[str, Filter], changes: Sequence[Any]) -> list[Event]:
    """Return the events of changes for the current caller, in order; raise the access error."""
    # Also for models without changes, so that what ends a permission ends the stream.
    scopes = {
        name: [
            condition
            for method in METHODS
            for condition in watched_models.current[name].collection.scope(method)
        ]
        for name in filters
    }
    return _in_order(filters, changes, scopes)


def events_of_all_rows(filters: Mapping[str, Filter], changes: Sequence[Any]) -> list[Event]:
    """Return the events of changes for a reader of all rows, in order."""
    return _in_order(filters, changes, dict.fromkeys(filters, ()))


def _in_order(
    filters: Mapping[str, Filter], changes: Sequence[Any], scopes: Mapping[str, Conditions]
) -> list[Event]:
    found: list[tuple[int, Event]] = []
    for name, filter_ in filters.items():
        if own := [change for change in changes if change.model == name]:
            found += _events(watched_models.current[name], filter_, own, scopes[name])
    return [event for _, event in sorted(found, key=lambda pair: pair[0])]


def _events(
    watched: Watched, filter_: Filter, changes: Sequence[Any], scope: Conditions
) -> Iterator[tuple[int, Event]]:
    """Yield the events of a model, each with its place in the order."""
    collection = watched.collection
    last = {change.row_id: change.seq for change in changes}
    created = {change.row_id for change in changes if change.kind == CREATE}
    ids = {text: collection.id_form.parse(text) for text in last}
    rows = _visible(watched, filter_, [each for each in ids.values() if each is not None], scope)
    shown = dict(zip((row.id for row in rows), serialize(collection, rows, filter_), strict=True))
    for text, row_id in ids.items():
        if row_id in shown:
            type_ = CREATE if text in created else UPDATE
            yield last[text], Event(collection.name, type_, row_id, shown[row_id])
    gone = {
        change.seq: change.row_id
        for change in changes
        if ids[change.row_id] not in shown and change.before is not None
    }
    try:
        seen = _seen_before(watched, filter_, list(gone), scope)
    except UndecidableError:
        yield changes[-1].seq, Event(collection.name, None)
        return
    for text in {gone[seq] for seq in seen}:
        yield last[text], Event(collection.name, REMOVE, ids[text])


def _visible(
    watched: Watched, filter_: Filter, ids: Sequence[Id], scope: Conditions
) -> Sequence[Any]:
    """Return those of the rows that the caller may read and the filter selects, as they are now."""
    rows = watched.collection.rows
    chosen = rows.all_rows().where(rows.key.in_(ids), *scope, *rows.conditions(filter_))
    # Not a standby, which may not have the change yet.
    with connection() as database:
        return database.execute(chosen).all()


def _seen_before(
    watched: Watched, filter_: Filter, numbers: Sequence[int], scope: Conditions
) -> set[int]:
    """Return those changes before which the caller could see the row; raise UndecidableError.

    Conditions of the filter count only if the log keeps the values that they read.
    """
    rows = watched.collection.rows
    if not numbers:
        return set()
    before = [_before(watched, condition) for condition in (*scope, *rows.restriction)]
    for condition in rows.conditions(filter_):
        with suppress(UndecidableError):
            before.append(_before(watched, condition))
    if not before:
        return set(numbers)
    with connection() as database:
        return set(database.scalars(select(LOG.seq).where(LOG.seq.in_(numbers), and_(*before))))


def _before(watched: Watched, condition: ColumnElement[bool]) -> ColumnElement[bool]:
    """Return a condition on the values before a change; raise UndecidableError."""
    if any(isinstance(part, TextClause) for part in iterate(condition)):
        # It may name any column.
        raise UndecidableError
    known = OwnTableCondition(condition, watched.table)
    kept = {column.name: column for column in watched.kept}
    if known.reads_others or not known.columns <= kept.keys():
        raise UndecidableError
    return known.with_values({name: _value(kept[name]) for name in known.columns})


def _value(column: AnyColumn) -> ColumnElement[Any]:
    """Return the value of a column before a change, with the column's type."""
    value = JsonValue(LOG.before, [column.name])
    if engines.current.dialect.name == "sqlite":
        return type_coerce(value, column.type)
    return cast(value, column.type)
