"""SQL for what a JSON column holds: the value at a path, and the items of an array.

Both databases tell text, numbers and booleans apart, and a value of another type than the operand's
is as if there were none.
"""

import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from sqlalchemy import (
    Boolean,
    Column,
    ColumnElement,
    Float,
    String,
    case,
    cast,
    false,
    func,
    or_,
    type_coerce,
)

from app.database.columns import GeoPoint, Json, Jsonb
from app.database.session import db
from app.errors import InvalidFilter, quote

#: Names after the first one in a path such as `address.city`.
MAX_STEPS = 5
STEP = re.compile(r"[A-Za-z_$][\w$-]{0,63}", re.ASCII)
NUMBERS = ("integer", "real")


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
        return self._extracted().is_(None)

    def as_type(self, kind: type) -> ColumnElement[Any]:
        """Return the value if it has the type (str, float or bool), else NULL."""
        return {str: self._as_text, float: self._as_number, bool: self._as_boolean}[kind]()

    def _as_text(self) -> ColumnElement[Any]:
        is_text = self._type().in_(["text", "string"])
        return type_coerce(case((is_text, self._extracted())), String)

    def _as_number(self) -> ColumnElement[Any]:
        if _is_sqlite():
            return type_coerce(case((self._type().in_(NUMBERS), self._extracted())), Float)
        return case((self._type() == "number", cast(self._extracted(), Float(53))))

    def _as_boolean(self) -> ColumnElement[Any]:
        if _is_sqlite():
            return case((self._type() == "true", True), (self._type() == "false", False))
        return case((self._type() == "boolean", cast(self._extracted(), Boolean)))

    def _extracted(self) -> ColumnElement[Any]:
        """Return the value: text on PostgreSQL, a value of its type on SQLite."""
        if _is_sqlite():
            return func.json_extract(self.column, self._sqlite_path(), type_=String)
        return func.json_extract_path_text(self.column, *self.steps, type_=String)

    def _type(self) -> ColumnElement[str]:
        if _is_sqlite():
            return func.json_type(self.column, self._sqlite_path(), type_=String)
        return func.json_typeof(func.json_extract_path(self.column, *self.steps), type_=String)

    def _sqlite_path(self) -> str:
        return "$" + "".join(f'."{step}"' for step in self.steps)


def has_item(column: ColumnElement[Any], wanted: Sequence[str | float]) -> ColumnElement[bool]:
    """Return the condition that a JSON array has an item that equals one of these scalars."""
    if not _is_sqlite():
        lists = [cast(type_coerce(json.dumps([each]), String), Jsonb) for each in wanted]
        return or_(false(), *(cast(column, Jsonb).bool_op("@>")(each) for each in lists))
    # All in one look at the items, which takes long.
    items = func.json_each(column).table_valued("value", "type")
    texts = [each for each in wanted if isinstance(each, str)]
    numbers = [each for each in wanted if not isinstance(each, str)]
    # An IN of no values is a subquery for each item.
    given = [(values, types) for values, types in ((texts, ["text"]), (numbers, NUMBERS)) if values]
    is_equal = [items.c.value.in_(values) & items.c.type.in_(types) for values, types in given]
    # Without rows there is no item; without an array there is no answer.
    return case((column.is_not(None), items.select().where(or_(*is_equal)).exists()))


def is_json(column: Column[Any]) -> bool:
    """Tell whether a column holds JSON: objects, arrays or positions."""
    return isinstance(column.type, Json | GeoPoint)


def _is_sqlite() -> bool:
    return db.engine.dialect.name == "sqlite"
