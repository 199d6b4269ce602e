"""Properties in LoopBack 3's form: the column and the field of each."""

import re
import secrets
import string
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from functools import partial
from keyword import iskeyword
from typing import Any
from uuid import UUID, uuid4

from marshmallow import ValidationError
from sqlalchemy import Column

from app.problems import Problems, suggest
from app.rest.fields.base import Field, not_blank
from app.times import iso_time, now

from .types import PropertyType, is_indexed, read_type
from .validators import Validator, read_validators

#: Characters of the name of a property of a model in JSON, a column or a table, as in PostgreSQL.
MAX_NAME = 63
NAME = re.compile(rf"[A-Za-z_$][\w$-]{{0,{MAX_NAME - 1}}}", re.ASCII)
# Names that a `where` has a meaning for.
RESERVED = ("and", "or")
WORDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[^A-Za-z0-9]+")
# What LoopBack 3's nanoid makes: 21 characters, 126 bits.
NANOID_LENGTH = 21
NANOID_ALPHABET = string.ascii_letters + string.digits + "_-"
# The keys by which LoopBack 3's connectors name columns.
MAPPINGS = ("postgresql", "mysql", "mssql", "oracle", "sqlite3", "db2", "mongodb")
# What other programs read, or says nothing that matters here.
NOTES = ("description", "comments", "doc", "meta", "generated", "dataType", "title")
NUMBERS = ("number", "integer")
# Types that are stored as JSON.
JSON_TYPES = ("object", "array", "geopoint")
KEYS = (
    *("type", "required", "default", "length", "precision", "scale", "index", "unique", "enum"),
    *("validates", "hidden", "readOnly", "id", "defaultFn", *MAPPINGS),
)


@dataclass(frozen=True)
class Property:
    """A property of a model: its name in JSON, and what its column and its field are."""

    name: str
    column_name: str
    type: PropertyType
    required: bool = False
    hidden: bool = False
    # Whether clients cannot write it; the service and hooks do.
    read_only: bool = False
    is_id: bool = False
    index: bool = False
    unique: bool = False
    description: str = ""
    # Returns the value of a new row without one; None stands for null.
    default: Callable[[], Any] | None = None
    # Returns the value that each change of a row gives to it.
    on_change: Callable[[], Any] | None = None
    validators: list[Validator] = field(default_factory=list)

    def column(self) -> Column[Any]:
        """Return a new column; it has the default of a property that no body sets."""
        return Column(
            self.column_name,
            self.type.column_type,
            nullable=not self.required,
            index=self.index or None,
            unique=self.unique or None,
            default=self.default if self.read_only else None,
            onupdate=self.on_change,
        )

    def field(self, **arguments: Any) -> Field:
        """Return a new field; `arguments` are further ones of marshmallow."""
        if self.required and self.default is None:
            given: dict[str, Any] = {"required": True}
        else:
            given = {"load_default": self.default, "allow_none": not self.required}
        if self.description:
            given["metadata"] = {"description": self.description}
        given |= {"attribute": self.column_name, "load_only": self.hidden}
        made = self.type.make_field(**{**given, "dump_only": self.read_only, **arguments})
        made.validators = [*made.validators, *self.validators]
        return made


def read_property(name: str, declared: Any, problems: Problems, path: str) -> Property | None:
    """Read a property from `{"type": "string", ...}` or from its type alone.

    None if it cannot be used; `problems` then has the reasons, with `path` in front.
    """
    if not isinstance(declared, Mapping):
        declared = {"type": declared}
    problems.check_keys(path, declared, KEYS, NOTES)
    if not NAME.fullmatch(name) or name in RESERVED:
        problems.add(
            path,
            f"a name has letters, digits, _, $ and -, at most {MAX_NAME}, and is none of "
            + ", ".join(map(repr, RESERVED)),
        )
        return None
    column = _column_name(name, declared)
    if len(column) > MAX_NAME:
        problems.add(path, f"its column {column} has over {MAX_NAME} characters")
        return None
    type_ = read_type(declared, problems, path)
    if type_ is None:
        return None
    default = _default(declared, type_, problems, path)
    read_only = _flag(declared, "readOnly", problems, path)
    required = _flag(declared, "required", problems, path)
    if required and read_only and default is None:
        problems.warn(f"{path}.required", "is ignored: the property is read-only, without default")
        required = False
    validators = read_validators(declared.get("validates"), type_, problems, f"{path}.validates")
    if required and type_.name == "string" and "enum" not in declared:
        validators = [not_blank, *validators]
    return Property(
        name=name,
        column_name=column,
        type=type_,
        required=required,
        hidden=_flag(declared, "hidden", problems, path),
        read_only=read_only,
        is_id=bool(declared.get("id")),
        index=_can_be_indexed(type_, declared, problems, path),
        unique=is_unique(declared) and type_.name not in JSON_TYPES,
        description=str(declared.get("description", "")),
        default=default,
        validators=validators,
    )


