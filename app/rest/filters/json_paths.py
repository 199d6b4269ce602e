"""SQL for what a JSON column holds: the value at a path, and the items of an array.

Both databases tell text, numbers and booleans apart, and a value of another type than the operand's
is as if there were none.
"""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from sqlalchemy import Boolean, Column, ColumnElement, Float, String, case, cast
from sqlalchemy.types import TypeEngine

from app.database.columns import GeoPoint, Json
from app.database.dialects import JsonType, JsonValue
from app.errors import InvalidFilter, quote

#: Names after the first one in a path such as `address.city`.
MAX_STEPS = 5
STEP = re.compile(r"[A-Za-z_$][\w$-]{0,63}", re.ASCII)
# The names of the types of values, in both databases, and the type of their columns.
TYPES: dict[type, tuple[Sequence[str], TypeEngine[Any]]] = {
    str: (("text", "string"), String()),
    float: (("integer", "real", "number"), Float(53)),
    bool: (("true", "false", "boolean"), Boolean()),
}


class JsonPath(NamedTuple):
    """A place in a column of JSON objects, such as `address.city`."""

    column: Column[Any]
    steps: Sequence[str]

    @classmethod
    def parse(cls, column: Column[Any], path: str) -> "JsonPath":
        """Read a path in a column; raise InvalidFilter."""
        steps = path.split(".", MAX_STEPS + 1)[1:]
        if not all(map(STEP.fullmatch, steps)) or len(steps) > MAX_STEPS:
            raise InvalidFilter(
                f"'{quote(path)}' is no path: after the property it has at most {MAX_STEPS} names"
                " of letters, digits, _, $ and -."
            )
        return cls(column, steps)

    def is_missing(self) -> ColumnElement[bool]:
        """Return the condition that there is no value, or null."""
        return JsonValue(self.column, self.steps).is_(None)

    def as_type(self, kind: type) -> ColumnElement[Any]:
        """Return the value if it has the type (str, float or bool), else NULL."""
        names, type_ = TYPES[kind]
        value = JsonValue(self.column, self.steps)
        is_of_type = JsonType(self.column, self.steps).in_(names)
        return case((is_of_type, value if kind is str else cast(value, type_)))


def is_json(column: Column[Any]) -> bool:
    """Tell whether a column holds JSON: objects, arrays or positions."""
    return isinstance(column.type, Json | GeoPoint)
