"""What models in JSON become: tables with mapped classes, and resources with schemas."""

from collections.abc import Collection as Container
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import cast

from flask import Flask
from sqlalchemy import Column, ForeignKey, Index, MetaData, Table, UniqueConstraint
from sqlalchemy.orm import registry
from sqlalchemy.sql.elements import conv

from app.access.rules import Rule
from app.database.columns import AnyColumn, Json
from app.database.dialects import IDS_GIVEN_ONCE
from app.database.ids import IntegerId, RowId
from app.database.metadata import app_metadata
from app.database.session import db
from app.fields.base import Id, Schema, StrictSchema
from app.fields.files import File
from app.files.views import file_endpoints
from app.properties.properties import Property
from app.properties.types import FILE
from app.rest.collection import Collection
from app.rest.endpoint import Endpoint
from app.rest.resource import Resource
from app.rest.rows.computed import RelatedValue
from app.rest.rows.json_values import OTHERS_ATTRIBUTE, OpenSchema
from app.rest.views.collection import declared_endpoints

from .definition import Definition
from .indexes import TableIndex, table_indexes
from .related_models import RelatedModels
from .relations import ResolvedRelations
from .roles import writing_methods
from .rules import applicable_rules
from .through import LinkTable

# The tables to which each table refers, by the names of their resources.
Edges = Mapping[str, set[str]]


class Tables:
    """Creates the tables of an app's models in JSON."""

    def __init__(self, app: Flask, models: RelatedModels) -> None:
        self._metadata = app_metadata.of(app)
        self._registry = registry(metadata=self._metadata)
        self._index_names = {
            name
            for table in db.metadata.tables.values()
            for name in map(_index_name, _indexes(table))
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
        pairs = [
            TableIndex(tuple(map(definition.column_of, pair)))
            for pair in definition.polymorphic.items()
        ]
        own = table_indexes(definition.indexes, definition.id, definition.properties)
        self._map(definition.model, definition.table, columns, [*pairs, *own])

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
        indexes: Iterable[TableIndex] = (),
    ) -> None:
        """Map a class to a new table, with indexes in addition to those of its columns."""
        # An id that refers to a row of another table is not generated.
        generates = columns[0].name == "id" and not columns[0].foreign_keys
        options = IDS_GIVEN_ONCE if generates else {}
        added = [
            UniqueConstraint(*names) if is_unique else Index(None, *names)
            for names, is_unique in dict.fromkeys(indexes)
        ]
        made = Table(table, self._metadata, *columns, *added, **options)
        self._rename_indexes(made)
        self._registry.map_imperatively(model, made)

    def _rename_indexes(self, table: Table) -> None:
        """Rename indexes whose names are taken: index names are unique in a database.

        For example, the index of `order.item_id` would have the name of that of `order_item.id`.
        """
        for index in _indexes(table):
            name = _index_name(index)
            if name in self._index_names:
                name = name.replace(f"_{table.name}_", f"_{table.name}__", 1)
                _rename_index(index, name)
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
    return sorted([*table.indexes, *unique], key=_index_name)


def _index_name(index: Index | UniqueConstraint) -> str:
    return str(index.name)


def _rename_index(index: Index | UniqueConstraint, name: str) -> None:
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
        if not more:
            column.unique = None
        table.append_constraint(UniqueConstraint(column, *more, name=conv(name)))


def make_resource(
    definition: Definition,
    model: type[object],
    related: ResolvedRelations,
    ruled_by_parent: bool = False,
    computed: Mapping[str, RelatedValue] = MappingProxyType({}),
) -> Resource:
    """Return the resource of a model; rules of models related to it may decide on its rows."""

    def rules(settings: Mapping[str, object]) -> Sequence[Rule]:
        endpoints = declared_endpoints(resource)
        return applicable_rules(
            definition,
            {endpoint.method: endpoint.owned for endpoint in endpoints if not endpoint.ruled_by},
        )

    resource = Resource(
        name=definition.plural,
        singular=definition.name,
        description=definition.description,
        model=model,
        schema=make_schema(definition, related.relations),
        id_on_create=definition.id.on_create,
        id_required=definition.id.required,
        rules=rules,
        owner=getattr(model, related.owner) if related.owner else None,
        relations=related.relations,
        foreign_keys=related.foreign_keys,
        path=definition.path,
        is_public=definition.is_public,
        ruled_by_parent=ruled_by_parent,
        replaces_on_put=definition.replaces_on_put,
        finds_deleted=definition.finds_deleted,
        owner_may_change=definition.owner_may_change,
        protected=definition.protected,
        withheld=definition.hidden - _written_only(definition),
        embedded=definition.embedded,
        default_filter=definition.scope,
        limits=definition.limits,
        changes=definition.changes,
        computed=computed,
        added_endpoints=partial(_file_endpoints, definition),
    )
    return resource


def _file_endpoints(definition: Definition, collection: Collection | None) -> list[Endpoint]:
    """Return the endpoints of a model's files."""
    found: list[Endpoint] = []
    for name, property_ in definition.properties.items():
        if property_.type.name == FILE:
            field = cast("File", property_.field(data_key=name))
            found += file_endpoints(name, field, collection, property_.hidden)
    return found


def make_detached_model(definition: Definition) -> type[object]:
    """Return a class with the attributes of a model; its table does not exist in a database."""
    id_type = IntegerId() if definition.id.type is RowId else definition.id.type
    columns = [property_.column() for property_ in definition.properties.values()]
    model = type(definition.name, (), {})
    key = Column("id", id_type, primary_key=True)
    registry().map_imperatively(model, Table(definition.plural, MetaData(), key, *columns))
    return model


def with_switches(resource: Resource, definition: Definition) -> Resource:
    """Return a resource with all of its endpoints, and the methods that are switched off."""
    switches = usable_switches(definition, declared_endpoints(resource))
    return replace(resource, shared_methods=switches) if switches else resource


def usable_switches(definition: Definition, endpoints: Sequence[Endpoint]) -> dict[str, bool]:
    """Return the methods of a model that are switched off and on."""
    return definition.switches.usable(endpoints) | writing_methods(endpoints)


def _written_only(definition: Definition) -> set[str]:
    """Return the properties that are declared with `hidden`, which bodies may set."""
    return {name for name, property_ in definition.properties.items() if property_.hidden}


def make_schema(definition: Definition, relations: Container[str]) -> type[Schema]:
    """Return the schema of a model with these relations."""
    # By their columns, whose names do not clash with attributes of schemas.
    fields = {
        property_.column_name: property_.field(data_key=name)
        for name, property_ in definition.properties.items()
    }
    attributes: dict[str, object] = {
        "id": Id(definition.id.type, data_key=definition.id.name, dump_only=True),
        **fields,
        "Meta": Unregistered,
    }
    base: type[Schema] = StrictSchema if definition.is_strict else Schema
    if definition.is_open:
        base, attributes["reserved_"] = OpenSchema, {*relations, *definition.hidden}
    return type(f"{definition.name}Schema", (base,), attributes)


class Unregistered(Schema.Meta):
    """Options of schemas that marshmallow must not register by name."""

    register = False
