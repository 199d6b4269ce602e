"""The field of ids."""

from collections.abc import Mapping
from typing import Any

from marshmallow import fields

from app import ids
from app.database.ids import IdColumn, RowId


class Id(fields.Field[ids.Id]):
    """An id of a row, of the type of its column: by default of the form that ID_TYPE says."""

    default_error_messages = {"invalid": "must be {form}"}

    def __init__(self, column_type: IdColumn | type[IdColumn] = RowId, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.column_type = column_type() if isinstance(column_type, type) else column_type

    def _deserialize(self, value: Any, *args: Any, **kwargs: Any) -> ids.Id:
        form = self.column_type.form
        if value == "" and form.python_type is str and not self.allow_none:
            raise self.make_error("null")
        id = form.parse_json(value)
        if id is None:
            raise self.make_error("invalid", form=form.description)
        return id

    def json_schema(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return the JSON Schema keywords of an id; no example of one that clients may omit."""
        schema = dict(self.column_type.form.json_schema)
        if not self.dump_only and not self.required:
            del schema["examples"]
        return {**schema, "type": [schema["type"], "null"]} if self.allow_none else schema
