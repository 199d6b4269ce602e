"""Renaming tables and columns, which keep their rows."""

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import NamedTuple

from alembic.operations import Operations, ops
from alembic.runtime.migration import MigrationContext
from flask import current_app
from sqlalchemy import Connection, inspect

from app.database.metadata import all_metadata
from app.problems import suggest

from .chains import MigrationError
from .comparing import compare

# A table counts as possibly renamed if it has more than this share of the columns.
ALIKE = 0.5

# Asks a question on a terminal.
Ask = Callable[[str], bool]


class Rename(NamedTuple):
    """A new name for a column, or for a table if `column` is None."""

    table: str
    column: str | None
    new: str

    @classmethod
    def parse(cls, text: str) -> "Rename":
        """Read `TABLE.COLUMN=NEW` or `TABLE=NEW`; raise MigrationError."""
        old, _, new = text.partition("=")
        table, separator, column = old.partition(".")
        if not (table and new) or "." in new or (separator and not column):
            raise MigrationError(
                f"--rename {text} cannot be read: write TABLE.COLUMN=NEW, and TABLE=NEW for a table"
            )
        return cls(table, column or None, new)

    def __str__(self) -> str:
        return f"{self._old}={self.new}"

    @property
    def question(self) -> str:
        """The question whether the name is new."""
        return f"Is {self.new} the new name of {self._old}, whose values stay?"

    @property
    def description(self) -> str:
        """A description of the migration's step."""
        return f"rename {self._old} to {self.new}"

    @property
    def operation(self) -> ops.MigrateOperation:
        """Alembic's operation."""
        if self.column is None:
            return ops.RenameTableOp(self.table, self.new)
        return ops.AlterColumnOp(self.table, self.column, modify_name=self.new)

    @property
    def reverse(self) -> "Rename":
        """The inverse operation."""
        if self.column is None:
            return Rename(self.new, None, self.table)
        return Rename(self.table, self.new, self.column)

    @property
    def _old(self) -> str:
        return self.table if self.column is None else f"{self.table}.{self.column}"

    def perform(self, connection: Connection) -> None:
        """Rename in the database; raise MigrationError if it cannot."""
        names = _names(connection, self.table if self.column else None)
        if (self.column or self.table) not in names:
            raise MigrationError(f"--rename {self}: the database has no {self._old}")
        if self.new in names:
            raise MigrationError(f"--rename {self}: the database has {self.new} already")
        wanted = self._names_in_models()
        if wanted and self.new not in wanted:
            kind = f"column {self.table}.{self.new}" if self.column else f"table {self.new}"
            raise MigrationError(
                f"--rename {self}: the models have no {kind}{suggest(self.new, wanted)}"
            )
        Operations(MigrationContext.configure(connection)).invoke(self.operation)

    def _names_in_models(self) -> set[str]:
        """Return possible new names; none for a column if its table is renamed later."""
        tables = all_metadata(current_app).tables
        if self.column is None:
            return set(tables)
        return set(tables[self.table].columns.keys()) if self.table in tables else set()


def _names(connection: Connection, table: str | None) -> set[str]:
    """Return the names of the tables, or those of a table's columns."""
    inspector = inspect(connection)
    if table is None:
        return set(inspector.get_table_names())
    if not inspector.has_table(table):
        return set()
    return {column["name"] for column in inspector.get_columns(table)}


def perform_renames(
    connection: Connection, given: Sequence[Rename], ask: Ask | None, allow_drop: bool
) -> tuple[list[Rename], ops.MigrationScript]:
    """Perform renames that are given or confirmed.

    Returns them, and how the database then differs from the models. If it cannot ask, it raises
    MigrationError for possible renames, unless the old names may be dropped.
    """
    for rename in given:
        rename.perform(connection)
    done, refused = list(given), set[Rename]()
    script = compare(connection)
    while not allow_drop and (found := [each for each in _possible(script) if each not in refused]):
        if ask is None:
            raise MigrationError(_explanation(found))
        if ask(found[0].question):
            found[0].perform(connection)
            done.append(found[0])
            script = compare(connection)
        else:
            refused.add(found[0])
    return done, script


def _explanation(found: Sequence[Rename]) -> str:
    """Return advice about possible renames."""
    gone = " and ".join(sorted({rename._old for rename in found}))
    new = " and ".join(sorted({rename.new for rename in found}))
    options = " or ".join(f"--rename {rename}" for rename in found)
    return (
        f"the migration would drop {gone} and add {new}: give {options} if the name is new and the"
        " values are to stay, and --allow-drop if they are not"
    )


def _possible(script: ops.MigrationScript) -> Iterator[Rename]:
    """Yield the renames that could explain differences between database and models."""
    changes = script.upgrade_ops.ops if script.upgrade_ops else []
    yield from _renamed_tables(changes)
    for change in changes:
        if isinstance(change, ops.ModifyTableOps):
            yield from _renamed_columns(change)


def _renamed_tables(changes: Sequence[ops.MigrateOperation]) -> Iterator[Rename]:
    """Yield pairs of a dropped and a created table that have most columns in common."""
    dropped = [change for change in changes if isinstance(change, ops.DropTableOp)]
    created = [change for change in changes if isinstance(change, ops.CreateTableOp)]
    for old, new in product(dropped, created):
        before = set(old.to_table().columns.keys())
        after = set(new.to_table().columns.keys())
        if len(before & after) > ALIKE * max(len(before), len(after)):
            yield Rename(old.table_name, None, new.table_name)


def _renamed_columns(change: ops.ModifyTableOps) -> Iterator[Rename]:
    """Yield pairs of a dropped and an added column of a table."""
    gone = [op.column_name for op in change.ops if isinstance(op, ops.DropColumnOp)]
    added = [op.column.name for op in change.ops if isinstance(op, ops.AddColumnOp)]
    for name, other in product(gone, added):
        yield Rename(change.table_name, name, other)
