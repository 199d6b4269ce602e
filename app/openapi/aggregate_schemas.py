"""The JSON schemas of aggregates of a resource's rows."""

from app.rest.aggregates.parser import KEYS, MAX_FUNCTIONS, MAX_GROUPS, NAME, ROWS
from app.rest.aggregates.properties import FUNCTIONS, Properties
from app.rest.collection import Collection
from app.rest.filters.tree import MAX_LIMIT

from .filter_schemas import ORDER, WHOLE_NUMBER, DocumentPart

ONE: DocumentPart = {"minProperties": 1, "maxProperties": 1, "additionalProperties": False}


def aggregate_schema(resource: Collection) -> DocumentPart:
    """Return the schema of an aggregate of this resource."""
    uses = Properties(resource, None).uses()
    names = [name for name, use in uses.items() if use.is_grouped]
    units = {name: {"enum": list(use.units)} for name, use in uses.items() if use.units}
    # JSON Schema allows no empty enum.
    group: DocumentPart = {"enum": names} if names else {"not": {}}
    if units:
        group = {"anyOf": [group, {"type": "object", "properties": units, **ONE}]}
    arguments = {
        word: [name for name, use in uses.items() if word in use.functions] for word in FUNCTIONS
    }
    arguments["count"].append(ROWS)
    functions = {word: {"enum": names} for word, names in arguments.items() if names}
    known: DocumentPart = {
        "where": {"$ref": f"#/components/schemas/{resource.model.__name__}Where"},
        "groupBy": {"anyOf": [group, {"type": "array", "items": group, "maxItems": MAX_GROUPS}]},
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
    properties = {name: known.get(name, WHOLE_NUMBER) for name in KEYS}
    return {"type": "object", "properties": properties, "additionalProperties": False}


def aggregate_example(resource: Collection) -> DocumentPart:
    """Return an aggregate that works with any rows."""
    functions = {"rows": {"count": ROWS}}
    uses = Properties(resource, None).uses().items()
    if ordered := next((name for name, use in uses if "max" in use.functions), None):
        functions["last"] = {"max": ordered}
    return {"aggregate": functions}
