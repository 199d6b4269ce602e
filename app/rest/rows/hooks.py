"""Hooks: signals of a resource, sent when rows are written and after serialization."""

import weakref
from collections.abc import Callable, Iterator, Mapping
from copy import copy, deepcopy
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import marshmallow
from blinker import ANY, Signal
from marshmallow import fields
from sqlalchemy import ClauseElement

from app.access.identity import Identity
from app.database.columns import AnyColumn
from app.fields.base import Field

from .values import NewRow, Row, Values

Receiver = TypeVar("Receiver", bound=Callable[..., object])
Item = TypeVar("Item", bound=NewRow)


class Hook(Signal):
    """A signal that refers to its receivers strongly and calls them in the order of connection.

    Receivers may therefore be local functions, which blinker's own signals would lose.
    """

    def __init__(self, origin: "Hook | None" = None) -> None:
        super().__init__()
        self._copies = weakref.WeakSet[Hook]()
        # A strong reference, because it forwards the receivers of the hooks that this one was
        # copied from.
        self._origin = origin

    def connect(self, receiver: Receiver, sender: object = ANY, weak: bool = False) -> Receiver:
        """Connect a function `(resource, event)`, to all copies too."""
        for copied in self._copies:
            copied.connect(receiver, sender, weak)
        return super().connect(receiver, sender, weak)

    def disconnect(self, receiver: Callable[..., object], sender: object = ANY) -> None:
        """Disconnect a function, from all copies too."""
        for copied in self._copies:
            copied.disconnect(receiver, sender)
        super().disconnect(receiver, sender)

    def receivers_for(self, sender: object) -> Iterator[Callable[..., object]]:  # type: ignore[override]
        """Yield the receivers in order."""
        connected = set(super().receivers_for(sender))
        for kept in list(self.receivers.values()):
            receiver = kept() if isinstance(kept, weakref.ref) else kept
            if receiver in connected:
                yield receiver

    def __copy__(self) -> "Hook":
        """Return a hook with these receivers, which may have further ones."""
        copied = Hook(self)
        self._copies.add(copied)
        for receiver in self.receivers_for(ANY):
            copied.connect(receiver)
        return copied


@dataclass
class SaveEvent:
    """A row being created or changed."""

    caller: Identity
    # The values to store by attribute; `before_save` may change them.
    values: Values
    # The stored row: None before a new row is stored, and the new state after a change.
    row: Row | None
    is_new: bool


@dataclass
class DeleteEvent:
    """A row being deleted."""

    caller: Identity
    row: Row


@dataclass
class LoadEvent:
    """A row serialized for a response."""

    caller: Identity
    # The properties of the response by JSON name; receivers may change them.
    values: Values
    row: Row


class SavedValues:
    """The values that `before_save` may change, and the check of the result."""

    def __init__(
        self, columns: Mapping[str, AnyColumn], make_schema: Callable[[], marshmallow.Schema]
    ) -> None:
        """Check values of these columns by the fields of a schema, made if there are hooks."""
        self._columns, self._make_schema = columns, make_schema

    @cached_property
    def _fields(self) -> Mapping[str, Field]:
        """The fields by attribute; without functions, which have no type to check."""
        return {
            field.attribute or name: field
            for name, field in self._make_schema().fields.items()
            if not isinstance(field, fields.Function)
        }

    def of(self, item: NewRow) -> Values:
        """Return the values of a row to be stored, from a mapping or an entity of the model.

        Objects and arrays are copied. Anything that is not a column, such as a password, is left
        out; of an entity, anything that is not a property, too.
        """
        values = item if isinstance(item, Mapping) else self._of_entity(item)
        return {
            name: deepcopy(value) if isinstance(value, dict | list) else value
            for name, value in values.items()
            if name in self._columns
        }

    def put(self, item: Item, values: Values) -> Item:
        """Return the item with the values that a hook left, after checking them.

        Raises ValidationError, and ValueError for unknown attributes.
        """
        checked = self._check(values, self.of(item))
        if isinstance(item, dict):
            # Not in place, as the items of a change are shared by its rows; a copy keeps the type.
            item = copy(item)
            for name in item.keys() & self._columns.keys():
                del item[name]
            item.update(checked)
            return item
        for name, value in checked.items():
            setattr(item, name, value)
        return item

    def _of_entity(self, entity: object) -> Values:
        return {name: value for name, value in vars(entity).items() if name in self._fields}

    def _check(self, values: Values, before: Values) -> Values:
        checked, problems = dict(values), {}
        if unknown := values.keys() - self._columns.keys():
            name = min(unknown)
            raise ValueError(f"before_save gives a value to {name}, which is no attribute")
        for name, value in values.items():
            field = self._fields.get(name)
            if field is None or value is before.get(name) or self._is_free(name, field, value):
                continue
            try:
                checked[name] = field.deserialize(field._serialize(value, name, None))
            except marshmallow.ValidationError as error:
                problems[field.data_key or str(field.name)] = error.messages
        if problems:
            raise marshmallow.ValidationError(problems)
        return checked

    def _is_free(self, name: str, field: Field, value: object) -> bool:
        """Return True if a value is not validated: SQL, and null for a read-only property."""
        unset = value is None and field.dump_only and self._columns[name].nullable
        return unset or isinstance(value, ClauseElement)
