"""Typed values that features keep in an app."""

from collections.abc import Callable
from typing import Generic, TypeVar

from flask import Flask, current_app

Value = TypeVar("Value")

# The key in `app.extensions` of an app's values by AppState.
VALUES = "ostiary"


class AppState(Generic[Value]):
    """A value that each app has, such as its data sources or a thread.

    Declared at module level by the feature that uses it, optionally with a factory, which creates
    the value of an app when it is first read:

        purger = AppState("purger", factory=Purger)
        mailer = AppState[Mailer]("mailer")

        mailer.set(app, Mailer(...))
        purger.of(app).start()
    """

    def __init__(self, name: str, factory: Callable[[Flask], Value] | None = None) -> None:
        self._name = name
        self._factory = factory

    def __repr__(self) -> str:
        return f"AppState({self._name!r})"

    def set(self, app: Flask, value: Value) -> None:
        """Set the value of an app."""
        app.extensions.setdefault(VALUES, {})[self] = value

    def of(self, app: Flask) -> Value:
        """Return the value of an app; raise LookupError if it has none and there is no factory."""
        try:
            value: Value = app.extensions[VALUES][self]
        except KeyError:
            return self._make(app)
        return value

    @property
    def current(self) -> Value:
        """The value of the current app."""
        # The app behind the proxy, since every use of a proxy costs several calls.
        return self.of(current_app._get_current_object())  # type: ignore[attr-defined]

    def _make(self, app: Flask) -> Value:
        if self._factory is None:
            raise LookupError(f"the app has no {self._name}: is it set before it is read?")
        made = self._factory(app)
        # Another thread may have been faster.
        value: Value = app.extensions.setdefault(VALUES, {}).setdefault(self, made)
        return value
