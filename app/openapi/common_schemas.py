"""JSON schemas that all services have, and what schemas are composed of."""

from collections.abc import Container, Iterable

from .filter_schemas import DocumentPart

MESSAGES_BY_FIELD = {
    "type": "object",
    "additionalProperties": {"type": "array", "items": {"type": "string"}},
}
DETAILS = {
    "messages": MESSAGES_BY_FIELD,
    "codes": MESSAGES_BY_FIELD,
    "statusCode": {"type": "integer"},
    "userId": {
        "type": ["integer", "string"],
        "description": "Whose address is to be verified.",
    },
    "relation": {"type": "string", "description": "The relation that was refused."},
    "model": {"type": "string", "description": "What a personal token has no scope for."},
    "method": {"type": "string", "description": "What a personal token has no scope for."},
    "ticket": {"type": "string", "description": "Of a login that takes a second step."},
    "kinds": {
        "type": "array",
        "items": {"type": "string"},
        "description": "What the user may authenticate with.",
    },
    "maxAge": {"type": "integer", "description": "Seconds for which a login is recent."},
    "email": {"type": "string", "description": "A new address that is to be proved."},
    "request": {"type": "integer", "description": "The position of a batch's call, from 0."},
    "id": {"type": ["string", "null"], "description": "The id of a batch's call."},
}


def ref(name: str) -> DocumentPart:
    """Return a reference to a named schema."""
    return {"$ref": f"#/components/schemas/{name}"}


def any_of(names: Iterable[str]) -> DocumentPart:
    """Return a reference to any of several schemas, as those with optional parts may all match."""
    refs = list(map(ref, names))
    return refs[0] if len(refs) == 1 else {"anyOf": refs}


def closed(properties: DocumentPart, optional: Container[str] = (), **more: object) -> DocumentPart:
    """Return the schema of an object with these properties and no others."""
    required = [name for name in properties if name not in optional]
    return {
        "type": "object",
        "properties": properties,
        **({"required": required} if required else {}),
        "additionalProperties": False,
        **more,
    }


# In place of a schema that cannot be described.
ANY_OBJECT = closed({}, additionalProperties=True, examples=[{}])
COMMON_SCHEMAS: dict[str, DocumentPart] = {
    "Count": closed({"count": {"type": "integer", "minimum": 0, "examples": [1]}}),
    "Aggregated": {
        "type": "object",
        "description": "The values of a group, and the results of the functions.",
        "additionalProperties": {"type": ["string", "number", "boolean", "null"]},
        "examples": [{"rows": 1}],
    },
    "Exists": closed({"exists": {"type": "boolean", "examples": [True]}}),
    "ErrorDetail": closed(
        {
            "statusCode": {"type": "integer"},
            "name": {"type": "string"},
            "code": {"type": "string", "description": "Stable; 5xx have none."},
            "message": {"type": "string"},
            "details": closed(
                DETAILS,
                optional=DETAILS,
                description="The error messages and codes by property, or what else there is to"
                " know of this code.",
            ),
        },
        optional=("code", "details"),
    ),
    "ErrorResponse": closed(
        {
            "status": {"type": "integer"},
            "message": {"type": "string"},
            "error": ref("ErrorDetail"),
        },
        description="The body of every error response.",
    ),
}
