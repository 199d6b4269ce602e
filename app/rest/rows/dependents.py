"""Rows that belong to others by a polymorphic relation, when those are deleted.

Such a foreign key has the ids of rows of several tables, so that the database has no constraint for
it. What that would do is done here, in the same transaction: rows whose foreign key is required are
deleted, and any other becomes null. So it is with rows that the database deletes with others.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from sqlalchemy import Column, ColumnElement, delete, func, select, update

from app.database.dialects import Among
from app.database.ids import key_value
from app.database.session import connection
from app.ids import Id
from app.state import AppState

# The parameter with the ids of the rows that are deleted.
IDS = "ids"


class Dependent(NamedTuple):
    """Rows that belong to those of a table: by their foreign key, and the name of the model."""

    key: Column[Any]
    discriminator: Column[Any]
    type_name: str

    @property
    def is_deleted(self) -> bool:
        """Whether a row is deleted with the one that it belongs to."""
        return not (self.key.nullable and self.discriminator.nullable)

    @property
    def belonging(self) -> list[ColumnElement[bool]]:
        """The conditions that a row belongs to one of those that are deleted."""
        # Names are in any case, as in LoopBack 3.
        is_type = func.lower(self.discriminator) == self.type_name.lower()
        return [Among(self.key, IDS), is_type]


@dataclass
class Dependents:
    """What depends on the rows of each table, by its name."""

    polymorphic: dict[str, list[Dependent]] = field(default_factory=dict)
    # The foreign keys by which the database deletes rows that others depend on.
    cascading: dict[str, list[Column[Any]]] = field(default_factory=dict)


dependents = AppState[Dependents]("dependents", factory=lambda _app: Dependents())


def have_dependents(table: str) -> bool:
    """Tell whether other rows may have to go with those of a table."""
    known = dependents.current
    return table in known.polymorphic or table in known.cascading


def delete_dependents(key: Column[Any], conditions: Iterable[ColumnElement[bool]]) -> None:
    """Delete or detach what depends on the rows that fulfil the conditions, by their id `key`.

    Those are locked until the end of the transaction, which the caller has begun.
    """
    with connection() as database:
        chosen = select(key).where(*conditions).with_for_update()
        Deletion(dependents.current).follow(key.table.name, database.scalars(chosen).all())


class Deletion:
    """Follows what depends on rows that are deleted; each row once, as they may form circles."""

    def __init__(self, known: Dependents) -> None:
        self._known = known
        self._seen = defaultdict[str, set[Id]](set)

    def follow(self, table: str, ids: Iterable[Id]) -> None:
        """Delete or detach what depends on rows of a table."""
        new = set(ids) - self._seen[table]
        self._seen[table] |= new
        if not new:
            return
        for dependent in self._known.polymorphic.get(table, ()):
            self._release(dependent, new)
        for key in self._known.cascading.get(table, ()):
            self.follow(key.table.name, _ids(key, [Among(key, IDS)], new))

    def _release(self, dependent: Dependent, ids: Iterable[Id]) -> None:
        """Delete the rows that belong to others, or set their foreign key to null."""
        key, conditions = dependent.key, dependent.belonging
        table = key.table
        if dependent.is_deleted:
            self.follow(table.name, _ids(key, conditions, ids))
            statement: Any = delete(table)
        else:
            statement = update(table).values({key: None, dependent.discriminator: None})
        with connection() as database:
            database.execute(statement.where(*conditions), _parameters(key, ids))


def _ids(
    key: Column[Any], conditions: Iterable[ColumnElement[bool]], ids: Iterable[Id]
) -> Iterable[Id]:
    """Return the ids of the rows that fulfil the conditions, which are about these ids."""
    statement = select(key.table.c.id).where(*conditions)
    with connection() as database:
        return database.scalars(statement, _parameters(key, ids)).all()


def _parameters(key: Column[Any], ids: Iterable[Id]) -> dict[str, list[Id]]:
    return {IDS: [key_value(key, row_id) for row_id in ids]}
