"""The field of a property that holds a file."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Unpack

from marshmallow import ValidationError, fields

from app.database.columns import StoredFile
from app.ids import Id

from .base import FieldOptions, JsonSchema, Schema

UPLOADED = "is set by uploading a file"
# Maximum bytes of a file unless a store or a property sets another number.
MAX_FILE = 10 * 1024 * 1024
URL = "url"


@dataclass(frozen=True)
class FileOptions:
    """Where the files of a property are stored, and which ones may be uploaded."""

    store: str
    # The container in the store; empty: named after the model and the property.
    container: str
    # Types such as `image/png` or `image/*`; empty: those that the store allows.
    types: tuple[str, ...]
    max_bytes: int


class File(fields.Field[StoredFile]):
    """A file: `{"name": ..., "type": ..., "size": ..., "url": ...}`; JSON can only remove it."""

    # Returns the URL of the file of a row with this id; set where the files are served.
    url_of: Callable[[Id, StoredFile], str] | None = None

    def __init__(self, options: FileOptions, **usual: Unpack[FieldOptions]) -> None:
        super().__init__(**usual)
        self.options = options

    def _serialize(self, value: StoredFile | None, attr: str | None, obj: Any, **_: Any) -> Any:
        if value is None:
            return None
        shown: dict[str, object] = {"name": value.name, "type": value.type, "size": value.size}
        if self.url_of is not None and obj is not None:
            shown[URL] = self.url_of(obj.id, value)
        return shown

    def _deserialize(self, value: object, *args: object, **kwargs: object) -> StoredFile:
        if not isinstance(value, StoredFile):
            raise ValidationError(UPLOADED)
        return value

    def json_schema(self, settings: Mapping[str, object]) -> JsonSchema:
        """Return the JSON Schema keywords of a file."""
        texts = {name: {"type": "string"} for name in ("name", "type")}
        size = {"type": "integer", "minimum": 0}
        return {
            "type": "object",
            "readOnly": True,
            "properties": {
                **texts,
                "size": size,
                URL: {"type": "string", "format": "uri-reference"},
            },
            "required": ["name", "type", "size"],
        }


def file_fields(schema: Schema) -> dict[str, File]:
    """Return the fields of files by their JSON names, including those that clients do not see."""
    fields_ = schema.fields.items()
    return {each.data_key or name: each for name, each in fields_ if isinstance(each, File)}


def without_signature(shown: object) -> object:
    """Return the JSON value of a file without the query of its URL, which changes with time."""
    if not isinstance(shown, dict) or not isinstance(shown.get(URL), str):
        return shown
    return {**shown, URL: shown[URL].partition("?")[0]}
