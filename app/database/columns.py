"""Column types for values that databases store differently: decimals, JSON, positions, times."""

from datetime import UTC, datetime
from decimal import Decimal
from math import cos, radians, sin
from typing import Any, NamedTuple

from sqlalchemy import JSON, Column, DateTime, Dialect, Numeric
from sqlalchemy.types import TypeDecorator, TypeEngine

from .decimals import exact
from .dialects import decimal_type, has_decimals

# A column of any type.
AnyColumn = Column[Any]

#: Maximum digits of a decimal: SQLite stores it as a 64-bit integer.
MAX_PRECISION = 18


class ExactDecimal(TypeDecorator[Decimal]):
    """A decimal of at most `precision` digits, `scale` of them after the point; never rounded.

    NUMERIC on PostgreSQL; on SQLite, whose NUMERIC is a float, an integer in units of the last
    digit.
    """

    impl = Numeric
    cache_ok = True
    python_type = Decimal

    def __init__(self, precision: int = MAX_PRECISION, scale: int = 2) -> None:
        if not 0 <= scale <= precision <= MAX_PRECISION:
            raise ValueError(f"a decimal has at most {MAX_PRECISION} digits, and no fewer decimals")
        super().__init__(precision, scale)
        self.precision, self.scale = precision, scale

    @property
    def storage(self) -> TypeEngine[Any]:
        """The column type of the database."""
        return decimal_type(self.precision, self.scale)

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """Return the column type of the database."""
        return dialect.type_descriptor(self.storage)

    @property
    def whole_digits(self) -> int:
        """The maximum number of digits before the point."""
        return self.precision - self.scale

    def process_bind_param(self, value: Decimal | None, dialect: Dialect) -> object:
        """Return the value to store; raise ValueError if it does not fit."""
        if value is None:
            return None
        exact = self.exact(value)
        return exact if has_decimals(dialect) else int(exact.scaleb(self.scale))

    def process_result_value(self, value: Any, dialect: Dialect) -> Decimal | None:
        """Return the decimal with `scale` digits after the point."""
        if value is None:
            return None
        return Decimal(value).scaleb(0 if has_decimals(dialect) else -self.scale)

    def exact(self, value: Decimal) -> Decimal:
        """Return the value with `scale` digits after the point; raise ValueError for more."""
        return exact(value, self.whole_digits, self.scale)


class Json(TypeDecorator[Any]):
    """A JSON value: an object (`Json(dict)`), an array (`Json(list)`), or any (`Json(object)`).

    Filters compare the items of an array with texts by default, with numbers if `items` is float,
    with booleans if it is bool, and with texts and numbers if it is object.
    """

    impl = JSON
    cache_ok = True

    def __init__(self, kind: type[object] = dict, items: type[object] = str) -> None:
        super().__init__(none_as_null=True)
        self.kind, self.items = kind, items

    @property
    def python_type(self) -> type[Any]:
        """The type of its values."""
        return self.kind


class Position(dict[str, float]):
    """A position on Earth: `lat` and `lng` in degrees."""


class GeoPoint(TypeDecorator[Position]):
    """A position, stored as JSON with its unit vector, so that distances need no trigonometry."""

    impl = JSON
    cache_ok = True
    python_type = Position

    def __init__(self) -> None:
        super().__init__(none_as_null=True)

    def process_bind_param(self, value: Position | None, dialect: Dialect) -> object:
        """Return the position with its unit vector."""
        return None if value is None else {**value, **unit_vector(value)}

    def process_result_value(self, value: Any, dialect: Dialect) -> Position | None:
        """Return the position without the vector."""
        return None if value is None else Position(lat=value["lat"], lng=value["lng"])


class StoredFile(NamedTuple):
    """A file of a row: its place in a store, and what its sender has said of it."""

    store: str
    container: str
    # Its name in the container, which cannot be guessed.
    key: str
    # The name and type that the sender has given it, and its bytes.
    name: str
    type: str
    size: int


class FileReference(TypeDecorator[StoredFile]):
    """The file of a row, stored as JSON; its bytes are in a store."""

    impl = JSON
    cache_ok = True
    python_type = StoredFile

    def __init__(self) -> None:
        super().__init__(none_as_null=True)

    def process_bind_param(self, value: StoredFile | None, dialect: Dialect) -> object:
        """Return the JSON object of a file."""
        return None if value is None else value._asdict()

    def process_result_value(self, value: Any, dialect: Dialect) -> StoredFile | None:
        """Return the file of a JSON object."""
        return None if value is None else StoredFile(**value)


def unit_vector(position: Position) -> dict[str, float]:
    """Return the coordinates of a position on a sphere of radius 1."""
    lat, lng = radians(position["lat"]), radians(position["lng"])
    return {"x": cos(lat) * cos(lng), "y": cos(lat) * sin(lng), "z": sin(lat)}


class UtcDateTime(TypeDecorator[datetime]):
    """An aware datetime, stored and returned in UTC on every database."""

    impl = DateTime(timezone=True)
    cache_ok = True
    python_type = datetime

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Convert an aware datetime to UTC; raise ValueError for a naive one."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("a naive datetime has no time zone")
        return value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Return the value in UTC; SQLite returns naive values, which are UTC."""
        if value is None or value.tzinfo is UTC:
            return value
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
