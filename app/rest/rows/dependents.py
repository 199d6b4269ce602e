"""Deleting or detaching rows that belong to deleted rows by a polymorphic relation.

A polymorphic foreign key holds ids of rows of several tables, so the database has no constraint for
it. The service does what a constraint would do, in the same transaction: it deletes rows whose
foreign key is required, and sets any other to null. This includes dependents of rows that the
database deletes. The files of all rows that are deleted are removed after the commit.
"""

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple

from sqlalchemy import ColumnElement, Delete, Update, delete, func, select, update
from werkzeug.exceptions import Conflict

from app.database.columns import AnyColumn, StoredFile
from app.database.dialects import Among
from app.database.ids import key_value
from app.database.session import connection
from app.errors import REFERRED_TO, TooManyDependents
from app.ids import Id
from app.state import AppState

from . import files
from .values import IDS, Statement

#: Maximum rows with polymorphic dependents that one request deletes; each level counts as 100.
MAX_FOLLOWED = 100_000
# Ids in one statement, and the number of rows that the statement counts as, whatever it finds.
BATCH, COST = 1000, 100
# The errors of a deletion.
DELETION_ERRORS = (Conflict(REFERRED_TO), TooManyDependents())


class Dependent(NamedTuple):
    """Rows that belong to those of a table, by their foreign key and the name of the model."""

    key: AnyColumn
    discriminator: AnyColumn
    type_name: str

    @property
    def is_deleted(self) -> bool:
        """Whether such a row is deleted with the row that it belongs to."""
        return not (self.key.nullable and self.discriminator.nullable)

    @property
    def belonging(self) -> list[ColumnElement[bool]]:
        """The conditions that a row belongs to a deleted one."""
        # Names match in any case, as in LoopBack 3.
        is_type = func.lower(self.discriminator) == self.type_name.lower()
        return [Among(self.key, IDS), is_type]


@dataclass
class Dependents:
    """The dependents of each table's rows, by table name."""

    polymorphic: dict[str, list[Dependent]] = field(default_factory=dict)
    # The columns of files of each table, by table name.
    files: dict[str, list[AnyColumn]] = field(default_factory=dict)
    # The foreign keys by which the database deletes rows that have dependents or files.
    cascading: dict[str, list[AnyColumn]] = field(default_factory=dict)


dependents = AppState[Dependents]("dependents", factory=lambda _app: Dependents())


def have_dependents(table: str) -> bool:
    """Return True if deleting rows of a table may affect dependents or files."""
    known = dependents.current
    return table in known.polymorphic or table in known.cascading or table in known.files


@contextmanager
def released_dependents(
    key: AnyColumn, conditions: Iterable[ColumnElement[bool]]
) -> Iterator[None]:
    """Delete or detach dependents of the rows that meet the conditions, with their ids in `key`.

    A context manager: the block deletes these rows in a transaction, after they were locked. Raises
    TooManyDependents before the block.
    """
    if not have_dependents(key.table.name):
        yield
        return
    chosen = select(key).where(*conditions).limit(MAX_FOLLOWED + 1).with_for_update()
    deletion = Deletion(dependents.current)
    deletion.follow(key, chosen)
    yield
    # Not earlier: in a cycle, these rows would be deleted as their own dependents.
    deletion.release()


class Deletion:
    """Follows the dependents of deleted rows; visits each row once, as they may form cycles."""

    def __init__(self, known: Dependents) -> None:
        self._known = known
        self._seen = defaultdict[str, set[Id]](set)
        self._cost = 0
        # Rows whose dependents have not been searched for yet, and all found rows.
        self._open = deque[tuple[str, Sequence[Id]]]()
        self._found: list[tuple[Dependent, Sequence[Id]]] = []
        self._files: list[StoredFile] = []

    def follow(self, key: AnyColumn, chosen: Statement) -> None:
        """Find dependents of the rows whose ids a statement selects; raise TooManyDependents."""
        self._add(key.table.name, chosen, {})
        while self._open:
            table, ids = self._open.popleft()
            for column in self._known.files.get(table, ()):
                self._files += _stored_files(column, ids)
            for dependent in self._known.polymorphic.get(table, ()):
                self._found.append((dependent, ids))
                if dependent.is_deleted:
                    self._follow(dependent.key, dependent.belonging, ids)
            for foreign_key in self._known.cascading.get(table, ()):
                self._follow(foreign_key, [Among(foreign_key, IDS)], ids)

    def release(self) -> None:
        """Delete the dependents, or set their foreign key to null; remove the files of all."""
        for dependent, ids in self._found:
            key = dependent.key
            if dependent.is_deleted:
                statement: Delete | Update = delete(key.table)
            else:
                statement = update(key.table).values({key: None, dependent.discriminator: None})
            with connection() as database:
                database.execute(statement.where(*dependent.belonging), _parameters(key, ids))
        files.remove(self._files)

    def _follow(
        self, key: AnyColumn, conditions: Iterable[ColumnElement[bool]], ids: Sequence[Id]
    ) -> None:
        """Find the rows that meet the conditions, which use these ids."""
        table = key.table
        # Most rows have no dependents, so their ids are not needed.
        if have_dependents(table.name):
            chosen = select(table.c.id).where(*conditions).limit(MAX_FOLLOWED + 1)
            # So that no row gets a dependent or another file before it is deleted.
            self._add(table.name, chosen.with_for_update(), _parameters(key, ids))

    def _add(self, table: str, chosen: Statement, parameters: Mapping[str, list[Id]]) -> None:
        with connection() as database:
            found = set(database.scalars(chosen, parameters))
        new = [*(found - self._seen[table])]
        self._seen[table].update(new)
        self._cost += max(len(new), COST)
        if self._cost > MAX_FOLLOWED:
            raise TooManyDependents
        batches = range(0, len(new), BATCH)
        self._open.extend((table, new[start : start + BATCH]) for start in batches)


def _stored_files(column: AnyColumn, ids: Sequence[Id]) -> Sequence[StoredFile]:
    """Return the files that rows with these ids have in a column."""
    key = column.table.c.id
    held = select(column).where(Among(key, IDS), column.is_not(None))
    with connection() as database:
        return database.scalars(held, _parameters(key, ids)).all()


def _parameters(key: AnyColumn, ids: Iterable[Id]) -> dict[str, list[Id]]:
    return {IDS: [key_value(key, row_id) for row_id in ids]}
