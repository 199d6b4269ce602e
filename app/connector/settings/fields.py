"""Fields for settings; their messages say what was expected and what was found."""

from typing import Any, TypeAlias

from marshmallow import Schema, ValidationError, fields, pre_load

from app.connector.errors import translate_errors
from app.connector.types import JsonObject, JsonValue
from app.connector.values import EnvText, boolean, integer
from app.problems import suggest, type_name

AnyField: TypeAlias = fields.Field[Any]


def _unexpected(phrase: str, value: object) -> ValidationError:
    return ValidationError(f"must be {phrase}, got {type_name(value)}")


class TypedField(fields.Field[JsonValue]):
    """A value of one of the given Python types."""

    def __init__(self, phrase: str, *types: type, required: bool = False) -> None:
        super().__init__(required=required)
        self.phrase = phrase
        self.types = types

    def _deserialize(self, value: object, *_args: object, **_options: object) -> JsonValue:
        if not isinstance(value, self.types):
            raise _unexpected(self.phrase, value)
        return value


def string_field(*, required: bool = False) -> TypedField:
    """Return a field for a string."""
    return TypedField("a string", str, required=required)


def object_field() -> TypedField:
    """Return a field for an object with any entries."""
    return TypedField("an object", dict)


class Flag(fields.Field[bool]):
    """True or false, also as a string; with `strict`, strings only from the environment."""

    def __init__(self, *, strict: bool = False) -> None:
        super().__init__()
        self.types = (bool, EnvText if strict else str)

    def _deserialize(self, value: object, *_args: object, **_options: object) -> bool:
        with translate_errors(ValueError, lambda _: ValidationError("must be true or false")):
            if not isinstance(value, self.types):
                raise ValueError
            return boolean(value)


class WholeNumber(fields.Field[int]):
    """An integer of at least `least`."""

    def __init__(self, *, least: int = 0) -> None:
        super().__init__()
        self.least = least

    def _deserialize(self, value: object, *_args: object, **_options: object) -> int:
        phrase = f"a whole number from {self.least} on"
        with translate_errors(ValueError, lambda _: _unexpected(phrase, value)):
            found = integer(value)
        if found < self.least:
            raise ValidationError(f"must be {phrase}, got {found}")
        return found


class Choice(fields.Field[str]):
    """One of the given words."""

    def __init__(self, *words: str, required: bool = False) -> None:
        super().__init__(required=required)
        self.words = words

    def _deserialize(self, value: object, *_args: object, **_options: object) -> str:
        if not isinstance(value, str) or value not in self.words:
            hint = suggest(value, self.words) if isinstance(value, str) else ""
            raise ValidationError(f"must be one of {', '.join(self.words)}{hint}")
        return value


class ListOf(fields.List[JsonValue]):
    """A list."""

    def _deserialize(self, value: object, *args: Any, **options: Any) -> list[JsonValue]:
        if not isinstance(value, list):
            raise _unexpected("a list", value)
        return super()._deserialize(value, *args, **options)


class MapOf(fields.Field[JsonObject]):
    """An object whose values all follow one schema."""

    def __init__(self, schema: type[Schema]) -> None:
        super().__init__()
        self.schema = schema()

    def _deserialize(self, value: object, *_args: object, **_options: object) -> JsonObject:
        if not isinstance(value, dict):
            raise _unexpected("an object", value)
        errors = {
            key: found for key, item in value.items() if (found := self.schema.validate(item))
        }
        if errors:
            raise ValidationError(errors)
        return {key: self.schema.load(item) for key, item in value.items()}


class ObjectSchema(Schema):
    """An object of settings."""

    @pre_load
    def _must_be_object(self, data: object, **_options: object) -> object:
        if not isinstance(data, dict):
            raise _unexpected("an object", data)
        return data


def strings(*names: str, required: bool = False) -> dict[str, AnyField]:
    """Return fields for strings by their names."""
    return {name: string_field(required=required) for name in names}


def flags(*names: str) -> dict[str, AnyField]:
    """Return fields for booleans by their names."""
    return {name: Flag() for name in names}


def numbers(**least: int) -> dict[str, AnyField]:
    """Return fields for integers by their names, each with its minimum."""
    return {name: WholeNumber(least=number) for name, number in least.items()}
