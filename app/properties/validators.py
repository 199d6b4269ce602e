"""What `validates` says of a property: length, format, in, min and max."""

from collections.abc import Callable, Mapping
from typing import Any

from marshmallow import ValidationError, validate

from app.problems import Problems
from app.rest.fields.formats import Format

from .types import PropertyType

Validator = Callable[[Any], Any]

TEXTS, NUMBERS = ("string",), ("number", "integer", "decimal")


def read_validators(
    declared: Any, type_: PropertyType, problems: Problems, path: str
) -> list[Validator]:
    """Return the validators of a property."""
    if declared is None:
        return []
    if not isinstance(declared, Mapping):
        problems.add(path, f"must be an object with {', '.join(READERS)}")
        return []
    problems.check_keys(path, declared, READERS)
    found: list[Validator] = []
    for key, value in declared.items():
        if key not in READERS:
            continue
        types, read = READERS[key]
        if type_.name not in types:
            problems.add(f"{path}.{key}", f"is for {', '.join(types)}")
            continue
        try:
            found.append(read(value, type_))
        except ValueError as error:
            problems.add(f"{path}.{key}", str(error))
    return found


def _length(declared: Any, type_: PropertyType) -> Validator:
    if not isinstance(declared, Mapping) or not declared or declared.keys() - {"min", "max", "is"}:
        raise ValueError("must be an object with min, max or is")
    for value in declared.values():
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise ValueError("must be whole numbers")
    exact = declared.get("is")
    least, most = declared.get("min", exact), declared.get("max", exact)
    return _Length(least, most)


class _Length(validate.Length):
    """How many characters a text has, in the words of all schemas."""

    def __call__(self, value: Any) -> Any:
        """Raise ValidationError for a text that is too short or too long."""
        if self.min is not None and len(value) < self.min:
            raise ValidationError(f"is too short (minimum is {self.min} characters)")
        if self.max is not None and len(value) > self.max:
            raise ValidationError(f"is too long (maximum is {self.max} characters)")
        return value


def _format(declared: Any, type_: PropertyType) -> Validator:
    pattern = declared.get("with") if isinstance(declared, Mapping) else declared
    if not isinstance(pattern, str):
        raise ValueError("must be a regular expression")
    return Format(pattern, type_.make_field().max_length)  # type: ignore[attr-defined]


def _in(declared: Any, type_: PropertyType) -> Validator:
    if not isinstance(declared, list) or not declared:
        raise ValueError("must be a list of values")
    values = [_of_type(each, type_) for each in declared]
    return validate.OneOf(values, error="must be one of {choices}")


def _min(declared: Any, type_: PropertyType) -> Validator:
    return validate.Range(min=_of_type(declared, type_), error="must be at least {min}")


def _max(declared: Any, type_: PropertyType) -> Validator:
    return validate.Range(max=_of_type(declared, type_), error="must be at most {max}")


def _of_type(value: Any, type_: PropertyType) -> Any:
    try:
        return type_.load(value)
    except ValidationError as error:
        raise ValueError(f"{value!r} {error.messages[0]}") from None


READERS: dict[str, tuple[tuple[str, ...], Callable[[Any, PropertyType], Validator]]] = {
    "length": (TEXTS, _length),
    "format": (TEXTS, _format),
    "in": ((*TEXTS, *NUMBERS), _in),
    "min": (NUMBERS, _min),
    "max": (NUMBERS, _max),
}
