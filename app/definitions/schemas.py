"""The marshmallow schemas of models in JSON."""

from collections.abc import Collection

from app.fields.base import Schema
from app.fields.ids import Id
from app.rest.rows.undeclared import OpenSchema

from .definition import Definition


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
