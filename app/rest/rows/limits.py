"""Limits: how many rows of a model may belong to one row of another.

Concurrent transactions do not see each other's rows. The rows to which written rows belong are
therefore locked before the count: the second of two transactions waits for the first, and then
counts its rows too.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import floor
from typing import Any, Protocol

from sqlalchemy import BigInteger, Column, and_, case, func, inspect, literal, select, true
from sqlalchemy.sql.visitors import iterate
from werkzeug.exceptions import Conflict

from app.database.columns import AnyColumn
from app.database.dialects import Among
from app.database.ids import app_id_form, key_value
from app.database.metadata import is_stored
from app.database.session import connection
from app.errors import InvalidFilter, TooManyRows
from app.fields.base import Schema
from app.ids import Id
from app.problems import Problems, suggest
from app.rest.filters import sql
from app.rest.filters.columns import kinds_of
from app.rest.filters.kinds import INT64, INTEGER, NUMBER
from app.rest.filters.parser import parse_where
from app.rest.relations import BELONGS_TO, Relation

from .repository import Repository
from .scopes import MAX_CHECKED
from .values import IDS, Condition, Conditions, Element, Statement, Values

# The code of limits that declare none.
LIMIT_REACHED = "LIMIT_REACHED"
NO_MAXIMUM = "must be a whole number, or a property of the other model"
# Where a word ends within a name.
BETWEEN_WORDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|_+")
# The rows that counted rows belong to: for each row its parent's id for each limit, or None.
Parents = Mapping[Id, Sequence[Id | None]]


@dataclass(frozen=True)
class Limit:
    """The maximum number of rows that belong to one row of another model.

    Adding a row beyond it is 409 with the code. If the maximum is lowered below the number of rows,
    these remain.

    Example::

        active = {"cancelled": {"neq": True}}
        Limit(per="shift", at_most="capacity", where=active, code="SHIFT_IS_FULL")
    """

    # The belongsTo relation to the other model.
    per: str
    # The maximum, or the property of the other row with the maximum: null for no limit.
    at_most: int | str
    # The rows that count: the `where` of a filter, which may also use hidden properties.
    where: Mapping[str, object] = field(default_factory=dict)
    # The code of the error.
    code: str = LIMIT_REACHED
    # Where it is declared, for messages, if not in Python.
    place: str = ""


class LimitReached(Conflict):
    """A limit of the model is reached: the row that others belong to has its maximum of them.

    `details` has the relation and, if the caller may read that row, its id and the maximum.
    """

    error_code = LIMIT_REACHED

    def __init__(self, code: str, message: str, details: Mapping[str, object]) -> None:
        super().__init__(message)
        self.error_code, self.details = code, details


class LimitError(ValueError):
    """A limit cannot be used; `key` is the invalid part of it."""

    def __init__(self, key: str, message: str) -> None:
        super().__init__(message)
        self.key = key


class Model(Protocol):
    """The collection of a model."""

    name: str
    singular: str
    model: type[Any]
    rows: Repository
    schema: Schema
    properties: dict[str, AnyColumn]
    relations: Mapping[str, Relation]

    @property
    def create_schema(self) -> Schema:
        """The schema of bodies that create a row."""

    @property
    def filterable(self) -> Mapping[str, object]:
        """The visible properties."""

    @property
    def readable(self) -> Conditions:
        """The conditions for the rows that the caller may read."""


FindModel = Callable[[str], Model]


def is_maximum(value: object) -> bool:
    """Return True for a whole number that databases hold, and for the name of a property."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value >= 0 and value in INT64
    return isinstance(value, str)


