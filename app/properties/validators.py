"""Validators of a property, from its `validates`: length, format, in, min and max."""

from collections.abc import Callable, Mapping
from typing import Any

from marshmallow import ValidationError, validate

from .declaration import Declaration
from .formats import Format
from .types import PropertyType

Validator = Callable[[Any], object]

TEXTS, NUMBERS = ("string",), ("number", "integer", "decimal")


def read_validators(declared: Declaration, type_: PropertyType) -> list[Validator]:
    """Return the validators of a property."""
    if not isinstance(declared.value, Mapping | None):
        declared.add(f"must be an object with {', '.join(READERS)}")
        return []
    declared.check_keys(READERS)
    found = [_read(key, declared[key], type_) for key in declared.mapping if key in READERS]
    return [validator for validator in found if validator is not None]


def _read(key: str, declared: Declaration, type_: PropertyType) -> Validator | None:
    types, read = READERS[key]
    if type_.name not in types:
        declared.add(f"is for {', '.join(types)}")
        return None
    try:
        return read(declared.value, type_)
    except ValueError as error:
        declared.add(str(error))
        return None


def _length(declared: object, type_: PropertyType) -> Validator:
    if not isinstance(declared, Mapping) or not declared or declared.keys() - {"min", "max", "is"}:
        raise ValueError("must be an object with min, max or is")
    if any(type(value) is not int or value < 0 for value in declared.values()):
        raise ValueError("must be whole numbers")
    exact = declared.get("is")
    return _Length(declared.get("min", exact), declared.get("max", exact))


class _Length(validate.Length):
    """The limits on a text's length, with the same messages as all schemas."""

    def __call__(self, value: Any) -> Any:
        """Raise ValidationError for a text that is too short or too long."""
        if self.min is not None and len(value) < self.min:
            raise ValidationError(f"is too short (minimum is {self.min} characters)")
        if self.max is not None and len(value) > self.max:
            raise ValidationError(f"is too long (maximum is {self.max} characters)")
        return value


def _format(declared: object, type_: PropertyType) -> Validator:
    pattern = declared.get("with") if isinstance(declared, Mapping) else declared
    if not isinstance(pattern, str):
        raise ValueError("must be a regular expression")
    return Format(pattern, type_.make_field().max_length)  # type: ignore[attr-defined]


def _in(declared: object, type_: PropertyType) -> Validator:
    if not isinstance(declared, list) or not declared:
        raise ValueError("must be a list of values")
    values = [_of_type(value, type_) for value in declared]
    return validate.OneOf(values, error="must be one of {choices}")


def _min(declared: object, type_: PropertyType) -> Validator:
    return validate.Range(min=_of_type(declared, type_), error="must be at least {min}")


def _max(declared: object, type_: PropertyType) -> Validator:
    return validate.Range(max=_of_type(declared, type_), error="must be at most {max}")


def _of_type(value: object, type_: PropertyType) -> object:
    try:
        return type_.load(value)
    except ValidationError as error:
        raise ValueError(f"{value!r} {error.messages[0]}") from None


READERS: dict[str, tuple[tuple[str, ...], Callable[[object, PropertyType], Validator]]] = {
    "length": (TEXTS, _length),
    "format": (TEXTS, _format),
    "in": ((*TEXTS, *NUMBERS), _in),
    "min": (NUMBERS, _min),
    "max": (NUMBERS, _max),
}
