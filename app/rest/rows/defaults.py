"""Defaults that SQLAlchemy sets in Python, for statements that it does not execute."""

from collections.abc import Mapping
from functools import cached_property
from inspect import signature
from typing import Any

from sqlalchemy import ColumnDefault

from app.database.columns import AnyColumn
from app.database.ids import new_id

from .values import Values


class ColumnDefaults:
    """The defaults of a table's columns by attribute, of new and of changed rows."""

    def __init__(self, columns: Mapping[str, AnyColumn]) -> None:
        self._columns = columns

    def of_new(self, values: Values) -> Values:
        """Return the values of a new row with the defaults of the missing ones."""
        return _add(values, self._new)

    def of_changed(self, values: Values) -> Values | None:
        """Return the values of a change with those that `onupdate` sets.

        None if a function of `onupdate` may need the context of SQLAlchemy's execution.
        """
        return None if self._changed is None else _add(values, self._changed)

    @property
    def need_context(self) -> bool:
        """Whether a function of `onupdate` may need the context of SQLAlchemy's execution."""
        return self._changed is None

    def new_id(self) -> Values:
        """Return the id of a new row; empty if the database generates it."""
        return {} if (id := new_id(self._columns["id"].type)) is None else {"id": id}

    @cached_property
    def _new(self) -> Mapping[str, Any]:
        defaults = {name: column.default for name, column in self._columns.items()}
        if self.new_id():
            defaults["id"] = ColumnDefault(lambda: new_id(self._columns["id"].type))
        return _in_python(defaults)

    @cached_property
    def _changed(self) -> Mapping[str, Any] | None:
        found = _in_python({name: column.onupdate for name, column in self._columns.items()})
        callables = [default.arg for default in found.values() if default.is_callable]
        return None if any(signature(call).parameters for call in callables) else found


def _in_python(defaults: Mapping[str, Any]) -> Mapping[str, Any]:
    return {
        name: default
        for name, default in defaults.items()
        if default is not None and (default.is_scalar or default.is_callable)
    }


def _add(values: Values, defaults: Mapping[str, Any]) -> Values:
    missing = {
        name: default.arg(None) if default.is_callable else default.arg
        for name, default in defaults.items()
        if name not in values
    }
    return {**values, **missing}
