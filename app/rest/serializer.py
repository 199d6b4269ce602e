"""The serializer of a collection: the JSON objects of its rows."""

from collections.abc import Iterable

from app.access.identity import current_identity
from app.fields.base import PASSTHROUGH_SERIALIZERS, Parsed, Schema

from .filters.tree import OTHERS
from .rows.hooks import Hook, LoadEvent
from .rows.json_values import flatten
from .rows.values import Row, Values
from .visibility import Visibility


class Serializer:
    """Makes the JSON objects of rows: the result of the schema's `dump`, but faster."""

    def __init__(
        self,
        resource: object,
        schema: Schema,
        properties: Iterable[str],
        visibility: Visibility,
        loaded: Hook,
    ) -> None:
        """Serialize rows with these properties, in their order, by the fields of a schema.

        The resource sends `loaded` with what clients may see.
        """
        self._resource = resource
        self._properties = list(properties)
        self._visibility = visibility
        self._shows_all = not visibility.hides_anything()
        self._loaded = loaded
        # The fields whose JSON value differs from the column's value.
        fields = [(field.data_key or name, field) for name, field in schema.dump_fields.items()]
        changed = [
            (name, field)
            for name, field in fields
            if name not in self._properties or type(field)._serialize not in PASSTHROUGH_SERIALIZERS
        ]
        # Fields serialized by a function of the value alone.
        self._written = [
            (name, field.write)
            for name, field in changed
            if name in self._properties
            and isinstance(field, Parsed)
            and type(field)._serialize is Parsed._serialize
        ]
        written = dict(self._written)
        self._fields = [(name, field) for name, field in changed if name not in written]

    def dump(self, row: Row) -> Values:
        """Return the JSON object of a row."""
        # A tuple; of other rows, a subclass makes the object.
        dumped = dict(zip(self._properties, row, strict=False))  # type: ignore[call-overload]
        for name, write in self._written:
            if (value := dumped[name]) is not None:
                dumped[name] = write(value)
        for name, field in self._fields:
            dumped[name] = field._serialize(dumped.get(name), name, row)
        if OTHERS in dumped:
            dumped = flatten(dumped)
        if self._shows_all and not self._loaded.receivers:
            return dumped
        return self.emit_loaded(row, dumped)

    def emit_loaded(self, row: Row, dumped: Values) -> Values:
        """Send `loaded` for a row with its JSON object; return the object as receivers leave it."""
        if not self._shows_all:
            dumped = self._visibility.show(dumped)
        if not self._loaded.receivers:
            return dumped
        event = LoadEvent(current_identity(), dumped, row)
        self._loaded.send(self._resource, event=event)
        return event.values
