"""The repository of a model whose rows are at a data source.

The remote service selects the rows. Their owner is checked here as well, because the service might
ignore a condition.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from itertools import islice
from typing import Any, TypeVar

import marshmallow
from sqlalchemy import ColumnElement

from app.access.policy import Grant
from app.connector import BoundModel, NotFoundError
from app.connector import Record as RemoteRecord
from app.connector.types import JsonObject
from app.errors import InvalidFilter, RemoteError
from app.fields.base import Schema
from app.ids import Id
from app.rest.filters.remote_query import remote_order, remote_where
from app.rest.filters.tree import Filter
from app.rest.rows.json_values import OpenSchema, flatten
from app.rest.rows.pages import Page
from app.rest.rows.repository import Repository
from app.rest.rows.values import Conditions, Row, Values
from app.rest.serializer import Serializer

from .sources import call_remote

Result = TypeVar("Result")

# Relations and conditions of dynamic roles require rows in the database.
NO_INCLUDES = "include: the rows are at another service, and have no relations here."
NO_CURSORS = "after: the rows are at another service, and their lists have no cursors; use skip."


class RemoteRow:
    """A row as the service returned it, with the model's attributes and no conversion."""

    def __init__(self, values: JsonObject, names: Mapping[str, str]) -> None:
        """Return a row with these values by JSON name; `names` maps attributes to JSON names."""
        self.values = values
        self._names = names

    def __getattr__(self, attribute: str) -> object:
        if attribute not in self._names:
            raise AttributeError(attribute)
        return self.values.get(self._names[attribute])


class WithId(ColumnElement[bool]):
    """The condition that a row has this id; it has no SQL."""

    def __init__(self, row_id: Id) -> None:
        self.row_id = row_id


class Permitted(ColumnElement[bool]):
    """The condition on the owner of a row: the caller, others, or nobody; it has no SQL."""

    def __init__(self, owner: str, user_id: Id | None, own: bool, others: bool) -> None:
        """Compare the property `owner` with the caller's id."""
        self.owner, self.user_id = owner, user_id
        self.own, self.others = own, others

    def covers(self, row: RemoteRow) -> bool:
        """Return True if a row is permitted."""
        is_own = str(row.values.get(self.owner)) == str(self.user_id)
        return self.own if is_own else self.others

    @property
    def where(self) -> JsonObject:
        """The condition to send to the service."""
        return {self.owner: self.user_id if self.own else {"neq": self.user_id}}


