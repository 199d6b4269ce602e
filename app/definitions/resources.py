"""The resources of models in JSON, with their marshmallow schemas."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from sqlalchemy import Column, MetaData, Table
from sqlalchemy.orm import registry

from app.access.rules import Rule
from app.database.ids import IntegerId, RowId
from app.fields.base import Schema
from app.fields.ids import Id
from app.rest.endpoint import Endpoint
from app.rest.resource import Resource
from app.rest.rows.json_values import OpenSchema
from app.rest.views.collection import declared_endpoints

from .definition import Definition
from .relations import ResolvedRelations
from .roles import writing_methods
from .rules import applicable_rules


def make_resource(
    definition: Definition,
    model: type[object],
    related: ResolvedRelations,
    ruled_by_parent: bool = False,
) -> Resource:
    """Return the resource of a model; rules of models related to it may decide on its rows."""

    def rules(settings: Mapping[str, object]) -> Sequence[Rule]:
        endpoints = declared_endpoints(resource)
        return applicable_rules(
            definition, {endpoint.method: endpoint.owned for endpoint in endpoints}
        )

    resource = Resource(
        name=definition.plural,
        singular=definition.name,
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
    )
    return resource


def make_detached_model(definition: Definition) -> type[object]:
    """Return a class with the attributes of a model; its table does not exist in a database."""
    id_type = IntegerId() if definition.id.type is RowId else definition.id.type
    columns = [property_.column() for property_ in definition.properties.values()]
    model = type(definition.name, (), {"__doc__": f"A row of {definition.plural}."})
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


def make_schema(definition: Definition, relations: Collection[str]) -> type[Schema]:
    """Return the schema of a model with these relations."""
    # By their columns, whose names do not clash with attributes of schemas.
    fields = {
        property_.column_name: property_.field(data_key=name)
        for name, property_ in definition.properties.items()
    }
    attributes: dict[str, object] = {
        "id": Id(definition.id.type, data_key=definition.id.name, dump_only=True),
        **fields,
        "__doc__": f"A row of {definition.plural}.",
        "Meta": Unregistered,
    }
    base: type[Schema] = Schema
    if definition.is_open:
        base, attributes["reserved_"] = OpenSchema, {*relations, *definition.hidden}
    return type(f"{definition.name}Schema", (base,), attributes)


class Unregistered(Schema.Meta):
    """Options of schemas that marshmallow must not register by name."""

    register = False
