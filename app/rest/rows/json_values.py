"""Values in JSON columns: undeclared properties, and objects of which clients see only a part."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

import marshmallow
from marshmallow import pre_load
from werkzeug.exceptions import Conflict

from app.errors import OVERTAKEN, ValidationError
from app.fields.base import Schema
from app.fields.json import MAX_LENGTH, Object, check_json
from app.rest.filters.tree import OTHERS
from app.rest.visibility import Visibility

from .repository import Repository
from .values import Row, Values
from .writer import Check

# The attribute of OTHERS, the property that holds undeclared ones; clients see neither.
OTHERS_ATTRIBUTE = "others_"
# Values without an object in which something could be kept.
EMPTY: Sequence[object] = (None, [])


class OpenSchema(Schema):
    """A schema that keeps undeclared properties, with `strict: false`."""

    # Names that no such property may have: those of relations and of hidden properties. The
    # attribute's name ends with _, so that it is not a property's name.
    reserved_: Collection[str] = ()
    others_ = Object(data_key=OTHERS, load_default=dict)

    @pre_load
    def collect(self, data: object, **_options: object) -> object:
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
    values[OTHERS_ATTRIBUTE] = {
        **(getattr(find_row(), OTHERS_ATTRIBUTE) or {}),
        **values[OTHERS_ATTRIBUTE],
    }
    try:
        check_json(Object(), values[OTHERS_ATTRIBUTE])
    except marshmallow.ValidationError:
        text = f"is too long (maximum is {MAX_LENGTH} characters of JSON with the others)"
        raise ValidationError({OTHERS: [text]}) from None


@dataclass(frozen=True)
class EmbeddedObjects:
    """Completes changes of properties whose objects clients see only in part.

    `properties` has the attribute and visibility of each.
    """

    rows: Repository
    properties: Mapping[str, tuple[str, Visibility]]

    def complete(
        self, body: Values, find_row: Callable[[], Row], check: Check | None
    ) -> tuple[Values, Check | None]:
        """Return the body of a change completed by the row's hidden values, and its check.

        The check includes the given one, and raises Conflict if the hidden values have changed.
        Nothing is read if the body has no such objects.
        """
        if all(body.get(name) in EMPTY for name in self.properties):
            return body, check
        complete = self._kept(body, find_row())

        def check_kept(row: Row) -> None:
            if check is not None:
                check(row)
            if self._kept(body, row) != complete:
                raise Conflict(OVERTAKEN)

        return complete, check_kept

    def check_common(self, values: Values) -> None:
        """Raise ValidationError for a change of many rows that sets such objects."""
        for name, (attribute, _) in self.properties.items():
            if values.get(attribute) not in EMPTY:
                raise ValidationError({name: ["can be changed by its id only"]})

    def _kept(self, body: Values, row: Row) -> Values:
        """Return a body completed by the hidden values of a row's objects."""
        kept: dict[str, object] = {
            name: visibility.keep(body[name], self.rows.value(row, attribute))
            for name, (attribute, visibility) in self.properties.items()
            if body.get(name) not in EMPTY
        }
        return {**body, **kept}
