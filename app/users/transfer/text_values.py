"""Values of USER_PROPERTIES as text, in files and commands: text as it is, others as JSON."""

import json
from typing import TYPE_CHECKING

from app.errors import TooDeep
from app.rest.requests.bodies import parse_json

if TYPE_CHECKING:
    from app.properties.properties import Property

# Types whose values are text in JSON, too.
TEXTS = ("string", "date", "dateonly", "decimal", "uuid", "objectid")


def from_text(declared: "Property", text: str) -> object:
    """Return the JSON value of a text; the text itself if it is not JSON."""
    if declared.type.name in TEXTS:
        return text
    try:
        return parse_json(text)
    except (ValueError, TooDeep):
        return text


def to_text(declared: "Property", row: object) -> str:
    """Return a user's value as text; null is empty."""
    value = declared.field().serialize(declared.column_name, row)
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value, ensure_ascii=False)
