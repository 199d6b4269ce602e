"""Properties in LoopBack 3's form, with a column, a field and the default of each."""

import re
import secrets
import string
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from keyword import iskeyword
from typing import Unpack
from uuid import uuid4

from marshmallow import ValidationError
from sqlalchemy import Column

from app.database.columns import AnyColumn
from app.database.metadata import DEFAULT
from app.fields.base import Field, FieldOptions, not_blank
from app.fields.parsing import is_number
from app.problems import MISSPELT, suggest
from app.rest.visibility import Visibility
from app.state import AppState
from app.times import iso_time, now

from .declaration import Declaration, JsonObject
from .types import FILE, FILE_KEYS, NAMES, PropertyType, is_indexed, read_type
from .validators import Validator, read_validators

#: Maximum characters of the name of a property in JSON, a column or a table, as in PostgreSQL.
MAX_NAME = 63
NAME = re.compile(rf"[A-Za-z_$][\w$-]{{0,{MAX_NAME - 1}}}", re.ASCII)
# Names with a special meaning in a `where`.
RESERVED = ("and", "or")
WORDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[^A-Za-z0-9]+")
# Keys of LoopBack 3's connectors for the names of columns.
MAPPINGS = ("postgresql", "mysql", "mssql", "oracle", "sqlite3", "db2", "mongodb")
# Keys for other programs, and those without effect here.
NOTES = ("comments", "doc", "meta", "generated", "dataType", "title")
# Types that are stored as JSON.
JSON_TYPES = ("object", "any", "array", "geopoint", FILE)
KEYS = (
    *("type", "required", "default", "length", "precision", "scale", "index", "unique", "enum"),
    *("validates", "hidden", "readOnly", "id", "defaultFn", "description", *MAPPINGS),
)
# Returns the default for a new row; None stands for null.
Default = Callable[[], object]
# The length of an id by LoopBack 3's nanoid: 126 bits.
NANOID_LENGTH = 21
NANOID_ALPHABET = string.ascii_letters + string.digits + "_-"
# What clients see of objects of each model, by its name in lower case.
KnownModels = Mapping[str, Visibility]
embedded_models = AppState[KnownModels]("embedded models", factory=lambda _app: {})


@dataclass(frozen=True)
class Constant:
    """A default that is the same for all rows, each of which gets a copy."""

    value: object

    def __call__(self) -> object:
        """Return the default for a new row."""
        return deepcopy(self.value)


@dataclass(frozen=True)
class Property:
    """A property of a model: its name in JSON, its column and its field."""

    name: str
    column_name: str
    type: PropertyType
    required: bool = False
    hidden: bool = False
    # Whether clients cannot write it; the service and hooks can.
    read_only: bool = False
    is_id: bool = False
    index: bool = False
    unique: bool = False
    description: str = ""
    default: Default | None = None
    # Returns the value to set at each change of a row.
    on_change: Callable[[], object] | None = None
    validators: list[Validator] = field(default_factory=list)

    def column(self) -> AnyColumn:
        """Return a new column; it has the default unless bodies set the property."""
        return Column(
            self.column_name,
            self.type.column_type,
            nullable=not self.required,
            index=self.index or None,
            unique=self.unique or None,
            default=self.default if self.read_only else None,
            onupdate=self.on_change,
            info={DEFAULT: self.default} if self.default else {},
        )

    def field(self, **options: Unpack[FieldOptions]) -> Field:
        """Return a new field; `options` are further arguments of marshmallow."""
        given: FieldOptions = {"attribute": self.column_name, "load_only": self.hidden}
        given["dump_only"] = self.read_only
        if self.required and self.default is None:
            given["required"] = True
        elif self.type.name == FILE:
            # Without a default: a change that does not name it keeps the file.
            given["allow_none"] = True
        else:
            given |= {"load_default": self.default, "allow_none": not self.required}
        if self.description:
            given["metadata"] = {"description": self.description}
        made = self.type.make_field(**{**given, **options})
        made.validators = [*made.validators, *self.validators]
        if isinstance(self.default, Constant) and not self.hidden:
            made.metadata = {**made.metadata, **self._shown_default(made, self.default.value)}
        return made

    def _shown_default(self, field: Field, value: object) -> Mapping[str, object]:
        """Return the default for readers of the document, unless it may have hidden properties."""
        if isinstance(value, dict | list):
            return {}
        return {"default": field.serialize(self.name, {}, lambda *_: value)}


def read_property(name: str, declared: Declaration) -> Property | None:
    """Read a property from `{"type": "string", ...}` or from its type alone.

    None, with a reported problem, if it is invalid.
    """
    if not isinstance(declared.value, Mapping):
        declared = declared.with_value({"type": declared.value})
    of_type = FILE_KEYS if str(declared.mapping.get("type")).lower() == FILE else ()
    declared.check_keys((*KEYS, *of_type), NOTES)
    column = declared_column(name, declared.mapping)
    if problem := name_problem(name, column):
        declared.add(problem)
        return None
    type_ = read_type(declared)
    if type_ is None:
        return None
    default = _read_default(declared, type_)
    read_only = declared.flag("readOnly")
    required = _is_required(declared, can_be_set=default is not None or not read_only)
    if required and not read_only and declared.mapping.get("default") == "":
        declared["default"].warn("is ignored: the property is required, and an empty text is none")
        default = None
    return Property(
        name=name,
        column_name=column,
        type=type_,
        required=required,
        read_only=read_only,
        default=default,
        validators=_validators(declared, type_, required),
        hidden=declared.flag("hidden"),
        is_id=bool(declared.mapping.get("id")),
        index=_has_index(declared, type_),
        unique=is_unique(declared.mapping) and type_.name not in JSON_TYPES,
        description=declared.text("description"),
    )


