"""Defaults of properties: constants, and functions named by `defaultFn`."""

import secrets
import string
from collections.abc import Callable
from copy import deepcopy
from functools import partial
from uuid import uuid4

from marshmallow import ValidationError

from app.fields.base import is_number
from app.problems import MISSPELT, suggest
from app.times import iso_time, now

from .declaration import Declaration
from .types import PropertyType

# Returns the default for a new row; None stands for null.
Default = Callable[[], object]

# The length of an id by LoopBack 3's nanoid: 126 bits.
NANOID_LENGTH = 21
NANOID_ALPHABET = string.ascii_letters + string.digits + "_-"


def read_default(declared: Declaration, type_: PropertyType) -> Default | None:
    """Return the function that returns a property's default, if there is one."""
    function, value = declared.mapping.get("defaultFn"), declared.mapping.get("default")
    if function is None and value == "$now" and type_.name in ("date", "dateonly"):
        function = "now"
    if function is not None:
        return _function(function, type_, declared["defaultFn"])
    return None if value is None else _constant(declared["default"], type_)


def _constant(declared: Declaration, type_: PropertyType) -> Default | None:
    value = declared.value
    if isinstance(value, bool) and type_.name in ("number", "integer"):
        # As in JavaScript.
        declared.warn(f"{str(value).lower()} is taken as {int(value)}")
        value = int(value)
    try:
        return partial(deepcopy, type_.load(_converted(value, type_.name)))
    except ValidationError as error:
        declared.add(error.messages[0])
        return None


def _converted(value: object, kind: str) -> object:
    """Return a default in its type; as LoopBack 3, convert between texts and numbers."""
    if kind == "string" and is_number(value):
        return str(value)
    convert = {"integer": int, "number": float}.get(kind)
    if convert is None or not isinstance(value, str) or not value.strip():
        return value
    try:
        return convert(value)
    except ValueError:
        return value


def _function(name: object, type_: PropertyType, declared: Declaration) -> Default | None:
    functions = FUNCTIONS.get(type_.name, {})
    if isinstance(name, str) and name in functions:
        return functions[name]
    known, meant = ", ".join(functions) or "none", suggest(str(name), functions, MISSPELT)
    declared.add(f"{name!r} is no function for a {type_.name}; there are {known}{meant}")
    return None


def _uuid_text() -> str:
    return str(uuid4())


def _nanoid() -> str:
    return "".join(secrets.choice(NANOID_ALPHABET) for _ in range(NANOID_LENGTH))


FUNCTIONS: dict[str, dict[str, Default]] = {
    "date": {"now": now},
    "dateonly": {"now": lambda: now().date()},
    "uuid": dict.fromkeys(("guid", "uuid", "uuidv4"), uuid4),
    "string": {
        **dict.fromkeys(("guid", "uuid", "uuidv4"), _uuid_text),
        **dict.fromkeys(("nanoid", "shortid"), _nanoid),
        "now": lambda: iso_time(now()),
    },
}
