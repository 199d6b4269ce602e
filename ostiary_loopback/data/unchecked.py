"""References of moved rows without a constraint in the database: they are kept, and listed.

They are the references of polymorphic relations, of two tables that refer to each other, and of
columns that several relations share.
"""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from flask import Flask
from sqlalchemy import Column, select

from app.database.ids import key_value
from app.database.session import db
from app.definitions.reading import json_models
from app.rest.collection import Collection, served_collections
from app.rest.relations import BELONGS_TO, Relation

from .batches import BATCH, dangling
from .moved import Journal


def list_unchecked(app: Flask, journal: Journal) -> None:
    """List the rows with references to rows that do not exist, where no constraint checks them."""
    models = json_models.of(app)
    definitions = {definition.table: definition for definition in models.definitions.values()}
    for collection in served_collections.of(app).values():
        definition = definitions.get(collection.rows.key.table.name)
        if definition is None:
            continue
        properties = {own.column_name: own.name for own in definition.properties.values()}
        for relation in collection.relations.values():
            if relation.kind == BELONGS_TO:
                column = collection.rows.column(relation.foreign_key)
                text = dangling(properties.get(column.name, column.name))
                for row_id in _dangling_rows(app, collection, relation, column):
                    journal.list(definition.name, "kept", text, row_id)


def _dangling_rows(
    app: Flask, collection: Collection, relation: Relation, column: Column[Any]
) -> Iterator[Any]:
    if column.foreign_keys:
        return
    key, last = collection.rows.key, None
    type_ = [collection.rows.column(relation.discriminator)] if relation.has_types else []
    referring = select(key, column, *type_).where(column.is_not(None)).order_by(key).limit(BATCH)
    while True:
        page = referring if last is None else referring.where(key > last)
        rows = [tuple(row) for row in db.session.execute(page)]
        if not rows:
            return
        yield from _dangling(app, relation, column, rows)
        last = rows[-1][0]


def _dangling(
    app: Flask, relation: Relation, column: Column[Any], rows: list[tuple[Any, ...]]
) -> Iterator[Any]:
    """Yield the ids of rows whose reference is to no row, each with the reference and its type."""
    by_target = defaultdict[str | None, list[tuple[Any, Any]]](list)
    for row_id, reference, *type_ in rows:
        target = relation.resource_of(type_[0]) if type_ else relation.target
        by_target[target].append((row_id, reference))
    for target, referring in by_target.items():
        found = _existing(app, target, column, {reference for _, reference in referring})
        yield from (row_id for row_id, reference in referring if reference not in found)


def _existing(
    app: Flask, target: str | None, column: Column[Any], references: set[Any]
) -> set[Any]:
    collection = served_collections.of(app).get(target or "")
    if collection is None:
        return set()
    parsed = {collection.id_form.parse(str(reference)) for reference in references}
    key = collection.rows.key
    found = db.session.scalars(select(key).where(key.in_(parsed - {None})))
    return {key_value(column, row_id) for row_id in found}
