"""The marshmallow schemas of models in JSON."""

from typing import Any

from marshmallow import fields

from app.rest.fields import Field, Schema, Timestamp
from app.rest.properties import column_name

from .definition import Definition


def make_schema(definition: Definition) -> type[Schema]:
    """Return the schema of a model."""
    # By their columns, whose names are none of a schema's own attributes.
    made: dict[str, Any] = {
        each.column_name: each.field(data_key=each.name)
        for each in definition.properties.values()
        if not each.is_id
    }
    given: dict[str, Any] = {"id": _id_field(definition), **made}
    if definition.times:
        for name in (definition.times.created, definition.times.updated):
            given[column_name(name)] = Timestamp(data_key=name, dump_only=True)
    named = {"__doc__": f"A row of {definition.plural}.", "Meta": Unregistered}
    return type(f"{definition.name}Schema", (Schema,), {**given, **named})


class Unregistered(Schema.Meta):
    """Options of schemas that marshmallow must not remember by name."""

    register = False


def _id_field(definition: Definition) -> Field:
    return fields.Integer(dump_only=True)
