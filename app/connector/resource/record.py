"""One object of a resource."""

import copy
from typing import Protocol, Self

from app.connector.callbacks import takes_callback
from app.connector.types import JsonObject, JsonValue, Values


class _Binding(Protocol):
    """The resource of a record, which creates and saves it."""

    name: str
    id_name: str

    def create(self, data: Values, /) -> "Record": ...
    def update(self, data: Values, /) -> "Record": ...
    def update_attributes(self, identifier: object, changes: Values, /) -> "Record": ...
    def delete(self, identifier: object, /) -> JsonValue: ...


class Record:
    """One object of a resource; its fields are attributes and items.

    >>> mary = User.find_by_id(1)
    >>> mary.name
    'Mary'
    >>> mary.name = "Mary Ann"
    >>> mary.save().to_dict()
    {'id': 1, 'name': 'Mary Ann'}
    """

    _resource: _Binding
    _values: JsonObject

    def __init__(self, resource: _Binding, values: Values) -> None:
        self.__dict__["_resource"] = resource
        self.__dict__["_values"] = dict(values)

    def __getattr__(self, name: str) -> JsonValue:
        if name not in self._values:
            raise AttributeError(f"{self._resource.name} has no field '{name}'")
        return self._values[name]

    def __copy__(self) -> "Record":
        return Record(self._resource, self._values)

    def __deepcopy__(self, memo: dict[int, object]) -> "Record":
        return Record(self._resource, copy.deepcopy(self._values, memo))

    def __setattr__(self, name: str, value: object) -> None:
        self._values[name] = value

    def __getitem__(self, name: str) -> JsonValue:
        return self._values[name]

    def __setitem__(self, name: str, value: object) -> None:
        self._values[name] = value

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Record) and self._values == other._values

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<{self._resource.name} {self._id!r}>"

    def to_dict(self) -> JsonObject:
        """Return the fields as a new dict."""
        return dict(self._values)

    @takes_callback
    def save(self) -> Self:
        """PUT the object if it has an id, else POST it, and update it from the response."""
        send = self._resource.create if self._id is None else self._resource.update
        return self._updated(send(self._values))

    @takes_callback
    def update_attributes(self, changes: Values) -> Self:
        """PUT some fields, and update the object with them and from the response."""
        return self._updated(self._resource.update_attributes(self._id, changes))

    @takes_callback
    def destroy(self) -> JsonValue:
        """Delete the object at the remote."""
        return self._resource.delete(self._id)

    # LoopBack 3's names.
    updateAttributes = patchAttributes = update_attributes  # noqa: N815

    @property
    def _id(self) -> JsonValue:
        return self._values.get(self._resource.id_name)

    def _updated(self, saved: "Record") -> Self:
        self._values.update(saved.to_dict())
        return self