class Limits:
    """The limits of a model, checked in the transaction that writes its rows."""

    def __init__(self, name: str, declared: Sequence[Limit], find: FindModel) -> None:
        """Check the limits of the model `name`; `find` returns a model of the current app."""
        self._name, self._declared, self._find = name, declared, find

    def report(self, problems: Problems) -> None:
        """Report the limits that cannot be used; all models must be registered."""
        for number, limit in enumerate(self._declared):
            try:
                BoundLimit(limit, self._model, self._find)
            except LimitError as error:
                place = limit.place or f"{self._name}.limits[{number}]"
                problems.add(f"{place}.{error.key}", str(error))

    def examples(self) -> Iterator[LimitReached]:
        """Yield the error of each limit, for the document."""
        return (limit.error() for limit in self._bound)

    def concern(self, values: Values) -> bool:
        """Return True if a change to these values may add rows to a parent."""
        return self._depends_on_all or not self._attributes.isdisjoint(values)

    def parents(self, chosen: Conditions) -> Parents:
        """Return to which rows those that are to be changed belong; lock the latter.

        Raises TooManyRows.
        """
        statement = self._selected.where(*chosen).order_by(self._key).limit(MAX_CHECKED + 1)
        found = _parents(statement.with_for_update(key_share=True), {})
        if len(found) > MAX_CHECKED:
            raise TooManyRows(MAX_CHECKED)
        return found

    def locked(self, found: Parents) -> Condition:
        """Return the condition for the rows that `parents` has locked.

        A change of others, which meet the conditions since then, would wait for transactions that
        wait for this one.
        """
        condition: Condition = Among(self._key, IDS).params({IDS: [*found]})
        return condition

    def check(self, row_ids: Sequence[Id], before: Parents | None = None) -> None:
        """Raise LimitReached if written rows were added to a parent with too many rows now.

        `before` has the rows that these belonged to before they were changed.
        """
        after = _parents(self._selected.where(Among(self._key, IDS)), {IDS: [*row_ids]})
        added = [_added(place, after, before or {}) for place in range(len(self._bound))]
        to_lock = defaultdict[str, set[Id]](set)
        for limit, parent_ids in zip(self._bound, added, strict=True):
            to_lock[limit.parent.name] |= parent_ids
        # In one order, so that transactions do not wait for each other.
        for name in sorted(to_lock):
            _lock(self._find(name).rows, to_lock[name])
        for limit, parent_ids in zip(self._bound, added, strict=True):
            limit.check(parent_ids)

    @property
    def _model(self) -> Model:
        return self._find(self._name)

    @cached_property
    def _bound(self) -> list["BoundLimit"]:
        return [BoundLimit(limit, self._model, self._find) for limit in self._declared]

    @property
    def _key(self) -> AnyColumn:
        key: AnyColumn = self._model.rows.key
        return key

    @cached_property
    def _selected(self) -> Statement:
        """The statement for the ids of rows and, for each limit, the rows that they belong to."""
        parents = [limit.parent_id.label(f"parent_{n}") for n, limit in enumerate(self._bound)]
        return select(self._key, *parents).where(*self._model.rows.restriction)

    @cached_property
    def _attributes(self) -> set[str]:
        """The attributes on which it depends to which rows a row belongs, and whether it counts."""
        parts = [part for limit in self._bound for part in iterate(limit.parent_id)]
        return {
            name
            for name, column in inspect(self._model.model).columns.items()
            if any(part is column for part in parts)
        }

    @cached_property
    def _depends_on_all(self) -> bool:
        """Whether a change may also set other attributes than the given ones."""
        rows = self._model.rows
        columns = map(rows.column, self._attributes)
        return type(rows).update is not Repository.update or any(
            column.onupdate is not None for column in columns
        )


class BoundLimit:
    """A limit with the columns that it compares."""

    def __init__(self, limit: Limit, counted: Model, find: FindModel) -> None:
        """Find the columns of a limit on the rows of a model; raise LimitError."""
        self._limit, self._counted = limit, counted
        if not is_maximum(limit.at_most):
            raise LimitError("atMost", NO_MAXIMUM)
        relation = _relation(limit, counted)
        self.parent = find(relation.target)
        key = self.parent.rows.key
        if not is_stored(key.table) or not is_stored(counted.rows.key.table):
            raise LimitError("per", "only counts rows in the database, for other rows in it")
        columns = _columns(counted)
        self._foreign_key = counted.rows.column(relation.foreign_key)
        self._counts = and_(true(), *_conditions(limit, columns), *counted.rows.restriction)
        # The id of the row that a row belongs to; null if the row does not count.
        self.parent_id: Element = case((self._counts, self._foreign_key))
        # An alias, as the other rows may be of the same model.
        self._parents = key.table.alias()
        self._maximum: Element = literal(limit.at_most, BigInteger())
        self._is_shown = True
        if isinstance(limit.at_most, str):
            column = _maximum_column(limit.at_most, self.parent)
            self._maximum = func.max(self._parents.c[column.key])
            shown = self.parent.properties
            self._is_shown = any(shown.get(name) is column for name in self.parent.filterable)

    def check(self, parent_ids: Iterable[Id]) -> None:
        """Raise LimitReached if too many rows belong to one of these, which are locked."""
        key, ids = self._parents.c.id, _parameters(self._foreign_key, parent_ids)
        if not ids[IDS]:
            return
        counts = (
            select(key, self._maximum, func.count())
            .join_from(self._parents, self._foreign_key.table, key == self._foreign_key)
            .where(Among(self._foreign_key, IDS), self._counts)
            .group_by(key)
            .order_by(key)
        )
        with connection() as database:
            for parent_id, maximum, number in database.execute(counts, ids).all():
                if maximum is not None and number > maximum:
                    raise self.error(parent_id, maximum)

    def error(self, parent_id: Id | None = None, maximum: float | None = None) -> LimitReached:
        """Return the error; it tells the id and maximum of a row that the caller may read."""
        limit, parent = self._limit, self.parent
        details: dict[str, object] = {"per": limit.per}
        most = limit.at_most if isinstance(limit.at_most, int) else None
        if parent_id is not None and parent.rows.existing([parent_id], parent.readable):
            details["id"] = parent_id
            most = max(0, floor(maximum or 0)) if self._is_shown else None
        if most is not None:
            details["atMost"] = most
        counted = self._counted.singular if most == 1 else self._counted.name
        number = "No more" if most is None else f"At most {most}"
        message = f"{number} {_words(counted)} for this {_words(limit.per)}."
        return LimitReached(limit.code, message, details)


