"""Which rows depend on the rows of each table by an app's polymorphic relations."""

from collections import defaultdict
from collections.abc import Iterator

from flask import Flask
from sqlalchemy import Column, Table

from .collection import Collection, served_collections
from .rows.dependents import Dependent, Dependents, dependents


def find_dependents(app: Flask) -> None:
    """Determine what deletions affect; all resources must be registered."""
    collections = served_collections.of(app)
    polymorphic = defaultdict[str, list[Dependent]](list)
    for collection in collections.values():
        for dependent in _of(collection, collections):
            known = polymorphic[collection.rows.key.table.name]
            if dependent not in known:
                known.append(dependent)
    if polymorphic:
        tables = {collection.rows.key.table for collection in collections.values()}
        dependents.set(app, Dependents(polymorphic, _cascading(tables, {*polymorphic})))


def _of(collection: Collection, collections: dict[str, Collection]) -> Iterator[Dependent]:
    """Yield the dependents of a collection's rows, by its hasOne and hasMany relations."""
    for relation in collection.relations.values():
        if relation.type_name:
            column = collections[relation.target].rows.column
            key, discriminator = map(column, (relation.foreign_key, relation.discriminator))
            yield Dependent(key, discriminator, relation.type_name)


def _cascading(tables: set[Table], concerned: set[str]) -> dict[str, list[Column[object]]]:
    """Return the foreign keys by which the database deletes rows of these tables."""
    found = defaultdict[str, list[Column[object]]](list)
    open_ = set(concerned)
    while open_:
        deleted = open_.pop()
        for key in (key for table in tables if table.name == deleted for key in table.foreign_keys):
            known = found[key.target_fullname.partition(".")[0]]
            if key.ondelete == "CASCADE" and not any(key.parent is other for other in known):
                known.append(key.parent)
                open_.add(key.target_fullname.partition(".")[0])
    return {name: keys for name, keys in found.items() if keys}
