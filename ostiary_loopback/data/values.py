"""Values as connectors store them, converted to those of our columns."""

import json
import re
import struct
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from decimal import Decimal, InvalidOperation
from functools import partial
from math import isfinite
from typing import Any
from uuid import UUID

from sqlalchemy import String

from app.database.columns import ExactDecimal
from app.database.ids import IdColumn
from app.fields.base import MAX_SAFE
from app.fields.json import parse_position
from app.fields.parsing import parse_time
from app.ids import IdForm
from app.properties.properties import Property
from app.times import in_milliseconds, iso_time

Convert = Callable[[object], object]

TRUE = (True, 1, "1", "true", "t", "y", "yes", b"\x01")
FALSE = (False, 0, "0", "false", "f", "n", "no", "", b"\x00")
# PostgreSQL's text of a point: (x,y), which LoopBack writes as longitude and latitude.
POINT = re.compile(r"\(([-+.\deE]+),([-+.\deE]+)\)", re.ASCII)
# MySQL's value for a missing time.
ZERO_TIME = "0000-00-00"
#: Maximum levels of objects and arrays in an imported value.
MAX_DEPTH = 100
# The largest integer of 64 bits.
MAX_INTEGER = 2**63 - 1
BLANK = {None, ""}
REGEXP_FLAGS = (("i", re.IGNORECASE), ("m", re.MULTILINE), ("s", re.DOTALL), ("x", re.VERBOSE))
SCALARS: Sequence[tuple[type, Callable[[Any], object]]] = (
    (Decimal, float),
    (bytes, lambda value: b64encode(value).decode()),
    (timedelta, timedelta.total_seconds),
)


class InvalidValue(ValueError):  # noqa: N818
    """A value that a column cannot hold; the text says why, without the value."""


def converter(property_: Property, zone: tzinfo) -> Convert:
    """Return the function that converts the values of a property.

    It raises InvalidValue. Times without a zone are in `zone`.
    """
    column_type, name = property_.type.column_type, property_.type.name
    if isinstance(column_type, IdColumn):
        return partial(to_id, column_type.form)
    if isinstance(column_type, ExactDecimal):
        return partial(_to_decimal, column_type)
    if name == "date":
        return partial(to_time, zone)
    if isinstance(column_type, String):
        return partial(to_text, column_type.length)
    return CONVERTERS[name]


def to_id(form: IdForm, value: object) -> object:
    """Return an id in the form of its column."""
    if value in BLANK if isinstance(value, str | None) else False:
        return None
    found = None
    if not isinstance(value, bool):
        try:
            found = form.parse(_id_text(value))
        except (ValueError, OverflowError):
            found = None
    if found is None:
        raise InvalidValue(f"is not {form.description}")
    return found


def _id_text(value: object) -> str:
    if isinstance(value, float | Decimal) and value == int(value):
        value = int(value)
    return value.decode("ascii", "replace") if isinstance(value, bytes) else to_text(None, value)


def to_text(length: int | None, value: object) -> str:
    """Return a value as text; numbers as JavaScript writes them."""
    if isinstance(value, str):
        text = value
    elif isinstance(value, bool):
        text = str(value).lower()
    elif isinstance(value, float) and value.is_integer() and abs(value) < 1e21:
        text = str(int(value))
    elif isinstance(value, dict | list):
        text = json.dumps(to_json(value))
    else:
        plain = to_json(value)
        text = plain if isinstance(plain, str) else str(plain)
    if length is not None and len(text) > length:
        raise InvalidValue(f"is too long (maximum is {length} characters)")
    if "\0" in text or (not text.isascii() and _has_surrogates(text)):
        raise InvalidValue("has a character that no database holds")
    return text


def _has_surrogates(text: str) -> bool:
    return any("\ud800" <= character <= "\udfff" for character in text)


def to_number(value: object) -> float:
    """Return a number, which may be stored as text."""
    try:
        number = float(_decimal(value))  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        raise InvalidValue("is not a number") from None
    if not isfinite(number):
        raise InvalidValue("is not a number")
    return number


def is_rounded(value: object, number: object) -> bool:
    """Return True if a 64-bit number lacks digits of the value that it was converted from."""
    if not isinstance(number, float) or isinstance(value, float | bool):
        return False
    if isinstance(value, int) and abs(value) <= MAX_SAFE:
        return False
    try:
        return Decimal(str(value).strip()) != Decimal(repr(number))
    except InvalidOperation:
        return False


def _decimal(value: object) -> object:
    """Return BSON's Decimal128 as a decimal; anything else unchanged."""
    return value.to_decimal() if type(value).__name__ == "Decimal128" else value  # type: ignore[attr-defined]


def _to_integer(value: object) -> int:
    value = _decimal(value)
    try:
        exact = Decimal(value.strip() if isinstance(value, str) else value)  # type: ignore[arg-type]
        # The digits of a text such as 1e999999999 would fill the memory.
        is_whole = abs(exact) <= MAX_INTEGER and exact == exact.to_integral_value()
        number = int(exact) if is_whole else None
    except (TypeError, ValueError, InvalidOperation, OverflowError):
        number = None
    if number is None:
        raise InvalidValue("is not a whole number of 64 bits")
    return number


def _to_decimal(column_type: ExactDecimal, value: object) -> Decimal:
    try:
        return column_type.exact(Decimal(str(value)))
    except InvalidOperation:
        raise InvalidValue("is not a number") from None
    except ValueError as error:
        raise InvalidValue(str(error)) from None


def to_boolean(value: object) -> bool:
    """Return a truth value, which MySQL stores as a number."""
    known = value.lower() if isinstance(value, str) else value
    if known in TRUE:
        return True
    if known in FALSE:
        return False
    raise InvalidValue("is neither true nor false")


