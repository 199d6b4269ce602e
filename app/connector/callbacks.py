"""Callbacks as in Node.js: `(error, result, response)`, or the first of these."""

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from .errors import ConnectorError

Result = TypeVar("Result")
Callback = Callable[..., object]
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def split_callback(args: tuple[object, ...]) -> tuple[tuple[object, ...], Callback | None]:
    """Return the arguments without a trailing callable, and that callable as the callback."""
    last = args[-1] if args else None
    return (args[:-1], last) if callable(last) else (args, None)


def takes_callback(method: Callable[..., Result]) -> Callable[..., Result]:
    """Let a method take a callback `(error, result)` as its last argument; it then returns None."""

    @wraps(method)
    def call(self: object, *args: object, **named: object) -> Any:
        args, callback = split_callback(args)
        if callback is None:
            return method(self, *args, **named)
        deliver(callback, lambda: (method(self, *args, **named), None))
        return None

    return call


def deliver(callback: Callback, work: Callable[[], tuple[object, object]]) -> None:
    """Call back with the result and response that `work` returns, or with the error it raises.

    An error in the arguments is raised. A callback with only one or two parameters gets the first
    arguments.
    """
    outcome: tuple[object, ...]
    try:
        outcome = (None, *work())
    except ConnectorError as error:
        if error.kind not in ("remote", "transport"):
            raise
        outcome = (error, getattr(error, "body", None), getattr(error, "response", None))
    callback(*outcome[: _arity(callback)])


def _arity(callback: Callback) -> int:
    try:
        kinds = [known.kind for known in inspect.signature(callback).parameters.values()]
    except ValueError:
        # A C function without a signature.
        return 3
    if inspect.Parameter.VAR_POSITIONAL in kinds:
        return 3
    return sum(kind in _POSITIONAL for kind in kinds)
