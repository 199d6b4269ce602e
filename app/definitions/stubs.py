"""Stubs: what an application's JavaScript does and the Python of its project does not do yet."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from sqlalchemy import ColumnElement, false

from app.errors import NotWritten

Function = Callable[..., Any]
# Set on a stub of a hook: its name.
HOOK = "_hook_stub"


def method_stub(name: str, *routes: str) -> Callable[[Function], Function]:
    """Mark a view that is to be written: it answers 501 with the name of the method.

    `ostiary loopback todo` lists it with its `routes`.
    """

    def decorate(view: Function) -> Function:
        @wraps(view)
        def refuse(*arguments: Any, **named: Any) -> Any:
            raise NotWritten(f"{name} is not written yet.")

        return refuse

    return decorate


def route_stub(route: str) -> Callable[[Function], Function]:
    """Mark a view of a route beside the models that is to be written, and then to be added.

    Nothing is served at the route before. `ostiary loopback todo` lists it.
    """
    return method_stub(route)


def hook_stub(name: str) -> Callable[[Function], Function]:
    """Mark a hook that is to be written, and then to be connected; it does nothing.

    The start warns of the hooks that are left, and `ostiary loopback todo` lists them.
    """

    def decorate(hook: Function) -> Function:
        @wraps(hook)
        def ignore(*arguments: Any, **named: Any) -> None:
            pass

        setattr(ignore, HOOK, name)
        return ignore

    return decorate


def role_stub(name: str) -> Callable[[Function], Function]:
    """Mark a dynamic role that is to be written: nobody has it.

    `ostiary loopback todo` lists it.
    """

    def decorate(role: Function) -> Function:
        @wraps(role)
        def refuse(user_id: Any) -> ColumnElement[bool]:
            return false()

        return refuse

    return decorate