def _relation(limit: Limit, counted: Model) -> Relation:
    """Return the relation to the rows that have a maximum; raise LimitError."""
    relation = counted.relations.get(limit.per)
    if relation is None:
        meant = suggest(limit.per, counted.relations)
        raise LimitError("per", f"there is no relation {limit.per!r}{meant}")
    if relation.kind != BELONGS_TO or relation.has_types:
        raise LimitError("per", f"{limit.per} must be a belongsTo relation to one model")
    return relation


def _conditions(limit: Limit, columns: Mapping[str, AnyColumn]) -> list[Condition]:
    """Return the conditions for the rows that count; raise LimitError."""
    try:
        where = parse_where({**limit.where}, kinds_of(columns, app_id_form()))
    except InvalidFilter as error:
        raise LimitError("where", str(error.description)) from None
    return sql.conditions(where, columns)


def _maximum_column(name: str, parent: Model) -> AnyColumn:
    """Return the column of a property with a maximum; raise LimitError."""
    columns = _columns(parent)
    if name not in columns:
        meant = suggest(name, columns)
        raise LimitError("atMost", f"{parent.singular} has no property {name!r}{meant}")
    if kinds_of(columns, app_id_form())[name] not in (INTEGER, NUMBER):
        raise LimitError("atMost", f"the property {name} of {parent.singular} is not a number")
    return columns[name]


def _columns(model: Model) -> dict[str, AnyColumn]:
    """Return the columns of all properties of a model; of those that have none, by attribute."""
    columns: Mapping[str, AnyColumn] = inspect(model.model).columns
    fields = {**model.create_schema.fields, **model.schema.fields}
    names = {field.attribute or name: field.data_key or name for name, field in fields.items()}
    return {names.get(attribute, attribute): column for attribute, column in columns.items()}


def _parents(statement: Statement, parameters: Mapping[str, object]) -> Parents:
    with connection() as database:
        return {row[0]: row[1:] for row in database.execute(statement, parameters)}


def _added(place: int, after: Parents, before: Parents) -> set[Id]:
    """Return the parents of the limit at a place to which rows were added."""
    return {
        parent_id
        for row_id, parents in after.items()
        if (parent_id := parents[place]) is not None
        and (row_id not in before or before[row_id][place] != parent_id)
    }


def _lock(rows: Repository, row_ids: Iterable[Id]) -> None:
    """Lock rows as `Repository.lock` does, in the order of their ids."""
    statement = select(rows.key).where(Among(rows.key, IDS)).order_by(rows.key)
    with connection() as database:
        database.execute(statement.with_for_update(key_share=True), {IDS: [*row_ids]}).all()


def _parameters(column: Column[Any], row_ids: Iterable[Id]) -> dict[str, list[Id]]:
    return {IDS: [key_value(column, row_id) for row_id in row_ids]}


def _words(name: str) -> str:
    """Return the words of a name such as `signUps`."""
    return BETWEEN_WORDS.sub(" ", name).lower()
