"""The tables of models in JSON, and the classes that are mapped to them."""

from collections.abc import Iterable, Mapping

from flask import Flask
from sqlalchemy import Column, ForeignKey, Index, Table, UniqueConstraint
from sqlalchemy.orm import registry
from sqlalchemy.sql.elements import conv

from app.database.columns import AnyColumn, Json
from app.database.dialects import IDS_GIVEN_ONCE
from app.database.metadata import app_metadata
from app.database.session import db
from app.properties.properties import Property
from app.rest.rows.json_values import OTHERS_ATTRIBUTE

from .definition import Definition
from .related_models import RelatedModels
from .through import LinkTable

Edges = Mapping[str, set[str]]


class Tables:
    """Creates the tables of an app's models in JSON."""

    def __init__(self, app: Flask, models: RelatedModels) -> None:
        self._metadata = app_metadata.of(app)
        self._registry = registry(metadata=self._metadata)
        self._index_names = {
            name for table in db.metadata.tables.values() for name in map(_name, _indexes(table))
        }
        self._models = models
        self._edges: Edges = {
            definition.plural: set(definition.foreign_keys.values())
            for definition in models.definitions.values()
        }

    def map_model(self, definition: Definition, owner: str | None) -> None:
        """Map the class of a model to its table."""
        key: AnyColumn = Column("id", definition.id.type, primary_key=True)
        # A row is deleted together with the row whose id it has.
        self._refer(key, definition, definition.id.name, "CASCADE")
        columns = [key]
        for property_ in definition.properties.values():
            columns.append(self._column(definition, property_, owner))
        if definition.is_open:
            columns.append(Column(OTHERS_ATTRIBUTE, Json(dict)))
        pairs = [map(definition.column_of, pair) for pair in definition.polymorphic.items()]
        self._map(definition.model, definition.table, columns, pairs)

    def map_link_table(self, links: LinkTable) -> None:
        """Map the class of a link table between two models."""
        keys = [
            Column(
                name,
                target.id_type.column_type,
                ForeignKey(target.id_column, ondelete="CASCADE"),
                primary_key=True,
                autoincrement=False,
                index=place > 0,
            )
            for place, (name, target) in enumerate(links.keys.items())
        ]
        self._map(links.model, links.name, keys)

    def _map(
        self,
        model: type[object],
        table: str,
        columns: list[AnyColumn],
        indexed: Iterable[Iterable[str]] = (),
    ) -> None:
        """Map a class to a new table, with its multi-column indexes."""
        # An id that refers to a row of another table is not generated.
        generates = columns[0].name == "id" and not columns[0].foreign_keys
        options = IDS_GIVEN_ONCE if generates else {}
        indexes = [Index(None, *names) for names in indexed]
        made = Table(table, self._metadata, *columns, *indexes, **options)
        self._rename_indexes(made)
        self._registry.map_imperatively(model, made)

    def _rename_indexes(self, table: Table) -> None:
        """Rename indexes whose names are taken: index names are unique in a database.

        For example, the index of `order.item_id` would have the name of that of `order_item.id`.
        """
        for index in _indexes(table):
            name = _name(index)
            if name in self._index_names:
                name = name.replace(f"_{table.name}_", f"_{table.name}__", 1)
                _rename(index, name)
            self._index_names.add(name)

    def _column(self, definition: Definition, property_: Property, owner: str | None) -> AnyColumn:
        column = property_.column()
        rule = "CASCADE" if column.name == owner or property_.required else "SET NULL"
        self._refer(column, definition, property_.name, rule)
        return column

    def _refer(self, column: AnyColumn, definition: Definition, name: str, rule: str) -> None:
        """Add a foreign key from a property's column to the table whose ids it holds."""
        key = definition.foreign_keys.get(name)
        if key is None or name in definition.shared_keys:
            return
        referred = self._models[key].id_column
        # LoopBack 3's RoleMapping is a query, to which no foreign key can refer.
        is_stored = isinstance(referred, str) or isinstance(referred.table, Table)
        if is_stored and not self._is_in_circle(definition.plural, key):
            column.append_foreign_key(ForeignKey(referred, ondelete=rule))

    def _is_in_circle(self, source: str, target: str) -> bool:
        """Return True if the tables refer to each other, so that neither can be created first."""
        seen, open_ = set[str](), [target] if target != source else []
        while open_:
            name = open_.pop()
            if name == source:
                return True
            if name not in seen:
                seen.add(name)
                open_ += self._edges.get(name, ())
        return False


def _indexes(table: Table) -> list[Index | UniqueConstraint]:
    """Return the indexes of a table, including those of unique constraints, by name."""
    unique = [
        constraint for constraint in table.constraints if isinstance(constraint, UniqueConstraint)
    ]
    return sorted([*table.indexes, *unique], key=_name)


def _name(index: Index | UniqueConstraint) -> str:
    return str(index.name)


def _rename(index: Index | UniqueConstraint, name: str) -> None:
    """Replace an index by one with this name; a column's `index` would derive another."""
    column, *more = index.columns
    table = column.table
    if isinstance(index, Index):
        table.indexes.remove(index)
        if not more:
            column.index = None
        Index(conv(name), column, *more)
    else:
        table.constraints.remove(index)
        column.unique = None
        table.append_constraint(UniqueConstraint(column, name=conv(name)))
