"""Types of JSON, settings and values."""

from collections.abc import Mapping
from typing import Any, TypeAlias

# JSON as Python reads it; the body of a response may be text or bytes instead.
JsonValue: TypeAlias = Any
JsonObject: TypeAlias = dict[str, JsonValue]
# Settings that were checked by a schema.
Settings: TypeAlias = Mapping[str, Any]
# The values of variables, entries of a query, fields of an object: anything that can be sent.
Values: TypeAlias = Mapping[str, object]