def _can_be_indexed(
    type_: PropertyType, declared: Mapping[str, Any], problems: Problems, path: str
) -> bool:
    """Tell whether a property gets an index: PostgreSQL has none for JSON."""
    if not is_indexed(declared) or declared.get("id"):
        return False
    if type_.name in JSON_TYPES:
        problems.warn(path, f"has no index: its type is {type_.name}")
        return False
    return True


def is_unique(declared: Mapping[str, Any]) -> bool:
    """Tell whether no two rows may have the same value of a property."""
    index = declared.get("index")
    return bool(declared.get("unique") or (isinstance(index, Mapping) and index.get("unique")))


def column_name(name: str) -> str:
    """Return the name of the column, or the table, for a name in JSON: `ownerId`, `owner_id`."""
    words = "_".join(filter(None, WORDS.split(name))).lower() or "p"
    return f"{words}_" if iskeyword(words) else f"p{words}" if words[0].isdigit() else words


def _column_name(name: str, declared: Mapping[str, Any]) -> str:
    for connector in MAPPINGS:
        mapping = declared.get(connector)
        if isinstance(mapping, Mapping) and isinstance(mapping.get("columnName"), str):
            return column_name(mapping["columnName"])
    return column_name(name)


def _flag(declared: Mapping[str, Any], key: str, problems: Problems, path: str) -> bool:
    value = declared.get(key) or False
    if value in (True, False, "true", "false"):
        return value in (True, "true")
    problems.add(f"{path}.{key}", "must be true or false")
    return False


def _default(
    declared: Mapping[str, Any], type_: PropertyType, problems: Problems, path: str
) -> Callable[[], Any] | None:
    """Return the function that returns the default, if there is one."""
    function, value = declared.get("defaultFn"), declared.get("default")
    if function is None and value == "$now" and type_.name in ("date", "dateonly"):
        function = "now"
    if function is not None:
        return _default_function(function, type_, problems, f"{path}.defaultFn")
    if value is None:
        return None
    if isinstance(value, bool) and type_.name in NUMBERS:
        # As JavaScript does.
        problems.warn(f"{path}.default", f"{str(value).lower()} is taken as {int(value)}")
        value = int(value)
    try:
        loaded = type_.load(_as_declared(value, type_.name))
    except ValidationError as error:
        problems.add(f"{path}.default", error.messages[0])
        return None
    return partial(deepcopy, loaded)


def _as_declared(value: Any, kind: str) -> Any:
    """Return a default as its type; LoopBack 3 makes numbers of text, and text of numbers."""
    if kind in NUMBERS and isinstance(value, str) and value.strip():
        try:
            return int(value) if kind == "integer" else float(value)
        except ValueError:
            return value
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return str(value) if kind == "string" and is_number else value


def _default_function(
    name: Any, type_: PropertyType, problems: Problems, path: str
) -> Callable[[], Any] | None:
    functions = DEFAULTS.get(type_.name, {})
    if not isinstance(name, str) or name not in functions:
        known, meant = ", ".join(functions) or "none", suggest(str(name), functions)
        problems.add(path, f"{name!r} is no function for a {type_.name}; there are {known}{meant}")
        return None
    return functions[name]


def _uuid_text() -> str:
    return str(uuid4())


def _nanoid() -> str:
    return "".join(secrets.choice(NANOID_ALPHABET) for _ in range(NANOID_LENGTH))


def _random_uuid() -> UUID:
    return uuid4()


DEFAULTS: dict[str, dict[str, Callable[[], Any]]] = {
    "date": {"now": now},
    "dateonly": {"now": lambda: now().date()},
    "uuid": dict.fromkeys(("guid", "uuid", "uuidv4"), _random_uuid),
    "string": {
        "guid": _uuid_text,
        "uuid": _uuid_text,
        "uuidv4": _uuid_text,
        "nanoid": _nanoid,
        "shortid": _nanoid,
        "now": lambda: iso_time(now()),
    },
}
