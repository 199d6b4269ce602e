"""Files of rows: which ones are kept, and which ones are removed after the commit.

The bytes are in a store, which takes no part in transactions. So an event of the outbox says which
files are to be removed. One is recorded before a file appears in the store, and cancelled in the
transaction of the row that has the file: whatever fails in between, no file remains without a row.
Another one is recorded in the transaction that deletes the row or replaces its file.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any, Protocol

from sqlalchemy import ColumnElement, select

from app.database.columns import AnyColumn, FileReference, StoredFile
from app.database.session import connection, transaction
from app.errors import TooManyRows
from app.outbox.service import cancel, record
from app.times import now

from .values import Conditions, Row, Values

# Stores new rows; changes the rows that meet conditions. They return the stored rows.
InsertRows = Callable[[Sequence[Any]], Sequence[Row]]
StoreRows = Callable[[Conditions, Values], Sequence[Row]]

UNUSED = "files unused"
# Seconds for which removing a file is tried again.
LIFETIME = 7 * 24 * 3600.0
# How long a file may wait for its row: longer than any request takes.
UNCLAIMED = timedelta(hours=1)
# Files of one event.
BATCH = 500
#: Maximum rows whose files one request may change.
MAX_CHANGED = 500


def columns_of_files(columns: Mapping[str, AnyColumn]) -> Mapping[str, AnyColumn]:
    """Return those of the columns that hold files."""
    return {name: each for name, each in columns.items() if isinstance(each.type, FileReference)}


class FileRows(Protocol):
    """A repository of rows with files."""

    @property
    def files(self) -> Mapping[str, AnyColumn]:
        """The columns of files by attribute."""

    @property
    def key(self) -> AnyColumn:
        """The column of the ids."""

    @property
    def restriction(self) -> Sequence[ColumnElement[bool]]:
        """The conditions of all rows."""


def announce(file: StoredFile) -> None:
    """Let a file that is about to be stored be removed, unless a row has it in an hour."""
    data = {"files": [_place(file)]}
    record(UNUSED, data, LIFETIME, not_before=now() + UNCLAIMED, key=file.key)


def _keep(values: Iterable[object]) -> None:
    """Keep the files among the values of rows, in their transaction.

    Raises RuntimeError for a file that was not announced, such as that of another row.
    """
    for value in values:
        if isinstance(value, StoredFile) and not cancel(UNUSED, value.key):
            raise RuntimeError("a file is of one row only, which is stored when it is uploaded")


def keeping_files(store: InsertRows) -> InsertRows:
    """Return a function that stores new rows as another one does, and keeps their files."""

    def insert(items: Sequence[Any]) -> Sequence[Row]:
        with transaction():
            _keep(value for item in items for value in item.values())
            return store(items)

    return insert


def replacing_files(rows: FileRows, store: StoreRows) -> StoreRows:
    """Return a function that changes rows as another one does, and keeps their new files.

    Those that they replace are removed after the commit. It raises TooManyRows if it would change
    the files of more than MAX_CHANGED rows.
    """

    def change(conditions: Conditions, values: Values) -> Sequence[Row]:
        changed = [column for name, column in rows.files.items() if name in values]
        if not changed:
            return store(conditions, values)
        chosen = [*conditions, *rows.restriction]
        new = {values[name] for name in rows.files if name in values}
        with transaction():
            with connection() as database:
                wanted = select(rows.key, *changed).where(*chosen).limit(MAX_CHANGED + 1)
                locked = database.execute(wanted.with_for_update()).all()
            if len(locked) > MAX_CHANGED:
                raise TooManyRows(MAX_CHANGED)
            old = {file for row in locked for file in row[1:]}
            # Not those that meet the conditions since then.
            stored = store([*chosen, rows.key.in_([row[0] for row in locked])], values)
            # Otherwise the row was deleted meanwhile.
            if stored:
                _keep(new - old)
            remove(old - new - {None})
        return stored

    return change


def withdraw(announced: Iterable[StoredFile]) -> None:
    """Remove those of the announced files that no row has, now instead of in an hour."""
    with transaction():
        remove([file for file in announced if cancel(UNUSED, file.key)])


def remove(files: Iterable[StoredFile]) -> None:
    """Remove files after the commit of the open transaction."""
    found = list(map(_place, files))
    for start in range(0, len(found), BATCH):
        record(UNUSED, {"files": found[start : start + BATCH]}, LIFETIME)


def _place(file: StoredFile) -> dict[str, str]:
    return {"store": file.store, "container": file.container, "key": file.key}
