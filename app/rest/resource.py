"""A model with its schema and rules: what the endpoints of a collection are made of."""

from collections import namedtuple
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from flask import current_app
from sqlalchemy import (
    ColumnElement,
    Select,
    bindparam,
    delete,
    func,
    insert,
    inspect,
    null,
    select,
    update,
)
from sqlalchemy.orm import InstrumentedAttribute

from app.access.policy import Grant, authorize, refusal
from app.access.rules import Rule
from app.errors import MalformedBody, ModelNotFound
from app.extensions import db

from .fields import AS_STORED, Field, Schema
from .filters import Filter
from .ids import row_id
from .pages import Page, read_page
from .where import Column

Conditions = Iterable[ColumnElement[bool]]
Values = dict[str, Any]


@dataclass(frozen=True)
class Relation:
    """Rows of another resource that belong to a row here, or the one row that this belongs to."""

    # The name of the other resource.
    target: str
    # The attribute that joins the two: of the target for many, of this model for one.
    foreign_key: str
    many: bool = True


@dataclass(frozen=True, eq=False)
class Resource:
    """What the service needs to know of a collection to serve it."""

    name: str
    singular: str
    model: type[Any]
    schema: type[Schema]
    # Who may call which method; a function of the settings.
    rules: Callable[[Mapping[str, Any]], Sequence[Rule]]
    # The column that says whose a row is, for rules that speak of $owner.
    owner: InstrumentedAttribute[Any] | None = None
    relations: Mapping[str, Relation] = field(default_factory=dict)
    # What creating takes, where that is more than the schema says.
    create_schema: type[Schema] | None = None
    # How rows are created and changed, where that is more than storing values.
    insert_with: Callable[[Sequence[Values]], Sequence[Any]] | None = None
    update_with: Callable[[Conditions, Values], Sequence[Any]] | None = None
    # Rows that one request may create.
    largest_create: int = 1000
    # Methods beyond those that every model has, with their access types.
    methods: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def all_columns(self) -> Mapping[str, Column]:
        """The table's columns by attribute; selecting these costs half of what entities' do."""
        columns: Mapping[str, Column] = inspect(self.model).columns
        return columns

    @cached_property
    def key(self) -> Column:
        """The column that identifies a row."""
        return self.all_columns["id"]

    @cached_property
    def owner_column(self) -> Column | None:
        """The column that says whose a row is."""
        return None if self.owner is None else self.all_columns[self.owner.key]

    @property
    def owns_itself(self) -> bool:
        """Whether the id of a row is its owner's, as it is with users."""
        return self.owner_column is self.key

    @cached_property
    def shape(self) -> Schema:
        """The schema of answers and changes."""
        return self.schema()

    @cached_property
    def create_shape(self) -> Schema:
        """The schema of what creates a row."""
        return (self.create_schema or self.schema)()

    @cached_property
    def properties(self) -> dict[str, Column]:
        """The columns that clients may read, filter and order by, under their names on the wire."""
        columns = {
            shape.data_key or name: self.all_columns.get(shape.attribute or name)
            for name, shape in self.shape.dump_fields.items()
        }
        return {name: column for name, column in columns.items() if column is not None}

    @cached_property
    def columns(self) -> list[Column]:
        """The columns that answers are made of, and no others."""
        return list(self.properties.values())

    @cached_property
    def _row(self) -> type[Any]:
        """What a row of the columns is where it does not come from a query of ours."""
        return namedtuple("Row", [column.key for column in self.columns])

    @cached_property
    def _converted(self) -> list[tuple[str, Field]]:
        """The fields whose JSON is something else than what their column holds."""
        fields = {shape.data_key or name: shape for name, shape in self.shape.dump_fields.items()}
        return [
            (name, shape)
            for name, shape in fields.items()
            if name not in self.properties or type(shape)._serialize not in AS_STORED
        ]

    def dump(self, row: Any) -> Values:
        """Return the JSON object of a row; like the schema's `dump`, in a fraction of the time."""
        dumped = dict(zip(self.properties, row, strict=False))
        for name, shape in self._converted:
            dumped[name] = shape._serialize(dumped.get(name), name, row)
        return dumped

    def parse(self, raw: Mapping[str, Any] | None) -> Filter:
        """Read a filter for this resource; raise InvalidFilter."""
        return Filter.parse(raw, self.properties, self.key)

    def reach(self, method: str, text: str) -> tuple[int, Grant]:
        """Return the id in a path, and the caller's permission to call the method there.

        Raises ModelNotFound for what is no id, or what `refusal` returns.
        """
        grant = authorize(self.name, method, text)
        if self.owns_itself and not grant.covers(text):
            raise refusal(self.name, text)
        return row_id(self.singular, text), grant

    def find(self, conditions: Conditions, wanted: Filter) -> Page:
        """Return the rows that a filter wants; raise InvalidFilter for more than an answer has."""
        every = self._all_rows if wanted.fields is None else select(*self.columns_for(wanted))
        statement = every.where(*conditions, *wanted.conditions)
        page = statement.order_by(*wanted.order).limit(wanted.limit + 1)
        result = db.session.execute(page.offset(wanted.skip) if wanted.skip else page)
        return read_page(result, wanted)

    def columns_for(self, wanted: Filter) -> list[ColumnElement[Any]]:
        """Return the columns of answers, without the text that a filter does not want."""
        return [
            null().label(column.key) if wanted.leaves_out(name, column) else column
            for name, column in self.properties.items()
        ]

    def get(self, row_id: int, conditions: Conditions) -> Any:
        """Return one row; raise ModelNotFound."""
        statement = self._all_rows.where(self.key == row_id, *conditions)
        return self.found(row_id, db.session.execute(statement).first())

    def read(self, row_id: int, grant: Grant) -> Any:
        """Return one row that a permission covers; raise ModelNotFound.

        The commonest request of all: an owner's is answered by a statement that is made once.
        """
        if self.owner_column is None or not grant.only_own:
            return self.get(row_id, grant.scope(self.owner_column))
        values = {"row": row_id, "caller": grant.user_id}
        return self.found(row_id, db.session.execute(self._own_row, values).first())

    @cached_property
    def _all_rows(self) -> Select[Any]:
        return select(*self.columns)

    @cached_property
    def _own_row(self) -> Select[Any]:
        belongs: Any = self.owner_column == bindparam("caller")
        return self._all_rows.where(self.key == bindparam("row"), belongs)

    def count(self, conditions: Conditions) -> int:
        """Return how many rows fulfil the conditions."""
        statement = select(func.count()).select_from(self.key.table).where(*conditions)
        return db.session.scalar(statement) or 0

    def owned_by(self, user_id: int | None) -> Values:
        """Return what makes a new row this user's."""
        return {} if self.owner is None or self.owns_itself else {self.owner.key: user_id}

    def create(self, body: Values | list[Any], fixed: Values) -> Sequence[Any]:
        """Create one row, or all of a list or none, as a client described them.

        `fixed` is what the client has no say in. Raises ValidationError, naming the item of a
        list as well.
        """
        many = isinstance(body, list)
        if many and len(body) > self.largest_create:
            raise MalformedBody(f"The array must not have more than {self.largest_create} items.")
        loaded = self.create_shape.load(body, many=many)
        items = [{**each, **fixed} for each in (loaded if many else [loaded])]
        return self._insert(items) if items else []

    def change(self, row_id: int, scope: Conditions, body: Values, partial: bool) -> Any:
        """Change one row within a scope as a client described it, or replace it; return it.

        Raises ModelNotFound or ValidationError.
        """
        body = self._without_echo(row_id, scope, body)
        values = self.shape.load(body, partial=partial)
        if not values:
            return self.get(row_id, scope)
        rows = self.update([self.key == row_id, *scope], values)
        return self.found(row_id, rows[0] if rows else None)

    def _without_echo(self, row_id: int, scope: Conditions, body: Values) -> Values:
        """Leave out what only the service sets, where a client sends back what it was given."""
        read_only = self.properties.keys() - {
            shape.data_key or name for name, shape in self.shape.load_fields.items()
        }
        if read_only.isdisjoint(body):
            return body
        current = self.dump(self.get(row_id, scope))
        return {
            name: value
            for name, value in body.items()
            if name not in read_only or value != current[name]
        }

    def _insert(self, items: Sequence[Values]) -> Sequence[Any]:
        if self.insert_with:
            return self._rows(self.insert_with(items))
        # Only the ORM heeds that rows may differ in what they set; for one it takes twice as long.
        target = self.model if len(items) > 1 else self.key.table
        statement = insert(target).returning(*self.columns, sort_by_parameter_order=True)
        rows = db.session.execute(statement, items).all()
        db.session.commit()
        return rows

    def update(self, conditions: Conditions, values: Values) -> Sequence[Any]:
        """Change every row that fulfils the conditions; return them as they now are."""
        if self.update_with:
            return self._rows(self.update_with(conditions, values))
        statement = update(self.key.table).where(*conditions).values(values)
        rows = db.session.execute(statement.returning(*self.columns)).all()
        db.session.commit()
        return rows

    def update_all(self, conditions: Conditions, values: Values) -> int:
        """Change every row that fulfils the conditions; return how many those were."""
        if self.update_with:
            return len(self.update_with(conditions, values))
        statement = update(self.key.table).where(*conditions).values(values)
        result: Any = db.session.execute(statement)
        db.session.commit()
        return int(result.rowcount)

    def _rows(self, entities: Iterable[Any]) -> list[Any]:
        names = self._row._fields
        return [self._row(*(getattr(each, name) for name in names)) for each in entities]

    def delete(self, conditions: Conditions) -> int:
        """Delete the rows that fulfil the conditions; return how many those were."""
        gone = db.session.scalars(
            delete(self.key.table).where(*conditions).returning(self.key)
        ).all()
        db.session.commit()
        return len(gone)

    def found(self, row_id: object, row: Any) -> Any:
        """Return the row; raise ModelNotFound if there is none."""
        if row is None:
            raise ModelNotFound(self.singular, row_id)
        return row


def resource_named(name: str) -> Resource:
    """Return one of the app's resources."""
    resource: Resource = current_app.extensions["resources"][name]
    return resource
