"""Distances between positions, for the filter `near`."""

from collections.abc import Mapping
from math import pi, sin
from typing import Any, NamedTuple

from sqlalchemy import Column, ColumnElement, Float, cast

from app.database.columns import unit_vector
from app.database.dialects import JsonValue
from app.errors import InvalidFilter
from app.rest.fields.json import parse_position

from .operands import coerce

# The mean radius of the earth (IUGG 1980), in each unit; LoopBack 3's default is miles.
RADIUS = {
    "miles": 3958.7613,
    "kilometers": 6371.0088,
    "meters": 6371008.8,
    "feet": 20902260.0,
    "radians": 1.0,
    "degrees": 180 / pi,
}
KEYS = {"near", "maxDistance", "minDistance", "unit"}


class Near(NamedTuple):
    """A condition on the distance from a position, and the order of the nearest first."""

    condition: ColumnElement[bool]
    order: ColumnElement[Any]


def parse_near(name: str, column: Column[Any], given: Mapping[str, Any]) -> Near:
    """Read `{"near": ..., "maxDistance": ..., "unit": ...}`; raise InvalidFilter."""
    try:
        vector = unit_vector(parse_position(given["near"]))
    except ValueError:
        example = '{"lat": 52.5, "lng": 13.4}'
        raise InvalidFilter(f"{name}.near must be a position like {example}.") from None
    unit = given.get("unit", "miles")
    if not isinstance(unit, str) or unit not in RADIUS:
        raise InvalidFilter(f"{name}.unit must be one of {', '.join(RADIUS)}.")
    square = _squared_chord(column, vector)
    condition: ColumnElement[bool] = column.is_not(None)
    for key in ("maxDistance", "minDistance"):
        if key in given:
            limit = _chord(coerce(f"{name}.{key}", Float(), given[key]) / RADIUS[unit]) ** 2
            condition &= square <= limit if key == "maxDistance" else square >= limit
    return Near(condition, square)


def _chord(angle: float) -> float:
    """Return the length of the chord of an angle in radians, on a sphere of radius 1."""
    return 2 * sin(min(max(angle, 0), pi) / 2)


def _squared_chord(column: Column[Any], vector: dict[str, float]) -> ColumnElement[float]:
    x, y, z = (cast(JsonValue(column, [name]), Float(53)) - value for name, value in vector.items())
    return x * x + y * y + z * z
