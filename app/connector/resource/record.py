"""One object of a resource."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, Protocol


class RecordStore(Protocol):
    """The methods of a resource that its records call."""

    name: str
    id_name: str

    def create(self, data: Any) -> Any:
        """POST an object."""

    def update(self, data: Any) -> Record:
        """PUT an object."""

    def delete(self, identifier: Any) -> None:
        """DELETE an object."""


class Record:
    """One object of a resource; its fields are attributes and items."""

    def __init__(self, resource: RecordStore, values: Mapping[str, Any]) -> None:
        self.__dict__["_resource"] = resource
        self.__dict__["_values"] = dict(values)

    def __getattr__(self, name: str) -> Any:
        if name not in self._values:
            raise AttributeError(f"{self._resource.name} has no field '{name}'")
        return self._values[name]

    def __copy__(self) -> Record:
        return Record(self._resource, self._values)

    def __deepcopy__(self, memo: dict[int, Any]) -> Record:
        return Record(self._resource, copy.deepcopy(self._values, memo))

    def __setattr__(self, name: str, value: Any) -> None:
        self._values[name] = value

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __setitem__(self, name: str, value: Any) -> None:
        self._values[name] = value

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Record) and self._values == other._values

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<{self._resource.name} {self._values.get(self._resource.id_name)!r}>"

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as a new dict."""
        return dict(self._values)

    def save(self) -> Record:
        """PUT the object if it has an id, else POST it, and update it from the response."""
        has_id = self._values.get(self._resource.id_name) is not None
        send = self._resource.update if has_id else self._resource.create
        self._values.update(send(self._values).to_dict())
        return self

    def destroy(self) -> None:
        """Delete the object at the remote."""
        self._resource.delete(self._values.get(self._resource.id_name))
