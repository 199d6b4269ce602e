"""Refuse SQLAlchemy's mapper events on a served model, because they would never fire.

Rows are written and read as table rows, without objects of the model, at a third of the cost. Use
the `Hook`s of a resource instead.
"""

from collections.abc import Iterator
from types import FunctionType

from sqlalchemy import inspect
from sqlalchemy.orm import configure_mappers

from app.config import ConfigurationError

MAPPER_EVENTS = (
    *("before_insert", "after_insert", "before_update", "after_update"),
    *("before_delete", "after_delete"),
)
INSTANCE_EVENTS = ("load", "refresh")
ATTRIBUTE_EVENTS = ("set", "init_scalar")


def check_events(name: str, model: type[object]) -> None:
    """Raise ConfigurationError for a model whose mapper or attributes have listeners."""
    configure_mappers()
    if found := next(_listened(model), None):
        raise ConfigurationError(
            f"the model of {name} has {found}, which would never be called: rows are written as "
            "tables; use the hooks of the resource"
        )


def _listened(model: type[object]) -> Iterator[str]:
    """Yield the events that a model listens to."""
    mapper = inspect(model)
    yield from (f"@validates for {name}" for name in mapper.validators)
    for dispatch, events in (
        (mapper.dispatch, MAPPER_EVENTS),
        (mapper.class_manager.dispatch, INSTANCE_EVENTS),
    ):
        yield from (f"a listener for {event}" for event in events if _has_listener(dispatch, event))
    for column in mapper.column_attrs:
        dispatch = getattr(model, column.key).dispatch
        for event in ATTRIBUTE_EVENTS:
            if _has_listener(dispatch, event):
                yield f"a listener for {event} of {column.key}"


def _has_listener(dispatch: object, event: str) -> bool:
    """Return True if this model has listeners beside those of SQLAlchemy's mutable types."""
    return not all(map(_is_of_mutable_type, getattr(dispatch, event).listeners))


def _is_of_mutable_type(listener: FunctionType) -> bool:
    """Return True for a listener of SQLAlchemy's mutable types, wrapped or not."""
    wrapped = [cell.cell_contents for cell in listener.__closure__ or ()]
    return any(
        getattr(function, "__module__", "") == "sqlalchemy.ext.mutable"
        for function in [listener, *wrapped]
    )
