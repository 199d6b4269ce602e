"""The JSON schemas of aggregates of a resource's rows."""

import re

from app.database.time_units import UNITS
from app.rest.aggregates.parser import KEYS, MAX_FUNCTIONS, MAX_GROUPS, NAME, ROWS
from app.rest.aggregates.properties import Properties
from app.rest.collection import Collection
from app.rest.filters.tree import MAX_LIMIT
from app.rest.functions import FUNCTIONS

from .filter_schemas import ORDER, WHOLE_NUMBER, DocumentPart

ONE: DocumentPart = {"minProperties": 1, "maxProperties": 1, "additionalProperties": False}


def aggregate_schema(resource: Collection) -> DocumentPart:
    """Return the schema of an aggregate of this resource."""
    properties = Properties(resource, resource.filtered_model)
    uses = properties.uses()
    group = _group_schema(properties)
    arguments = {
        word: [name for name, use in uses.items() if word in use.functions] for word in FUNCTIONS
    }
    arguments["count"].append(ROWS)
    functions = {word: {"enum": names} for word, names in arguments.items() if names}
    known: DocumentPart = {
        "where": {"$ref": f"#/components/schemas/{resource.model.__name__}Where"},
        "groupBy": {
            "anyOf": [group, {"type": "array", "items": group, "maxItems": MAX_GROUPS}],
            "description": "Properties, also of relations to one; times and dates by unit.",
        },
        "aggregate": {
            "type": "object",
            "description": "Functions by their names in the answer.",
            "propertyNames": {"pattern": f"^{NAME.pattern}$"},
            "additionalProperties": {"type": "object", "properties": functions, **ONE},
            "maxProperties": MAX_FUNCTIONS,
        },
        "having": {
            "type": "object",
            "description": "Conditions like those of a `where`, on functions by their names.",
        },
        "order": {**ORDER, "description": "Groups and functions, as a filter orders properties."},
        "limit": {
            **WHOLE_NUMBER,
            "description": f"At most {MAX_LIMIT}; without it, more groups are an error.",
        },
    }
    parts = {name: known.get(name, WHOLE_NUMBER) for name in KEYS}
    return {"type": "object", "properties": parts, "additionalProperties": False}


def _group_schema(properties: Properties) -> DocumentPart:
    """Return the schema of a group: a property, or a time or date with its unit.

    Properties of related rows are listed, except that of those two relations away only the form is
    described.
    """
    uses = properties.uses()
    related = dict(properties.related())
    for relation, target in related.items():
        uses |= {f"{relation}.{name}": use for name, use in target.related_uses().items()}
    names = [name for name, use in uses.items() if use.is_grouped]
    units = {name: {"enum": list(use.units)} for name, use in uses.items() if use.units}
    paths = [
        re.escape(f"{relation}.{name}.")
        for relation, target in related.items()
        for name, _ in target.related()
    ]
    distant = rf"^({'|'.join(paths)})[^.]+$"
    # JSON Schema allows no empty enum.
    forms: list[DocumentPart] = [{"enum": names} if names else {"not": {}}]
    if paths:
        forms.append({"type": "string", "pattern": distant})
    if units or paths:
        patterns = {"patternProperties": {distant: {"enum": list(UNITS)}}} if paths else {}
        forms.append({"type": "object", "properties": units, **patterns, **ONE})
    return {"anyOf": forms} if len(forms) > 1 else forms[0]
