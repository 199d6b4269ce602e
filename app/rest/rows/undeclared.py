"""Undeclared properties of a model, kept in one JSON column: `strict: false`."""

from collections.abc import Callable, Collection
from typing import Any

import marshmallow
from marshmallow import pre_load

from app.errors import ValidationError
from app.fields.base import Schema
from app.fields.json import MAX_LENGTH, Object, check_json
from app.rest.filters.tree import OTHERS

from .values import Values

# The attribute of OTHERS, the property that holds them; clients see neither.
ATTRIBUTE = "others_"


class OpenSchema(Schema):
    """A schema that keeps unknown properties."""

    # Names that no such property may have: those of relations and of hidden properties. The
    # attribute's name ends with _, so that it is not a property's name.
    reserved_: Collection[str] = ()
    others_ = Object(data_key=OTHERS, load_default=dict)

    @pre_load
    def collect(self, data: Any, **_options: object) -> Any:
        """Move the unknown properties into OTHERS."""
        if not isinstance(data, dict):
            return data
        known = {field.data_key or name for name, field in self.fields.items()} - {OTHERS}
        kept = {name: value for name, value in data.items() if name in {*known, *self.reserved_}}
        others = {name: value for name, value in data.items() if name not in kept}
        return {**kept, OTHERS: others} if others else kept


def flatten(dumped: Values) -> Values:
    """Return a row's JSON object with its undeclared properties among the others."""
    return {**(dumped.pop(OTHERS, None) or {}), **dumped}


def merge_others(values: Values, find_row: Callable[[], object]) -> None:
    """Merge a change's undeclared properties with the row's; raise ValidationError."""
    values[ATTRIBUTE] = {**(getattr(find_row(), ATTRIBUTE) or {}), **values[ATTRIBUTE]}
    try:
        check_json(Object(), values[ATTRIBUTE])
    except marshmallow.ValidationError:
        text = f"is too long (maximum is {MAX_LENGTH} characters of JSON with the others)"
        raise ValidationError({OTHERS: [text]}) from None
