"""The schemas of personal tokens."""

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from marshmallow import ValidationError, fields

from app.access.identity import EVERY_METHOD, EXCEPT, read_scopes
from app.access.policy import compiled_rules
from app.access.rules import EXECUTE, READ, WRITE
from app.errors import BLANK, quote
from app.fields.base import JsonSchema, Number, Schema, Text, Timestamp, not_blank
from app.rest.collection import served_collections
from app.users.models import MAX_TOKEN_NAME

#: Maximum number of words in all scopes of a personal token.
MAX_WORDS = 200
WORDS = {READ, WRITE, EXECUTE, EVERY_METHOD}


class ScopesField(fields.Field[Any]):
    """Methods by model, in the words of rules: READ, WRITE, EXECUTE, `*` and names of methods.

    A word with the prefix `!` excludes its methods. Models are named as in rules, or as in errors
    about one of their rows.
    """

    default_error_messages = {
        "invalid": 'must be an object such as {{"todos": ["READ"]}}',
        "many": f"has too many words (maximum is {MAX_WORDS})",
        "model": "has no model {name}",
        "empty": "names no method of {name}",
        "method": "has no method {word} of {name}",
        "session": "names {word} of {name}, for which no personal token is enough",
    }

    def _deserialize(
        self, value: object, *args: object, **kwargs: object
    ) -> Mapping[str, list[str]]:
        """Return the words by the models' names in rules; raise ValidationError."""
        if not isinstance(value, dict) or not all(map(_is_list_of_words, value.values())):
            raise self.make_error("invalid")
        if not value:
            raise ValidationError(BLANK)
        if sum(map(len, value.values())) > MAX_WORDS:
            raise self.make_error("many")
        known, words = _models(), dict[str, set[str]]()
        for name, named in value.items():
            if name not in known:
                raise self.make_error("model", name=quote(name))
            self._check(known[name], named)
            words.setdefault(known[name], set()).update(named)
        return {name: sorted(named) for name, named in words.items()}

    def _check(self, model: str, words: Iterable[str]) -> None:
        """Raise ValidationError for words that name no method that a token may call."""
        none = EXCEPT + EVERY_METHOD
        if none in words or all(word.startswith(EXCEPT) for word in words):
            raise self.make_error("empty", name=model)
        for word in {word.removeprefix(EXCEPT) for word in words} - WORDS:
            rules = compiled_rules.current.get((model, word))
            if rules is None or rules.method != word:
                raise self.make_error("method", name=model, word=quote(word))
            if rules.session_only:
                raise self.make_error("session", name=model, word=word)

    def _serialize(self, value: object, *args: object, **kwargs: object) -> Mapping[str, object]:
        return read_scopes(value).words

    def json_schema(self, settings: Mapping[str, object]) -> JsonSchema:
        """Return the JSON Schema keywords of scopes."""
        words = {"type": "array", "minItems": 1, "items": {"type": "string"}}
        return {
            "type": "object",
            "minProperties": 1,
            "additionalProperties": words,
            "examples": [{"todos": [READ]}],
        }


def _is_list_of_words(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(word, str) for word in value)


def _models() -> dict[str, str]:
    """Return the models' names in rules, by these and by their names in errors."""
    singular = {row.singular: name for name, row in served_collections.current.items()}
    names = {model: model for model, _ in compiled_rules.current}
    return {name: model for name, model in singular.items() if model in names} | names


class EndOfLife(Timestamp):
    """A time in the future; its schema has no example, which would be in the past some day."""

    JSON_SCHEMA: ClassVar[JsonSchema] = {"type": "string", "format": "date-time"}


class PersonalTokenSchema(Schema):
    """A personal token, without its value."""

    handle = fields.String(dump_only=True, metadata={"examples": ["0123456789abcdef"]})
    name = Text(MAX_TOKEN_NAME, required=True, validate=not_blank)
    scopes = ScopesField(required=True)
    created = Timestamp(dump_only=True)
    expiresAt = EndOfLife(attribute="expires_at")  # noqa: N815
    lastUsed = Timestamp(  # noqa: N815
        attribute="last_used",
        dump_only=True,
        allow_none=True,
        metadata={"description": "Up to `TOKEN_TOUCH_INTERVAL` seconds too early."},
    )
    address = fields.String(
        dump_only=True, allow_none=True, metadata={"description": "Of the last use."}
    )


class NewPersonalTokenSchema(PersonalTokenSchema):
    """A new personal token: `ttl` is in seconds; only this response has the value."""

    ttl = Number(load_only=True, metadata={"description": "In seconds."})
    token = fields.String(
        attribute="value",
        dump_only=True,
        metadata={"examples": ["ost_" + "0123456789" * 4 + "2NNSoi"]},
    )
