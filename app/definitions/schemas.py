"""The marshmallow schemas of models in JSON."""

from collections.abc import Collection
from typing import Any

from app.rest.fields.base import Schema
from app.rest.fields.ids import Id
from app.rest.rows.undeclared import OpenSchema

from .definition import Definition


def make_schema(definition: Definition, relations: Collection[str]) -> type[Schema]:
    """Return the schema of a model with these relations."""
    # By their columns, whose names are none of a schema's own attributes.
    made: dict[str, Any] = {
        each.column_name: each.field(data_key=each.name) for each in definition.properties.values()
    }
    given: dict[str, Any] = {
        "id": Id(definition.id.type, data_key=definition.id.name, dump_only=True),
        **made,
    }
    bases: tuple[type[Schema], ...] = (Schema,)
    named: dict[str, Any] = {"__doc__": f"A row of {definition.plural}.", "Meta": Unregistered}
    if definition.is_open:
        bases, named["reserved_"] = (OpenSchema,), {*relations, *definition.hidden}
    return type(f"{definition.name}Schema", bases, {**given, **named})


class Unregistered(Schema.Meta):
    """Options of schemas that marshmallow must not remember by name."""

    register = False
