"""The models whose changes are recorded, and the values of their rows that the log keeps."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import cast

from flask import Flask
from sqlalchemy import ColumnElement, Table

from app.access.policy import compiled_rules
from app.database.columns import AnyColumn
from app.ids import FORMS, Id
from app.problems import ConfigurationError, suggest
from app.rest.collection import Collection, served_collections
from app.rest.rows.scopes import OwnTableCondition
from app.state import AppState


@dataclass(frozen=True)
class Watched:
    """A model whose changes are recorded."""

    collection: Collection
    # The columns whose values before and after a change the log has.
    kept: Sequence[AnyColumn]

    @property
    def table(self) -> Table:
        """The table of the rows."""
        table: Table = self.collection.rows.key.table
        return table


# The models of an app whose changes are recorded, by name.
watched_models = AppState[dict[str, Watched]]("watched models", factory=lambda _app: {})


def find_watched(app: Flask) -> dict[str, Watched]:
    """Return the models whose changes are to be recorded; raise ConfigurationError."""
    collections = served_collections.of(app)
    for name in sorted(set(app.config["CHANGES"]) - collections.keys()):
        raise ConfigurationError(f"CHANGES: there is no model {name}{suggest(name, collections)}")
    found = {}
    for name, collection in collections.items():
        if not collection.resource.changes:
            continue
        if collection.is_owner_model:
            raise ConfigurationError(f"the changes of {name} cannot be recorded: they are users")
        if not collection.rows.in_database:
            raise ConfigurationError(
                f"the changes of {name} cannot be recorded: its rows are at a data source"
            )
        found[name] = Watched(collection, list(_kept(app, collection)))
    return found


def _kept(app: Flask, collection: Collection) -> Iterator[AnyColumn]:
    """Yield the columns on which it depends who may read a row, and those to be kept besides."""
    rows, changes = collection.rows, collection.resource.changes
    names = set() if rows.owner is None else {rows.owner.name}
    conditions = [*rows.restriction, *_conditions_of_roles(app, collection)]
    for condition in conditions:
        names |= OwnTableCondition(condition, rows.key.table).columns
    for name in () if isinstance(changes, bool) else changes["keep"]:
        if name not in collection.properties or name in collection.computed:
            known = collection.properties
            raise ConfigurationError(
                f"the changes of {collection.name} keep {name!r}, which is no property of it"
                f"{suggest(name, known)}"
            )
        names.add(collection.properties[name].name)
    yield from (column for column in rows.key.table.columns if column.name in names)


def _conditions_of_roles(app: Flask, collection: Collection) -> Iterator[ColumnElement[bool]]:
    """Yield the conditions of the dynamic roles that rules for reading rows name."""
    user_id = cast("Id", FORMS[app.config["ID_TYPE"]].example)
    for method in ("find", "createChangeStream"):
        rules = compiled_rules.of(app).get((collection.name, method))
        for role in rules.dynamic.values() if rules else ():
            # One that cannot be called now has no known columns: its rows are read anew.
            with app.app_context(), suppress(Exception):
                yield role(user_id)
