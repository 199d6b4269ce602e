"""Hooks: signals of a resource, sent when its rows are written and after they were serialized."""

import weakref
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, TypeVar

import marshmallow
from blinker import ANY, Signal
from marshmallow import fields
from sqlalchemy import ClauseElement, Column

from app.access.identity import Identity
from app.rest.fields.base import Field

from .repository import NewRow, Row, Values

Receiver = TypeVar("Receiver", bound=Callable[..., Any])


class Hook(Signal):
    """A signal that keeps its receivers and calls them in the order in which they were connected.

    They may thus be functions inside a function; blinker's own signals would lose these.
    """

    def __init__(self, origin: "Hook | None" = None) -> None:
        super().__init__()
        self._copies = weakref.WeakSet[Hook]()
        # Referred to, as it passes on what is connected to hooks that it was copied from.
        self._origin = origin

    def connect(self, receiver: Receiver, sender: Any = ANY, weak: bool = False) -> Receiver:
        """Connect a function, which is called with the resource and `event`, to all copies too."""
        for copied in self._copies:
            copied.connect(receiver, sender, weak)
        return super().connect(receiver, sender, weak)

    def disconnect(self, receiver: Callable[..., Any], sender: Any = ANY) -> None:
        """Disconnect a function, from all copies too."""
        for copied in self._copies:
            copied.disconnect(receiver, sender)
        super().disconnect(receiver, sender)

    def receivers_for(self, sender: Any) -> Iterator[Callable[..., Any]]:  # type: ignore[override]
        """Yield the receivers in order."""
        connected = set(super().receivers_for(sender))
        for kept in list(self.receivers.values()):
            receiver = kept() if isinstance(kept, weakref.ref) else kept
            if receiver in connected:
                yield receiver

    def __copy__(self) -> "Hook":
        """Return a hook that has these receivers, and further ones of its own."""
        copied = Hook(self)
        self._copies.add(copied)
        for receiver in self.receivers_for(ANY):
            copied.connect(receiver)
        return copied


@dataclass
class SaveEvent:
    """A row that is being created or changed."""

    caller: Identity
    # What is stored, by attribute; `before_save` may change it.
    values: Values
    # As it is stored: None before a new row is, and after a change as it now is.
    row: Row | None
    is_new: bool


@dataclass
class DeleteEvent:
    """A row that is being deleted."""

    caller: Identity
    row: Row


@dataclass
class LoadEvent:
    """A row that was serialized for an answer."""

    caller: Identity
    # The properties of the answer, by JSON name; a receiver may change them.
    values: Values
    row: Row


class SavedValues:
    """What `before_save` gets to see and may change of a row, and the check of what it leaves."""

    def __init__(self, columns: Mapping[str, Column[Any]], schema: marshmallow.Schema) -> None:
        """Check values of these columns by the fields of a schema."""
        self._columns = columns
        self._fields = {
            field.attribute or name: field
            for name, field in schema.fields.items()
            # A function has no type to check.
            if not isinstance(field, fields.Function)
        }

    def of(self, item: NewRow) -> Values:
        """Return the values of a row to be stored: a mapping, or an entity of the model.

        Objects and arrays are copies. What is no column is left out, such as a password; of an
        entity also what is no property.
        """
        values = item if isinstance(item, Mapping) else self._of_entity(item)
        return {
            name: deepcopy(value) if isinstance(value, dict | list) else value
            for name, value in values.items()
            if name in self._columns
        }

    def put(self, item: NewRow, values: Values) -> NewRow:
        """Return the item with the values that a hook left, once they are checked.

        Raises ValidationError, and ValueError for what is no attribute of the model.
        """
        checked = self._check(values, self.of(item))
        if isinstance(item, Mapping):
            rest = {name: value for name, value in item.items() if name not in self._columns}
            return {**rest, **checked}
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
        """Return True if no rule applies: to SQL, and to none as a read-only value."""
        unset = value is None and field.dump_only and self._columns[name].nullable
        return unset or isinstance(value, ClauseElement)