def to_time(zone: tzinfo, value: object) -> datetime | None:
    """Return a point in time; None for MySQL's zero."""
    if value == "" or (isinstance(value, str) and value.startswith(ZERO_TIME)):
        return None
    try:
        found = _read_time(value)
        found = (found.replace(tzinfo=zone) if found.tzinfo is None else found).astimezone(UTC)
        # With the precision of JSON, and of all other stored times.
        return in_milliseconds(found)
    except (ValueError, OverflowError, TypeError):
        raise InvalidValue("is not a time") from None


def _read_time(value: object) -> datetime:
    if isinstance(value, datetime):
        return value
    if isinstance(value, date):
        return datetime.combine(value, time())
    if isinstance(value, Decimal):
        value = int(value)
    if isinstance(value, str) and value[:4].isdigit() and not value.isdigit():
        return datetime.fromisoformat(value)
    return parse_time(value)


def _to_date(value: object) -> date | None:
    if isinstance(value, date) and not isinstance(value, datetime):
        return value
    if isinstance(value, str) and len(value) == len("2026-01-02") and value != ZERO_TIME:
        try:
            return date.fromisoformat(value)
        except ValueError:
            raise InvalidValue("is not a date") from None
    found = to_time(UTC, value)
    return None if found is None else found.date()


def _to_uuid(value: object) -> UUID:
    if isinstance(value, UUID):
        return value
    try:
        return UUID(bytes=value) if isinstance(value, bytes) else UUID(str(value))
    except ValueError:
        raise InvalidValue("is not a UUID") from None


def _to_position(value: object) -> object:
    try:
        return parse_position(_point(_parsed(value)))
    except ValueError:
        raise InvalidValue("is not a position") from None


def _point(value: object) -> object:
    """Return a position of PostgreSQL or MySQL, or in GeoJSON, as an object."""
    if isinstance(value, bytes):
        # Four bytes of the reference system, the order of bytes, the kind, x and y.
        if len(value) != 25:
            raise ValueError("not a point")
        lng, lat = struct.unpack("<dd" if value[4] else ">dd", value[9:])
        return {"lat": lat, "lng": lng}
    if isinstance(value, str) and (found := POINT.fullmatch(value.replace(" ", ""))):
        return {"lat": float(found[2]), "lng": float(found[1])}
    if isinstance(value, Mapping) and isinstance(value.get("coordinates"), list):
        value = value["coordinates"]
    if isinstance(value, list) and len(value) == 2:
        return {"lat": value[1], "lng": value[0]}
    if isinstance(value, Mapping):
        return {"lat": value.get("lat"), "lng": value.get("lng")}
    return value


def _to_object(value: object) -> object:
    return checked_json(_parsed(value))


def _to_array(value: object) -> object:
    found = _parsed(value)
    if not isinstance(found, list):
        raise InvalidValue("is not an array")
    return checked_json(found)


def _parsed(value: object) -> object:
    """Parse a text as JSON: MySQL and PostgreSQL may store JSON in columns of text."""
    if not isinstance(value, str) or value[:1] not in '{["':
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def checked_json(value: object) -> object:
    """Return a value as JSON that databases can store; raise InvalidValue."""
    try:
        found = to_json(value)
        written = json.dumps(found, ensure_ascii=False, allow_nan=False)
    except InvalidValue:
        raise
    except (ValueError, ArithmeticError, RecursionError):
        raise InvalidValue("is not JSON") from None
    if "\\u0000" in written or _has_surrogates(written):
        raise InvalidValue("has a character that no database holds")
    return found


def to_json(value: object, depth: int = 0) -> Any:
    """Return a value as JSON, with times and ObjectIds as texts; raise InvalidValue."""
    if depth > MAX_DEPTH:
        raise InvalidValue("is nested too deeply")
    if value is None or isinstance(value, str | bool | int | float):
        # BSON's 64-bit integers are a subclass.
        return int(value) if isinstance(value, int) and not isinstance(value, bool) else value
    if isinstance(value, Mapping):
        return {str(key): to_json(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(item, depth + 1) for item in value]
    return _written(value)


def _written(value: object) -> object:
    """Return the JSON form of a value whose type JSON does not have."""
    if isinstance(value, datetime):
        aware = value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
        return iso_time(aware)
    for type_, convert in SCALARS:
        if isinstance(value, type_):
            return convert(value)
    # By name, as the BSON library may not be installed.
    if convert_bson := BSON.get(type(value).__name__):
        return convert_bson(value)
    return str(value)


def _regexp(value: Any) -> str:
    """Return a regular expression as JavaScript writes it: `/^a/i`."""
    flags = "".join(letter for letter, flag in REGEXP_FLAGS if value.flags & flag)
    return f"/{value.pattern}/{flags}"


def _reference(value: Any) -> object:
    """Return a reference to a document as MongoDB writes it: `{"$ref": ..., "$id": ...}`."""
    return to_json(value.as_doc())


def _refuse(reason: str) -> Convert:
    def refuse(_value: object) -> object:
        raise InvalidValue(reason)

    return refuse


# Types of BSON that JSON does not have; ObjectIds and decimals are written as their text.
BSON: Mapping[str, Convert] = {
    "Regex": _regexp,
    "DBRef": _reference,
    # A time that Python cannot represent.
    "DatetimeMS": _refuse("has a time out of range"),
    **dict.fromkeys(("MinKey", "MaxKey", "Timestamp"), _refuse("has a type of MongoDB alone")),
}


CONVERTERS: Mapping[str, Convert] = {
    "number": to_number,
    "integer": _to_integer,
    "boolean": to_boolean,
    "dateonly": _to_date,
    "uuid": _to_uuid,
    "object": _to_object,
    "any": _to_object,
    "array": _to_array,
    "geopoint": _to_position,
}
