"""Writing the new rows of a source in batches, and their references to other rows."""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import click
from sqlalchemy import Column, Table, bindparam, func, insert, select, tuple_, update
from sqlalchemy.exc import DBAPIError, IntegrityError, StatementError

from app.database.dialects import count_on_after
from app.database.faults import violated_columns
from app.database.ids import IdColumn
from app.database.session import db, transaction
from app.ids import INTEGER

from .moved import Journal, LeftOut, Refused
from .source_models import SourceModel
from .sources.base import Placed, Row, Source
from .values import InvalidValue

# The number of rows in a transaction.
BATCH = 1000
SAVEPOINT = "moved_rows"
# Errors for values that Python cannot hold, such as dates after the year 9999; InvalidValue is one.
UNREADABLE = (ValueError, ArithmeticError)

Values = dict[str, Any]


@dataclass(frozen=True)
class Plan:
    """How the rows of a model are moved to a table."""

    model: SourceModel
    table: Table
    # Returns the values of the columns; raises Refused, LeftOut or InvalidValue.
    convert: Callable[[Row], Values]
    # The columns that identify a row that exists already.
    key: Sequence[str] = ("id",)
    # Whether positions in the source are not secret, so that the journal may contain them.
    is_resumable: bool = True
    # Columns that refer to rows of the same table, which are set when all rows exist, and the
    # function that returns their values with the id of a row.
    own_references: Sequence[str] = ()
    refer: Callable[[Row], Values] | None = None
    # The properties of columns with another name.
    properties: Mapping[str, str] = field(default_factory=dict)
    # Returns the label of a row in lists, if its id is a secret.
    alias: Callable[[Row], object] | None = None

    @property
    def name(self) -> str:
        """The name of the model."""
        return self.model.name

    def label(self, row: Row) -> object:
        """Return the label of a row in lists, which is not a secret."""
        return self.alias(row) if self.alias else row.get(self.model.id_name)

    def dangling(self, column: Column[Any]) -> str:
        """Return the message for a reference to a row that does not exist."""
        return dangling(self.property_of(column.name))

    def property_of(self, column: str) -> str:
        """Return the name of a column's property in the model."""
        return self.properties.get(column, column)


class Mover:
    """Moves the rows of plans from a source."""

    def __init__(self, source: Source, journal: Journal) -> None:
        self._source = source
        self._journal = journal
        self._moved = journal.moved

    def move(self, plan: Plan) -> None:
        """Move the rows of a plan that have not been moved yet."""
        counts = self._moved.of(plan.name)
        if counts.is_done:
            return
        counts.total = self._source.count(plan.model)
        was_begun, counts.is_begun = counts.is_begun, True
        self._journal.save()
        with progress(plan.name, counts.total - counts.read) as bar:
            rows = self._source.rows(plan.model, counts.position)
            while batch := list(islice(rows, BATCH)):
                with transaction():
                    self._store(plan, batch)
                    self._journal.flush()
                if plan.is_resumable:
                    counts.position = batch[-1][0]
                    self._journal.save()
                bar.update(len(batch))
        if plan.refer and (counts.written or was_begun):
            self._refer(plan, plan.refer)
        continue_ids(plan.table)
        counts.stored = db.session.scalar(select(func.count()).select_from(plan.table)) or 0
        counts.is_done = True
        self._journal.save()

    def _store(self, plan: Plan, batch: Sequence[Placed]) -> None:
        counts = self._moved.of(plan.name)
        counts.read += len(batch)
        converted = list(self._converted(plan, batch))
        new = self._new(plan, converted)
        counts.present += len(converted) - len(new)
        for column in _references(plan.table):
            if column.name not in plan.own_references:
                new = self._with_existing(plan, column, new)
        counts.written += self._insert(plan, new)

    def _converted(self, plan: Plan, batch: Sequence[Placed]) -> Iterator[tuple[object, Values]]:
        for _, row in batch:
            try:
                yield plan.label(row), plan.convert(row)
            except (Refused, InvalidValue) as error:
                self._journal.refuse(plan.name, str(error), plan.label(row))
            except LeftOut as error:
                self._moved.of(plan.name).left_out += 1
                self._moved.add(plan.name, "left out", str(error))
            except UNREADABLE:
                self._journal.refuse(plan.name, "has a value out of range", plan.label(row))

    def _new(
        self, plan: Plan, rows: Sequence[tuple[object, Values]]
    ) -> list[tuple[object, Values]]:
        """Return the rows that do not exist yet."""
        columns = [plan.table.c[name] for name in plan.key]
        by_key = {tuple(values[name] for name in plan.key): (row, values) for row, values in rows}
        if not by_key:
            return []
        wanted = list(by_key) if len(columns) > 1 else [key[0] for key in by_key]
        same = tuple_(*columns) if len(columns) > 1 else columns[0]
        for found in db.session.execute(select(*columns).where(same.in_(wanted))):
            by_key.pop(tuple(found), None)
        return list(by_key.values())

    def _with_existing(
        self, plan: Plan, column: Column[Any], rows: list[tuple[object, Values]]
    ) -> list[tuple[object, Values]]:
        """Return the rows; one with a reference to no row is refused, unless that may be empty."""
        missing = _missing(column, [values.get(column.name) for _, values in rows])
        if not missing:
            return rows
        kept = []
        for row_id, values in rows:
            if values.get(column.name) in missing:
                if not column.nullable:
                    self._journal.refuse(plan.name, plan.dangling(column), row_id)
                    continue
                self._journal.list(plan.name, "emptied", plan.dangling(column), row_id)
                values = {**values, column.name: None}
            kept.append((row_id, values))
        return kept

    def _insert(self, plan: Plan, rows: Sequence[tuple[object, Values]]) -> int:
        """Insert rows, one by one if the database refuses any; return their number."""
        emptied = dict.fromkeys(plan.own_references)
        given = [{**values, **emptied} for _, values in rows]
        if not given or _try(plan, given) is None:
            return len(given)
        written = 0
        for (row_id, _), values in zip(rows, given, strict=True):
            if reason := _try(plan, [values]):
                self._journal.refuse(plan.name, reason, row_id)
            else:
                written += 1
        return written

    def _refer(self, plan: Plan, refer: Callable[[Row], Values]) -> None:
        """Set the references between rows of the same table, which all exist now."""
        rows = self._source.rows(plan.model)
        while batch := list(islice(rows, BATCH)):
            found = [values for _, row in batch if (values := _reference(refer, row))]
            with transaction():
                for name in plan.own_references:
                    referring = [row for row in found if row[name] is not None]
                    self._refer_batch(plan, plan.table.c[name], referring)
                self._journal.flush()

    def _refer_batch(self, plan: Plan, column: Column[Any], rows: Sequence[Values]) -> None:
        """Set a reference of existing rows that have none yet."""
        key = plan.table.c.id
        unset = select(key).where(key.in_([row["id"] for row in rows]), column.is_(None))
        stored = set(db.session.scalars(unset))
        missing = _missing(column, [row[column.name] for row in rows])
        given = []
        for row in rows:
            if row["id"] not in stored:
                continue
            if row[column.name] in missing:
                self._journal.list(plan.name, "emptied", plan.dangling(column), row["id"])
            else:
                given.append({"row_id": row["id"], "referred": row[column.name]})
        statement = update(plan.table).where(key == bindparam("row_id"))
        if given:
            connection = db.session.connection()
            connection.execute(statement.values({column.name: bindparam("referred")}), given)


