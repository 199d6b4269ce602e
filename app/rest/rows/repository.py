"""The repository of a model: its rows in SQL, independent of callers and JSON."""

from collections import namedtuple
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cached_property, partial
from typing import Any, ClassVar

from sqlalchemy import (
    ColumnElement,
    Integer,
    Update,
    bindparam,
    delete,
    false,
    func,
    insert,
    inspect,
    select,
    update,
)

from app.access.policy import Grant
from app.database.columns import AnyColumn
from app.database.dialects import count_on_after
from app.database.session import connection, db, transaction
from app.database.statements import PRIMARY, PreparableStatement, PreparedStatement, RowReader
from app.errors import TooManyRows
from app.ids import Id
from app.rest.filters import sql
from app.rest.filters.tree import Filter

from .built import Build, bound, execute_built, execute_once, new_values, prepare_built
from .defaults import ColumnDefaults
from .dependents import have_dependents, released_dependents
from .files import columns_of_files
from .grants import RelatedGrants, Relations
from .pages import Page, read_page, read_rows
from .shown_columns import ShownColumns
from .values import Condition, Conditions, Element, NewRow, Row, Statement, Values

# Created once; a number would become a parameter of each query.
LIMIT = bindparam("limit_", type_=Integer)


class Repository:
    """Reads and writes the rows of a model, as named tuples of the visible columns.

    Subclasses, passed as `repository` of a `Resource`, may store rows differently. Their `insert`,
    `update` and `delete` run in the same transaction as the hooks.

    Example::

        class NoteRows(Repository):
            def insert(self, items):
                rows = super().insert(items)
                record("noted", notes=[row.id for row in rows])
                return rows
    """

    # The property of bodies that is hashed: requests with it are queued.
    hashed: ClassVar[str | None] = None
    # Properties whose changes do more than a rollback undoes, such as counting uses of a throttle.
    irreversible: ClassVar[frozenset[str]] = frozenset()
    # Whether the rows are in the database: a rollback undoes what is written, and filters may use
    # relations that lead to them.
    in_database: ClassVar[bool] = True
    # Whether standbys may answer reads, which then may be older.
    may_lag: ClassVar[bool] = True
    # Values, by attribute, that all rows have; other rows of the table are treated as missing.
    common: ClassVar[Mapping[str, object]] = {}
    # The condition that no row meets.
    nothing: Condition = false()
    # Runs the statements that read rows.
    reader: RowReader = PRIMARY
    # The relations that filters use; set by the collection.
    relations: Relations

    def __init__(
        self,
        model: type[object],
        properties: Mapping[str, AnyColumn],
        owner: AnyColumn | None,
        restriction: Sequence[ColumnElement[bool]] = (),
    ) -> None:
        """Return rows with the columns of `properties`; `owner` is the column of owner ids.

        Rows that do not meet the restriction are treated as missing.
        """
        self.model, self.owner = model, owner
        self._table_columns: Mapping[str, AnyColumn] = inspect(model).columns
        common = [self.column(name) == value for name, value in self.common.items()]
        self.restriction = [*common, *restriction]
        self.key = self._table_columns["id"]
        self._defaults = ColumnDefaults(self._table_columns)
        self.shown = ShownColumns(properties, self.key.table)
        self.columns = self.shown.all
        # Including those that clients do not see.
        self.files = columns_of_files(self._table_columns)

    def scope(self, grant: Grant) -> Conditions:
        """Return the conditions for rows that a grant covers."""
        return grant.scope(self.owner)

    def written_scope(self, grant: Grant, is_own: bool = False) -> list[Condition]:
        """Return the conditions for written rows, as `Grant.written_scope` does."""
        return grant.written_scope(self.owner, is_own)

    def owned_by(self, user_id: Id | None) -> Condition:
        """Return the condition that a row belongs to a user."""
        if self.owner is None:
            return false()
        condition: Condition = self.owner == user_id
        return condition

    def by_id(self, row_id: Id) -> Condition:
        """Return the condition that a row has an id."""
        condition: Condition = self.key == row_id
        return condition

    def transaction(self) -> AbstractContextManager[None]:
        """Return the context of an atomic operation."""
        return transaction()

    def find(self, conditions: Conditions, filter_: Filter) -> Page:
        """Return a page of the rows that a filter selects; raise InvalidFilter if too large."""
        statement, most = self.page_statement(conditions, filter_), filter_.limit + 1
        read = partial(read_page, row_size=self.shown.row_size(filter_), filter_=filter_)
        characters = self.shown.characters(filter_, most)
        return read_rows(self.reader, statement, {"limit_": most}, characters, read)

    def page_statement(
        self, conditions: Conditions, filter_: Filter, related: RelatedGrants | None = None
    ) -> Statement:
        """Return the statement for a page of rows and one more row."""
        query = self.all_rows()
        if filter_.fields is not None:
            query = select(*self.shown.selected_by(filter_)).where(*self.restriction)
        query = query.where(*conditions, *self.conditions(filter_, related))
        page = query.order_by(*self.order(filter_, related)).limit(LIMIT)
        return page.offset(filter_.skip) if filter_.skip else page

    def conditions(self, filter_: Filter, related: RelatedGrants | None = None) -> list[Condition]:
        """Return the conditions for the rows that a filter selects, as `relations.sql` does."""
        found = self.relations.sql(filter_, related)
        return sql.conditions(filter_.where, self.shown.elements, found)

    def order(self, filter_: Filter, related: RelatedGrants | None = None) -> list[Element]:
        """Return the columns to order by, ending with the id, so that pages do not overlap."""
        found = self.relations.sql(filter_, related)
        return [*sql.orders(filter_.order, self.shown.elements, found), self.key.asc()]

    def get(self, row_id: Id, conditions: Conditions) -> Row | None:
        """Return one row within these conditions, or None."""
        chosen = list(conditions)
        if not chosen and not self.shown.is_dynamic:
            row: Row | None = self._row_by_id.first({"row": row_id})
            return row
        chosen.append(self.by_id(row_id))
        return next(iter(self._execute(self.reader, self._selected, chosen)), None)

    def all_rows(self) -> Statement:
        """Return the statement for all rows."""
        return self._select_all() if self.shown.is_dynamic else self._all_rows

    @cached_property
    def _all_rows(self) -> Statement:
        return self._select_all()

    def _select_all(self) -> Statement:
        return select(*self.shown.selected).where(*self.restriction)

    def read(self, row_id: Id, grant: Grant) -> Row | None:
        """Return one row that a grant covers, or None."""
        if grant.only_own and self.owner is not None and not self.shown.is_dynamic:
            row: Row | None = self._row_of_owner.first({"row": row_id, "owner": grant.user_id})
            return row
        return self.get(row_id, grant.scope(self.owner))

    def existing(self, row_ids: Iterable[Id | None], conditions: Conditions) -> set[Id]:
        """Return those of the ids that belong to rows within the conditions."""
        statement = select(self.key).where(self.key.in_(row_ids), *conditions, *self.restriction)
        return self.reader.read(lambda database: set(database.scalars(statement)))

    def lock(self, row_id: Id) -> None:
        """Lock a row until the end of the transaction; others that lock it wait.

        SQLite allows one writer at a time and ignores the lock.
        """
        statement = select(self.key).where(self.key == row_id).with_for_update(key_share=True)
        with connection() as database:
            database.execute(statement).all()

    def lock_all(self, conditions: Conditions, most: int) -> Sequence[Row]:
        """Return up to `most` rows within these conditions by id, locked as by `lock`."""
        return self._execute(PRIMARY, self._locked, conditions, {"limit_": most})

    def _execute(
        self,
        reader: RowReader,
        build: Build,
        conditions: Conditions,
        parameters: Mapping[str, object] | None = None,
    ) -> Sequence[Row]:
        """Execute a statement that selects rows; it is prepared unless it depends on the caller."""
        if self.shown.is_dynamic:
            return execute_once(reader, build(conditions, {}), parameters)
        return execute_built(reader, build, conditions, parameters=parameters)

    def _selected(self, conditions: Conditions, _values: Values) -> Statement:
        return self.all_rows().where(*conditions)

    def _locked(self, conditions: Conditions, values: Values) -> Statement:
        chosen = self._selected(conditions, values).order_by(self.key.asc())
        return chosen.limit(LIMIT).with_for_update()

    def count(self, conditions: Conditions, filter_: Filter | None = None) -> int:
        """Return the number of rows within the conditions that a filter selects."""
        chosen = [*conditions, *(self.conditions(filter_) if filter_ else ())]
        return int(execute_built(self.reader, self.count_statement, chosen)[0].number)

    def count_statement(self, conditions: Conditions, _values: Values | None = None) -> Statement:
        """Return the statement for the number of rows within conditions."""
        counted = select(func.count().label("number")).select_from(self.key.table)
        return counted.where(*conditions, *self.restriction)

    def prepare_insert(self, items: Sequence[Values]) -> Sequence[NewRow]:
        """Return the values that `insert` stores for new rows; called before any transaction.

        For work that takes long or must not be rolled back, such as hashing a password.
        """
        return items

    def prepare_update(self, conditions: Sequence[ColumnElement[bool]], values: Values) -> Values:
        """Return the values that `update` gets for a change; called before any transaction.

        For work that must not be rolled back, such as asking for a password. Hooks do not see
        values that are not columns.
        """
        return values

    def insert(self, items: Sequence[Any]) -> Sequence[Row]:
        """Store new rows, all or none; return them in the same order.

        The items are those of `prepare_insert`. Ids that the database generates are higher than
        the given ones.
        """
        given = [item["id"] for item in items if isinstance(item.get("id"), int)]
        if not given:
            return self._insert(items)
        with transaction(), connection() as database:
            count_on_after(database, self.key.table, max(given))
            return self._insert(items)

    def _insert(self, items: Sequence[Values]) -> Sequence[Row]:
        if len(items) == 1:
            values = self.with_defaults(items[0])
            prepared = prepare_built(PRIMARY.prepare, self._inserted, (), tuple(values))
            return [prepared.first(new_values(values))]
        given = [{**self._defaults.new_id(), **item} for item in items]
        has_ids = all("id" in item for item in given)
        # Only the ORM supports rows that set different columns.
        statement = insert(self.model).returning(
            *self.shown.stored, sort_by_parameter_order=not has_ids
        )
        with transaction():
            rows = db.session.execute(statement, given).all() if given else []
        if not has_ids:
            return rows
        by_id = {row.id: row for row in rows}
        return [by_id[item["id"]] for item in given]

    def update(self, conditions: Conditions, values: Values) -> Sequence[Row]:
        """Change every row that meets the conditions; return the changed rows."""
        given = self._defaults.of_changed(values)
        if given is None:
            return execute_once(PRIMARY, self._updated(conditions, values))
        return execute_built(PRIMARY, self._updated, conditions, given)

    def replace(self, conditions: Conditions, values: Values) -> Sequence[Row]:
        """Replace every row that meets the conditions by complete values; return the new rows."""
        return self.update(conditions, values)

    def update_all(self, conditions: Conditions, values: Values) -> int:
        """Change every row that meets the conditions; return their number.

        Uses `update` if a subclass overrides it.
        """
        if type(self).update is not Repository.update:
            return len(self.update(conditions, values))
        with connection() as database:
            return database.execute(self._update(conditions, values)).rowcount

    def update_ids(self, conditions: Conditions, values: Values, most: int) -> Sequence[Id]:
        """Change every row that meets the conditions, in a transaction; return their ids.

        Raises TooManyRows.
        """
        if type(self).update is not Repository.update:
            ids: Sequence[Id] = [row.id for row in self.update(conditions, values)]
        else:
            with connection() as database:
                changed = self._update(conditions, values).returning(self.key)
                ids = database.scalars(changed).fetchmany(most + 1)
        if len(ids) > most:
            raise TooManyRows(most)
        return ids

    def _update(self, conditions: Conditions, values: Values) -> Update:
        changed = update(self.key.table).where(*conditions, *self.restriction)
        return changed.values(self._by_column(values))

    def _by_column(self, values: Values) -> dict[Any, Any]:
        columns = {name: self._table_columns[name] for name in values}
        # A context has the new values by the names of columns.
        given = values if self._defaults.need_context else bound(columns, values)
        return {columns[name]: value for name, value in given.items()}

    def _inserted(self, _conditions: Conditions, values: Values) -> PreparableStatement:
        return insert(self.key.table).values(self._by_column(values)).returning(*self.shown.stored)

    def _updated(self, conditions: Conditions, values: Values) -> PreparableStatement:
        return self._update(conditions, values).returning(*self.shown.stored)

    def _deleted(self, conditions: Conditions, _values: Values) -> PreparableStatement:
        return delete(self.key.table).where(*conditions, *self.restriction).returning(self.key)

    def delete(self, conditions: Conditions) -> int:
        """Delete the rows that meet the conditions; return their number.

        Raises TooManyDependents.
        """
        chosen = [*conditions]
        if not have_dependents(self.key.table.name):
            return len(execute_built(PRIMARY, self._deleted, chosen))
        with transaction(), released_dependents(self.key, [*chosen, *self.restriction]):
            return len(execute_built(PRIMARY, self._deleted, chosen))

    def from_entities(self, entities: Iterable[object]) -> list[Row]:
        """Return entities as the row tuples that the other methods return."""
        keys = [column.key for column in self.shown.stored]
        make = _row_of(self.shown.stored)
        return [make(*(getattr(each, key) for key in keys)) for each in entities]

    def complete(self, rows: Sequence[Row]) -> Sequence[Row]:
        """Return rows with the current values of their computed properties.

        Rows that `insert`, `update`, `replace` and `from_entities` return have none.
        """
        shown, stored = self.shown, len(self.shown.stored)
        if not shown.computed or not rows:
            return rows
        values = shown.computed_values(self.key, [row.id for row in rows])
        given: Sequence[Any] = rows
        return [self._row(*row[:stored], *values[row.id]) for row in given]

    def column(self, name: str) -> AnyColumn:
        """Return the column of an attribute of the model."""
        return self._table_columns[name]

    def value(self, row: Row, name: str) -> Any:
        """Return a row's value of an attribute; None if clients do not see it.

        An attribute may have the name of a tuple's method, such as `count`.
        """
        place = self._places.get(name)
        # Subclasses whose rows are no tuples override this.
        return None if place is None else row[place]  # type: ignore[index]

    @cached_property
    def _places(self) -> Mapping[str, int]:
        """The positions of columns in rows, by attribute."""
        names = {id(column): name for name, column in self._table_columns.items()}
        keys = (names.get(id(column), column.key) for column in self.columns)
        return {key: place for place, key in enumerate(keys)}

    @cached_property
    def _row(self) -> Callable[..., Any]:
        return _row_of(self.columns)

    @cached_property
    def _row_by_id(self) -> PreparedStatement:
        """The statement for a row by its id, for callers who may read all rows."""
        return self.reader.prepare(self._all_rows.where(self.key == bindparam("row")))

    @cached_property
    def _row_of_owner(self) -> PreparedStatement:
        """The statement for an owner's row by its id, which most requests run."""
        owner: Any = self.owner
        is_row = self.key == bindparam("row")
        return self.reader.prepare(self._all_rows.where(is_row, owner == bindparam("owner")))

    def with_defaults(self, values: Values) -> Values:
        """Return the values of a new row with the defaults that SQLAlchemy sets in Python."""
        return self._defaults.of_new(values)


def _row_of(columns: Iterable[AnyColumn]) -> Callable[..., Any]:
    """Return the class of rows with values for these columns."""
    return namedtuple("Row", [column.key for column in columns])
