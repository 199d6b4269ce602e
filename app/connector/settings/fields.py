"""Fields and schemas for settings; their messages say what was expected and what was found."""

from typing import Any

from marshmallow import Schema, ValidationError, fields, pre_load

from app.connector.errors import translate_errors
from app.connector.values import EnvText, boolean, integer
from app.problems import Problems, join_path, suggest, type_name

from .leniency import adapt


class TypedField(fields.Field[Any]):
    """A value of one of the given Python types."""

    def __init__(self, phrase: str, *types: type, **options: Any) -> None:
        super().__init__(**options)
        self.phrase = phrase
        self.types = types

    def _deserialize(self, value: Any, *_args: Any, **_options: Any) -> Any:
        if not isinstance(value, self.types):
            raise ValidationError(f"must be {self.phrase}, got {type_name(value)}")
        return value


def string_field() -> TypedField:
    """Return a field for a string."""
    return TypedField("a string", str)


def object_field() -> TypedField:
    """Return a field for an object with any entries."""
    return TypedField("an object", dict)


class Boolean(fields.Field[bool]):
    """True or false, also as a string; with `strict` only as one from the environment."""

    def __init__(self, *, strict: bool = False) -> None:
        super().__init__()
        self.strict = strict

    def _deserialize(self, value: Any, *_args: Any, **_options: Any) -> bool:
        with translate_errors(ValueError, lambda _: ValidationError("must be true or false")):
            if not isinstance(value, bool | EnvText if self.strict else bool | str):
                raise ValueError
            return boolean(value)


class NonNegativeInt(fields.Field[int]):
    """A whole number from `least` on."""

    def __init__(self, *, least: int = 0) -> None:
        super().__init__()
        self.least = least

    def _deserialize(self, value: Any, *_args: Any, **_options: Any) -> int:
        phrase = f"must be a whole number from {self.least} on, got"
        with translate_errors(
            ValueError, lambda _: ValidationError(f"{phrase} {type_name(value)}")
        ):
            found = integer(value)
        if found < self.least:
            raise ValidationError(f"{phrase} {found}")
        return found


class Choice(fields.Field[str]):
    """One of the given words."""

    def __init__(self, *words: str, **options: Any) -> None:
        super().__init__(**options)
        self.words = words

    def _deserialize(self, value: Any, *_args: Any, **_options: Any) -> str:
        if not isinstance(value, str) or value not in self.words:
            hint = suggest(value, self.words) if isinstance(value, str) else ""
            raise ValidationError(f"must be one of {', '.join(self.words)}{hint}")
        return value


class ListOf(fields.List[Any]):
    """A list."""

    def _deserialize(self, value: Any, *args: Any, **options: Any) -> list[Any]:
        if not isinstance(value, list):
            raise ValidationError(f"must be a list, got {type_name(value)}")
        return super()._deserialize(value, *args, **options)


class MapOf(fields.Field[dict[str, Any]]):
    """An object whose values all follow one schema."""

    def __init__(self, schema: type[Schema]) -> None:
        super().__init__()
        self.each = schema()

    def _deserialize(self, value: Any, *_args: Any, **_options: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise ValidationError(f"must be an object, got {type_name(value)}")
        loaded = {}
        errors = {}
        for key, item in value.items():
            try:
                loaded[key] = self.each.load(item)
            except ValidationError as error:
                errors[key] = error.messages
        if errors:
            raise ValidationError(errors)
        return loaded


class Settings(Schema):
    """An object of settings."""

    @pre_load
    def _must_be_object(self, data: Any, **_options: Any) -> Any:
        if not isinstance(data, dict):
            raise ValidationError(f"must be an object, got {type_name(data)}")
        return data


def load(schema: Schema, data: Any, path: str, problems: Problems) -> dict[str, Any] | None:
    """Return the valid entries of an object of settings; None if it is not an object.

    The others are reported to the error collector, and checking can go on.
    """
    try:
        loaded: dict[str, Any] = schema.load(adapt(schema, data, path, problems))
    except ValidationError as error:
        _flatten(error.messages, path, problems)
        if not isinstance(data, dict):
            return None
        valid = error.valid_data if isinstance(error.valid_data, dict) else {}
        return {key: value for key, value in valid.items() if key not in error.messages_dict}
    return loaded


def _flatten(messages: Any, path: str, problems: Problems) -> None:
    if isinstance(messages, dict):
        for key, below in messages.items():
            _flatten(below, path if key == "_schema" else join_path(path, key), problems)
        return
    for message in messages:
        problems.add(path, message)
