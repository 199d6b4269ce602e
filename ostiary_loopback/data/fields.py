"""The properties of a model, converted to the columns of its table."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import tzinfo
from typing import Any

import marshmallow

from app.properties.properties import Property

from .batches import UNREADABLE, Values
from .moved import Moved, Refused
from .sources.base import Row
from .values import Convert, InvalidValue, converter, is_rounded

NOTE = "kept"


@dataclass(frozen=True)
class Field:
    """A property, with the functions that convert its values and validate them."""

    property: Property
    convert: Convert
    validators: list[Callable[[Any], object]]


class Fields:
    """Converts the properties of rows; counts those that the model does not have."""

    def __init__(
        self, model: str, properties: Iterable[Property], zone: tzinfo, moved: Moved
    ) -> None:
        self._model = model
        self._moved = moved
        self._fields = [
            Field(own, converter(own, zone), list(own.field().validators)) for own in properties
        ]
        self._names = {own.property.name for own in self._fields}

    def convert(self, row: Row, label: object) -> Values:
        """Return the values of the columns; raise Refused."""
        values: Values = {}
        for own in self._fields:
            name, column = own.property.name, own.property.column_name
            value = row.get(name)
            try:
                values[column] = None if value is None else own.convert(value)
            except InvalidValue as error:
                raise Refused(f"{name} {error}") from None
            except UNREADABLE:
                raise Refused(f"{name} has a value out of range") from None
            if values[column] is None:
                values[column] = self._default(own.property, label)
                continue
            if is_rounded(value, values[column]):
                text = f"{name} of rows has more digits than a number holds, and is rounded"
                self._moved.add(self._model, NOTE, text, label)
            if own.validators:
                self._validate(own, values[column], label)
        return values

    def unknown(self, row: Row, known: Iterable[str] = ()) -> dict[str, Any]:
        """Return the values of properties that the model does not have."""
        names = {*self._names, *known}
        return {key: value for key, value in row.items() if key not in names and value is not None}

    def count_unknown(self, row: Row, known: Iterable[str], label: object) -> None:
        """Count the properties that are lost, each by its name."""
        for name in self._unknown_names(row, known):
            text = f"rows have {name[:100]!r}, which the model does not declare"
            self._moved.add(self._model, "lost", text, label)

    def _unknown_names(self, row: Row, known: Iterable[str]) -> list[str]:
        if row.keys() <= self._names:
            return []
        return list(self.unknown(row, known))

    def _default(self, property_: Property, label: object) -> object:
        """Return the value for a property that a row lacks."""
        if not property_.required:
            return None
        if property_.default is None:
            raise Refused(f"{property_.name} is required and has no value")
        text = f"rows lack {property_.name}, which is required: they get its default"
        self._moved.add(self._model, NOTE, text, label)
        return property_.default()

    def _validate(self, own: Field, value: object, label: object) -> None:
        """Record a value that is kept, although the model would refuse it in a request."""
        try:
            for validator in own.validators:
                validator(value)
        except marshmallow.ValidationError:
            text = f"rows have a {own.property.name} that the model would refuse today"
            self._moved.add(self._model, NOTE, text, label)
        except TypeError:
            # The validator expects JSON values.
            return
