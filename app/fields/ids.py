"""The field of ids."""

from collections.abc import Mapping
from typing import Unpack

from marshmallow import fields

from app import ids
from app.database.ids import IdColumn, RowId

from .base import FieldOptions, JsonSchema


class Id(fields.Field[ids.Id]):
    """The id of a row, in the type of its column; by default in the form of ID_TYPE."""

    default_error_messages = {"invalid": "must be {form}"}

    def __init__(
        self, column_type: IdColumn | type[IdColumn] = RowId, **options: Unpack[FieldOptions]
    ) -> None:
        super().__init__(**options)
        self.column_type = column_type() if isinstance(column_type, type) else column_type

    def _deserialize(self, value: object, *args: object, **kwargs: object) -> ids.Id:
        form = self.column_type.form
        if value == "" and form.python_type is str and not self.allow_none:
            raise self.make_error("null")
        id = form.parse_json(value)
        if id is None:
            raise self.make_error("invalid", form=form.description)
        return id

    def json_schema(self, settings: Mapping[str, object]) -> JsonSchema:
        """Return the JSON Schema keywords of an id; without an example if clients may omit it."""
        schema: JsonSchema = dict(self.column_type.form.json_schema)
        if not self.dump_only and not self.required:
            del schema["examples"]
        return schema