def _reference(refer: Callable[[Row], Values], row: Row) -> Values | None:
    try:
        return refer(row)
    except (Refused, RecursionError, *UNREADABLE):
        return None


def dangling(name: str) -> str:
    """Return the message for a property that refers to a row that does not exist."""
    return f"{name} refers to a row that does not exist"


def progress(name: str, length: int) -> Any:
    """Return a progress bar, which is hidden unless the output is a terminal."""
    return click.progressbar(
        length=max(0, length), label=name, hidden=not sys.stdout.isatty(), update_min_steps=BATCH
    )


def _references(table: Table) -> list[Column[Any]]:
    return [column for column in table.columns if column.foreign_keys]


def _missing(column: Column[Any], values: Sequence[Any]) -> set[Any]:
    """Return the ids that no row has."""
    wanted = {value for value in values if value is not None}
    if not wanted:
        return wanted
    referred = next(iter(column.foreign_keys)).column
    found = db.session.scalars(select(referred).where(referred.in_(wanted)))
    return wanted - set(found)


def _try(plan: Plan, rows: Sequence[Values]) -> str | None:
    """Insert rows; return why the database refuses them, without values."""
    connection = db.session.connection()
    connection.exec_driver_sql(f"SAVEPOINT {SAVEPOINT}")
    try:
        connection.execute(insert(plan.table), rows)
    except IntegrityError as error:
        reason = _constraint(plan, error)
    except DBAPIError as error:
        if error.connection_invalidated:
            raise
        reason = "has a value that the database cannot hold"
    except (StatementError, OverflowError, ValueError):
        reason = "has a value that the database cannot hold"
    else:
        connection.exec_driver_sql(f"RELEASE SAVEPOINT {SAVEPOINT}")
        return None
    connection.exec_driver_sql(f"ROLLBACK TO SAVEPOINT {SAVEPOINT}")
    return reason


def _constraint(plan: Plan, error: IntegrityError) -> str:
    """Return the message of an error without values, which PostgreSQL writes on further lines."""
    if violated := violated_columns(error):
        names = " and ".join(sorted(map(plan.property_of, violated.columns)))
        return f"another row has the same {names}, which must be unique"
    return f"violates a rule of the table: {str(error.orig).splitlines()[0]}"


def continue_ids(table: Table) -> None:
    """Let the database generate only ids above those of the rows, if it generates them."""
    key = table.c.get("id")
    if key is None or not isinstance(key.type, IdColumn) or key.type.form is not INTEGER:
        return
    if highest := db.session.scalar(select(func.max(key))):
        with transaction():
            count_on_after(db.session.connection(), table, highest)
