"""Indexes of models in JSON over one or several properties, in the forms of LoopBack 3."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from sqlalchemy import String

from app.properties.declaration import Declaration, JsonObject
from app.properties.properties import JSON_TYPES, Property, column_name, declared_column
from app.properties.types import INDEXED_TEXT, MAX_INDEXED

from .keys import IdProperty

# The keys that hold the properties of an index; otherwise it is an object of them.
LISTS = ("keys", "columns")
# The directions of a property in an index; each one serves queries in both.
DIRECTIONS = (1, -1, True, "1", "-1", "ASC", "DESC", "asc", "desc")
# Options of MongoDB by which rows expire, or an index has some of the rows only.
WITHOUT_EFFECT = ("expireAfterSeconds", "partialFilterExpression")


class DeclaredIndex(NamedTuple):
    """An index as declared, over properties that are named by themselves or by their columns."""

    declared: Declaration
    names: tuple[str, ...]
    is_unique: bool

    @property
    def text_length(self) -> int:
        """The maximum characters of a text in the index that declares no length."""
        return min(INDEXED_TEXT, MAX_INDEXED // len(self.names))


class TableIndex(NamedTuple):
    """An index of a table."""

    columns: tuple[str, ...]
    is_unique: bool = False


def read_indexes(declared: Declaration) -> list[DeclaredIndex]:
    """Read `indexes`, such as `{"pair": {"keys": {"a": 1, "b": 1}, "options": {"unique": true}}}`.

    A null or false removes the index of the base.
    """
    indexes = declared.entries().values()
    read = [_read(index) for index in indexes if index.value not in (None, False)]
    return [index for index in read if index]


def with_index_length(
    name: str, property_: Declaration, indexes: Iterable[DeclaredIndex]
) -> Declaration:
    """Return the declaration of a property, with a length for texts if an index has it."""
    declared = property_.mapping or {"type": property_.value}
    columns = {column_name(name), declared_column(name, declared)}
    lengths = [
        index.text_length for index in indexes if columns & set(map(column_name, index.names))
    ]
    if not lengths or declared.get("length"):
        return property_
    return property_.with_value({**declared, "length": min(lengths)})


def table_indexes(
    indexes: Iterable[DeclaredIndex], id: IdProperty, properties: Mapping[str, Property]
) -> list[TableIndex]:
    """Return the indexes of a model's table; report those that cannot be made."""
    columns = {"id": id.name, **{each.column_name: name for name, each in properties.items()}}
    made = dict[tuple[str, ...], TableIndex]()
    for index in indexes:
        names = [
            name if name in properties else columns.get(column_name(name), name)
            for name in index.names
        ]
        if reason := _reason_against(names, id, properties):
            index.declared.warn(f"is not made: {reason}")
            continue
        _check_length(index.declared, names, properties)
        key = tuple(
            "id" if name == id.name else properties[name].column_name
            for name in dict.fromkeys(names)
        )
        is_unique = index.is_unique or (key in made and made[key].is_unique)
        made[key] = TableIndex(key, is_unique)
    single = {each.column_name: each for each in properties.values()}
    return [index for index in made.values() if not _is_made(index, single)]


def _read(index: Declaration) -> DeclaredIndex | None:
    given = next((index[key] for key in LISTS if _is_list(index.mapping, key)), index)
    names, is_unique = _names(given.value), given is not index and _is_unique(index)
    others = [kind for kind in given.mapping.values() if kind not in DIRECTIONS]
    if names and not others:
        return DeclaredIndex(index, names, is_unique)
    if names:
        index.warn(f"is not made: there are no indexes of the kind {others[0]!r}")
    else:
        index.add('must name properties, as in "a, b", {"a": 1, "b": 1} or {"keys": {"a": 1}}')
    return None


def _is_list(index: JsonObject, key: str) -> bool:
    return isinstance(index.get(key), str | list | Mapping)


def _names(given: object) -> tuple[str, ...]:
    """Return the names in a text, a list or an object; none if there is anything else in it."""
    names = given.split(",") if isinstance(given, str) else given
    if not isinstance(names, list | Mapping) or not all(isinstance(name, str) for name in names):
        return ()
    return tuple(name.strip() for name in names if name.strip())


def _is_unique(index: Declaration) -> bool:
    """Return True if an index is unique; warn of options that change what it does."""
    options = index["options"]
    for name in WITHOUT_EFFECT:
        if name in options.mapping:
            options[name].warn("is without effect")
    is_unique = [declared.flag("unique") for declared in (index, options)]
    return any(is_unique) or str(index.mapping.get("kind")).lower() == "unique"


def _reason_against(
    names: Iterable[str], id: IdProperty, properties: Mapping[str, Property]
) -> str:
    """Return why an index over these properties cannot be made; empty if it can."""
    for name in names:
        if name == id.name:
            continue
        if name not in properties:
            return f"there is no property {name!r}"
        if (type_ := properties[name].type.name) in JSON_TYPES:
            return f"the type of {name} is {type_}"
    return ""


def _check_length(
    declared: Declaration, names: Iterable[str], properties: Mapping[str, Property]
) -> None:
    types = [properties[name].type.column_type for name in names if name in properties]
    length = sum(type_.length or 0 for type_ in types if isinstance(type_, String))
    if length > MAX_INDEXED:
        declared.add(
            f"its texts have up to {length:,} characters together, and those of an index at most"
            f" {MAX_INDEXED}: give them a shorter length"
        )


def _is_made(index: TableIndex, by_column: Mapping[str, Property]) -> bool:
    """Return True if the id, or a single property by its declaration, has such an index."""
    [first, *more] = index.columns
    if more or first not in by_column:
        return index.columns == ("id",)
    property_ = by_column[first]
    return property_.unique or (property_.index and not index.is_unique)