class RemoteRows(Repository):
    """Reads and writes rows by calls of the service; conditions are WithId and Permitted."""

    nothing = Permitted("", None, own=False, others=False)
    in_database = False

    def __init__(
        self,
        *declared: Any,
        schema: type[Schema],
        source: str,
        remote: BoundModel,
    ) -> None:
        """Return the rows of a resource of the data source; takes `declared` as Repository does."""
        super().__init__(*declared)
        self._source = source
        self._remote = remote
        self._fields = {field.attribute or name: field for name, field in schema().fields.items()}
        self._names = {
            attribute: field.data_key or str(field.name)
            for attribute, field in self._fields.items()
        }

    def scope(self, grant: Grant) -> Conditions:
        """Return the conditions that select the rows that a grant covers."""
        decision = grant.decision
        if decision.own == decision.others:
            return []
        if self.owner is None:
            return [] if decision.others else [self.nothing]
        owner = self._names[self.owner.key]
        return [Permitted(owner, grant.user_id, decision.own, decision.others)]

    def owned_by(self, user_id: Id | None) -> Permitted:
        """Return the condition that a row belongs to a user."""
        if self.owner is None:
            return self.nothing
        return Permitted(self._names[self.owner.key], user_id, own=True, others=False)

    def by_id(self, row_id: Id) -> WithId:
        """Return the condition that a row has an id."""
        return WithId(row_id)

    def transaction(self) -> AbstractContextManager[None]:
        """Return an empty context: the service has no transactions."""
        return nullcontext()

    def find(self, conditions: Conditions, filter_: Filter) -> Page:
        """Return the rows within these conditions that a filter selects; raise InvalidFilter."""
        if filter_.include:
            raise InvalidFilter(NO_INCLUDES)
        if filter_.after:
            raise InvalidFilter(NO_CURSORS)
        scopes = _permissions(conditions)
        where = remote_where(filter_.where)
        query = {
            "where": {"and": [where, *(scope.where for scope in scopes)]} if scopes else where,
            "order": remote_order(filter_.order),
            "limit": filter_.limit,
            "skip": filter_.skip,
        }
        given = {name: value for name, value in query.items() if value}
        found = self._call("find", self._remote.find, given) or []
        # The service may return more rows than requested.
        rows = (row for row in map(self._read, found) if _covers(scopes, row))
        return Page(list(islice(rows, filter_.limit)), more=False)

    def read(self, row_id: Id, grant: Grant) -> RemoteRow | None:
        """Return one row that a grant covers, or None."""
        return self.get(row_id, self.scope(grant))

    def get(self, row_id: Id, conditions: Conditions) -> RemoteRow | None:
        """Return one row within these conditions, or None."""
        found = self._call("findById", self._remote.find_by_id, row_id)
        row = None if found is None else self._read(found)
        return row if row is not None and _covers(_permissions(conditions), row) else None

    def existing(self, row_ids: Iterable[Id | None], conditions: Conditions) -> set[Id]:
        """Return those of the ids that belong to rows within the conditions."""
        known = (row_id for row_id in row_ids if row_id is not None)
        return {row_id for row_id in known if self.get(row_id, conditions) is not None}

    def lock(self, row_id: Id) -> None:
        """Do nothing: the service has no locks."""

    def lock_all(self, conditions: Conditions, most: int) -> Sequence[RemoteRow]:
        """Return the row that the conditions select, if it exists; without a lock."""
        row_id, scopes = _split(conditions)
        row = self.get(row_id, scopes)
        if row is None:
            return []
        # The changed row is the requested one, whatever id the service returns.
        if str(row.values.get(self._names["id"])) == str(row_id):
            return [row]
        return [RemoteRow({**row.values, self._names["id"]: row_id}, self._names)]

    def count(self, conditions: Conditions, filter_: Filter | None = None) -> int:
        """Return the number of rows within the conditions; at most 1000 unless all are allowed."""
        scopes, filter_ = list(conditions), filter_ or Filter()
        if scopes:
            return len(self.find(scopes, filter_).rows)
        return self._call_collection("count", self._remote.count, remote_where(filter_.where))

    def insert(self, items: Sequence[Values]) -> Sequence[RemoteRow]:
        """Store new rows one by one."""
        create = partial(self._call_collection, "create", self._remote.create)
        return [self._read(create(self._json(item))) for item in items]

    def update(self, conditions: Conditions, values: Values) -> Sequence[RemoteRow]:
        """Change the row that the conditions select, and return it."""
        return self._save("patch", self._remote.patch, conditions, self._json(values))

    def replace(self, conditions: Conditions, values: Values) -> Sequence[RemoteRow]:
        """Replace the row that the conditions select, but not its owner, and return it."""
        given = self._json(values)
        if self.owner is not None and values.get(self.owner.key) is None:
            row_id, scopes = _split(conditions)
            if (row := self.get(row_id, scopes)) is None:
                return []
            owner = self._names[self.owner.key]
            conditions, given = [WithId(row_id)], {**given, owner: row.values.get(owner)}
        return self._save("update_attributes", self._remote.update_attributes, conditions, given)

    def delete(self, conditions: Conditions) -> int:
        """Delete the row that the conditions select; return 0 if it does not exist."""
        row_id, scopes = _split(conditions)
        if scopes and self.get(row_id, scopes) is None:
            return 0
        # The service may answer a deletion with an empty body.
        deleted = self._call("delete", lambda: (self._remote.delete(row_id),))
        return 0 if deleted is None else 1

    def value(self, row: Row, name: str) -> object:
        """Return a row's value of an attribute, as a body would contain it."""
        value = getattr(row, name)
        try:
            return self._fields[name].deserialize(value)
        except marshmallow.ValidationError:
            return value

    def _save(
        self,
        method: str,
        send: Callable[[Id, JsonObject], RemoteRecord],
        conditions: Conditions,
        values: JsonObject,
    ) -> Sequence[RemoteRow]:
        row_id, scopes = _split(conditions)
        if scopes and self.get(row_id, scopes) is None:
            return []
        saved = self._call(method, send, row_id, values)
        return [] if saved is None else [self._read(saved)]

    def _call(self, method: str, send: Callable[..., Result], *arguments: object) -> Result | None:
        """Call the service; return None if it has no such row."""

        def found() -> Result | None:
            try:
                return send(*arguments)
            except NotFoundError:
                return None

        return self._call_collection(method, found)

    def _call_collection(
        self, method: str, send: Callable[..., Result], *arguments: object
    ) -> Result:
        """Call the service; raise RemoteError if it does not have the row."""
        name = f"{self.model.__name__}.{method}"
        return call_remote(self._source, name, partial(send, *arguments))

    def _read(self, record: Any) -> RemoteRow:
        """Return a row of the service; raise RemoteError for values that cannot be returned."""
        values = record.to_dict()
        try:
            json.dumps(values, allow_nan=False)
        except (RecursionError, TypeError, ValueError):
            raise RemoteError() from None
        return RemoteRow(values, self._names)

    def _json(self, loaded: Values) -> JsonObject:
        """Return values that a schema has loaded as JSON, by their JSON names."""
        return flatten(
            {
                self._names[attribute]: self._fields[attribute]._serialize(value, attribute, loaded)
                for attribute, value in loaded.items()
            }
        )


class RemoteSerializer(Serializer):
    """Serializes rows that are JSON already: selects the visible properties."""

    def __init__(self, resource: object, schema: Schema, *options: Any) -> None:
        super().__init__(resource, schema, *options)
        fields = {field.data_key or name: field for name, field in schema.fields.items()}
        self._shown = {name: not field.load_only for name, field in fields.items()}
        self._shows_others = isinstance(schema, OpenSchema)

    def dump(self, row: Row) -> Values:
        """Return the JSON object of a row: declared properties that are not hidden."""
        shown = {
            name: value
            for name, value in row.values.items()
            if self._shown.get(name, self._shows_others)
        }
        return self.emit_loaded(row, shown)


def _covers(scopes: Iterable[Permitted], row: RemoteRow) -> bool:
    return all(scope.covers(row) for scope in scopes)


def _permissions(conditions: Conditions) -> list[Permitted]:
    """Return the conditions; raise TypeError for one that cannot be checked here."""
    permissions = []
    for condition in conditions:
        if not isinstance(condition, Permitted):
            raise TypeError(f"{condition!r} is no condition on rows of a data source")
        permissions.append(condition)
    return permissions


def _split(conditions: Conditions) -> tuple[Id, list[Permitted]]:
    """Return the id from the conditions, and the others; raise TypeError as `_permissions`."""
    chosen = list(conditions)
    [selected] = [condition for condition in chosen if isinstance(condition, WithId)]
    return selected.row_id, _permissions(
        condition for condition in chosen if condition is not selected
    )
