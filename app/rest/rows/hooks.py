"""Hooks: signals of a resource, sent when its rows are written and when they leave the service."""

import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, TypeVar

import marshmallow
from blinker import ANY, Signal
from marshmallow import fields
from sqlalchemy import ClauseElement, Column

from app.access.identity import Identity, current_identity
from app.database.session import transaction
from app.errors import TooManyRows

from .repository import Conditions, Repository, Values

Receiver = TypeVar("Receiver", bound=Callable[..., Any])
#: Rows that one request changes or deletes where hooks are called.
MAX_ROWS = 500


class Hook(Signal):
    """A signal that keeps its receivers and calls them in the order in which they were connected.

    They may thus be functions inside a function; blinker's own signals would lose these.
    """

    def __init__(self) -> None:
        super().__init__()
        self._copies = weakref.WeakSet[Hook]()

    def connect(self, receiver: Receiver, sender: Any = ANY, weak: bool = False) -> Receiver:
        """Connect a function, which is called with the resource and `event`, to all copies too."""
        for each in self._copies:
            each.connect(receiver, sender, weak)
        return super().connect(receiver, sender, weak)

    def disconnect(self, receiver: Callable[..., Any], sender: Any = ANY) -> None:
        """Disconnect a function, from all copies too."""
        for each in self._copies:
            each.disconnect(receiver, sender)
        super().disconnect(receiver, sender)

    def receivers_for(self, sender: Any) -> Iterator[Callable[..., Any]]:  # type: ignore[override]
        """Yield the receivers in order."""
        connected = set(super().receivers_for(sender))
        for kept in list(self.receivers.values()):
            receiver = kept() if isinstance(kept, weakref.ref) else kept
            if receiver in connected:
                yield receiver

    def copy(self) -> "Hook":
        """Return a hook that has these receivers, and further ones of its own."""
        copied = Hook()
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
    row: Any
    is_new: bool


@dataclass
class DeleteEvent:
    """A row that is being deleted."""

    caller: Identity
    row: Any


@dataclass
class LoadEvent:
    """A row that leaves the service."""

    caller: Identity
    # What leaves, by JSON name; a receiver may change it.
    values: Values
    row: Any


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

    def of(self, item: Any) -> Values:
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

    def put(self, item: Any, values: Values) -> Any:
        """Return the item with the values that a hook left, once they are checked.

        Raises ValidationError, and ValueError for what is no attribute of the model.
        """
        checked = self._check(values, self.of(item))
        if isinstance(item, Mapping):
            withheld = {name: each for name, each in item.items() if name not in self._columns}
            return {**withheld, **checked}
        for name, value in checked.items():
            setattr(item, name, value)
        return item

    def _of_entity(self, entity: Any) -> Values:
        return {name: each for name, each in vars(entity).items() if name in self._fields}

    def _check(self, values: Values, before: Values) -> Values:
        checked, problems = dict(values), {}
        for name, value in values.items():
            if name not in self._columns:
                raise ValueError(f"before_save gives a value to {name}, which is no attribute")
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

    def _is_free(self, name: str, field: Any, value: Any) -> bool:
        """Tell whether no rule applies: to SQL, and to none as a read-only value."""
        unset = value is None and field.dump_only and self._columns[name].nullable
        return unset or isinstance(value, ClauseElement)


def insert(
    resource: Any, items: Sequence[Any], store: Callable[[Sequence[Any]], Sequence[Any]]
) -> list[Any]:
    """Store new rows in one transaction with the hooks of their resource; return them.

    One after the other, so that the hooks of a row see those before it.
    """
    rows: list[Any] = []
    with transaction():
        for item in items:
            new = _before_save(resource, resource.new_values, item, None)
            [row] = store([new])
            _after_save(resource, resource.new_values.of(new), row, is_new=True)
            rows.append(row)
    return rows


def update(
    resource: Any,
    conditions: Conditions,
    values: Values,
    store: Callable[[Conditions, Values], Sequence[Any]],
) -> list[Any]:
    """Change the rows that fulfil the conditions in one transaction with the hooks; return them.

    One after the other. Raises TooManyRows.
    """
    changed: list[Any] = []
    with transaction():
        for row in _lock(resource.rows, conditions):
            given = _before_save(resource, resource.changed_values, values, row)
            # None, if a hook has deleted it.
            for stored in store([resource.rows.key == row.id], given):
                _after_save(resource, resource.changed_values.of(given), stored, is_new=False)
                changed.append(stored)
    return changed


def delete(resource: Any, conditions: Conditions, store: Callable[[Conditions], int]) -> int:
    """Delete the rows that fulfil the conditions in one transaction with the hooks.

    One after the other. Returns their number. Raises TooManyRows.
    """
    count = 0
    with transaction():
        for row in _lock(resource.rows, conditions):
            resource.before_delete.send(resource, event=DeleteEvent(current_identity(), row))
            # None, if a hook has deleted it.
            if store([resource.rows.key == row.id]):
                resource.after_delete.send(resource, event=DeleteEvent(current_identity(), row))
                count += 1
    return count


def _before_save(resource: Any, known: SavedValues, item: Any, row: Any) -> Any:
    """Send `before_save` for a row; return what is to be stored."""
    event = SaveEvent(current_identity(), known.of(item), row, is_new=row is None)
    resource.before_save.send(resource, event=event)
    return known.put(item, event.values)


def _after_save(resource: Any, values: Values, row: Any, is_new: bool) -> None:
    event = SaveEvent(current_identity(), values, row, is_new)
    resource.after_save.send(resource, event=event)


def _lock(rows: Repository, conditions: Conditions) -> Sequence[Any]:
    """Return the rows that fulfil the conditions, locked until the end of the transaction."""
    found = rows.lock_all(conditions, MAX_ROWS + 1)
    if len(found) > MAX_ROWS:
        raise TooManyRows(MAX_ROWS)
    return found