def name_problem(name: str, column: str) -> str:
    """Return why a property cannot have a name, or this column; empty if it can."""
    if not NAME.fullmatch(name) or name in RESERVED:
        reserved = ", ".join(map(repr, RESERVED))
        return (
            f"a name has letters, digits, _, $ and -, at most {MAX_NAME}, and is none of {reserved}"
        )
    return f"its column {column} has over {MAX_NAME} characters" if len(column) > MAX_NAME else ""


def _is_required(declared: Declaration, can_be_set: bool) -> bool:
    required = declared.flag("required")
    if required and not can_be_set:
        declared["required"].warn("is ignored: the property is read-only, without default")
    return required and can_be_set


def _validators(declared: Declaration, type_: PropertyType, required: bool) -> list[Validator]:
    validators = read_validators(declared["validates"], type_)
    is_text = type_.name == "string" and "enum" not in declared.mapping
    return [not_blank, *validators] if required and is_text else validators


def _has_index(declared: Declaration, type_: PropertyType) -> bool:
    """Return True if a property gets an index; PostgreSQL has none for JSON."""
    if not is_indexed(declared.mapping) or declared.mapping.get("id"):
        return False
    if type_.name in JSON_TYPES:
        declared.warn(f"has no index: its type is {type_.name}")
    return type_.name not in JSON_TYPES


def is_unique(declared: JsonObject) -> bool:
    """Return True if a property's values must be unique."""
    index = declared.get("index")
    return bool(declared.get("unique") or (isinstance(index, Mapping) and index.get("unique")))


def column_name(name: str) -> str:
    """Return the name of a column or table for a name in JSON: `ownerId`, `owner_id`."""
    words = "_".join(filter(None, WORDS.split(name))).lower() or "p"
    return f"{words}_" if iskeyword(words) else f"p{words}" if words[0].isdigit() else words


def declared_column(name: str, declared: JsonObject) -> str:
    """Return the name of a property's column, which its declaration may set."""
    for connector in MAPPINGS:
        mapping = declared.get(connector)
        if isinstance(mapping, Mapping) and isinstance(mapping.get("columnName"), str):
            return column_name(mapping["columnName"])
    return column_name(name)


def _read_default(declared: Declaration, type_: PropertyType) -> Default | None:
    """Return the function that returns a property's default, if there is one."""
    function, value = declared.mapping.get("defaultFn"), declared.mapping.get("default")
    if function is None and value == "$now" and type_.name in ("date", "dateonly"):
        function = "now"
    if function is not None:
        return _default_function(function, type_, declared["defaultFn"])
    return None if value is None else _constant_default(declared["default"], type_)


def _constant_default(declared: Declaration, type_: PropertyType) -> Default | None:
    value = declared.value
    if isinstance(value, bool) and type_.name in ("number", "integer"):
        # As in JavaScript.
        declared.warn(f"{str(value).lower()} is taken as {int(value)}")
        value = int(value)
    try:
        return Constant(type_.load(_converted_default(value, type_.name)))
    except ValidationError as error:
        declared.add(error.messages[0])
        return None


def _converted_default(value: object, kind: str) -> object:
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


def _default_function(name: object, type_: PropertyType, declared: Declaration) -> Default | None:
    functions = DEFAULT_FUNCTIONS.get(type_.name, {})
    if isinstance(name, str) and name in functions:
        return functions[name]
    known, meant = ", ".join(functions) or "none", suggest(str(name), functions, MISSPELT)
    declared.add(f"{name!r} is no function for a {type_.name}; there are {known}{meant}")
    return None


def _uuid_text() -> str:
    return str(uuid4())


def _nanoid() -> str:
    return "".join(secrets.choice(NANOID_ALPHABET) for _ in range(NANOID_LENGTH))


DEFAULT_FUNCTIONS: dict[str, dict[str, Default]] = {
    "date": {"now": now},
    "dateonly": {"now": lambda: now().date()},
    "uuid": dict.fromkeys(("guid", "uuid", "uuidv4"), uuid4),
    "string": {
        **dict.fromkeys(("guid", "uuid", "uuidv4"), _uuid_text),
        **dict.fromkeys(("nanoid", "shortid"), _nanoid),
        "now": lambda: iso_time(now()),
    },
}


def embedding_properties(declared: JsonObject, models: KnownModels) -> dict[str, Visibility]:
    """Return what clients see of objects, by the properties that hold them.

    `declared` are the properties in LoopBack 3's form; those without such objects are left out.
    """
    found = {name: visibility_of(property_, models) for name, property_ in declared.items()}
    return {name: visibility for name, visibility in found.items() if visibility}


def visibility_of(declared: object, models: KnownModels) -> Visibility | None:
    """Return what clients see of a property's objects, or of an array's items.

    The type is a model, or declares the objects' properties: `{"type": {"street": "string"}}`.
    """
    if isinstance(declared, Mapping) and declared.get("type"):
        return _of_type(declared["type"], models)
    return _of_type(declared, models)


def _of_type(given: object, models: KnownModels) -> Visibility | None:
    if isinstance(given, list):
        return visibility_of(given[0], models) if given else None
    if isinstance(given, Mapping):
        return Visibility(hidden_properties(given), embedding_properties(given, models))
    if not isinstance(given, str) or given.lower() in NAMES:
        return None
    return models.get(given.lower())


def hidden_properties(declared: JsonObject) -> frozenset[str]:
    """Return the names of properties declared as hidden."""
    return frozenset(
        name
        for name, property_ in declared.items()
        if isinstance(property_, Mapping) and property_.get("hidden") in (True, "true")
    )
