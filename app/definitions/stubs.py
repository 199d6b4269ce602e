"""Stubs for an application's JavaScript that was not yet translated to Python."""

from collections.abc import Callable
from functools import wraps

from sqlalchemy import ColumnElement, false

from app.errors import NotWritten
from app.ids import Id

Function = Callable[..., object]
# The attribute of a stub of a hook with its name.
HOOK = "_hook_stub"


def method_stub(name: str, *routes: str) -> Callable[[Function], Function]:
    """Mark a view as a stub: its response is 501 with the name of the method.

    `ostiary loopback todo` lists it with its `routes`.
    """

    def decorate(view: Function) -> Function:
        @wraps(view)
        def refuse(*arguments: object, **named: object) -> object:
            raise NotWritten(f"{name} is not written yet.")

        return refuse

    return decorate


def route_stub(route: str) -> Callable[[Function], Function]:
    """Mark a view of a route beside the models as a stub, to be written and then registered.

    The route is not served before. `ostiary loopback todo` lists it.
    """
    return method_stub(route)


def hook_stub(name: str) -> Callable[[Function], Function]:
    """Mark a hook as a stub, to be written and then connected; it does nothing.

    At start, a warning names the hooks that are left, and `ostiary loopback todo` lists them.
    """

    def decorate(hook: Function) -> Function:
        @wraps(hook)
        def ignore(*arguments: object, **named: object) -> None:
            pass

        setattr(ignore, HOOK, name)
        return ignore

    return decorate


def role_stub(name: str) -> Callable[[Function], Function]:
    """Mark a dynamic role as a stub: nobody has it.

    `ostiary loopback todo` lists it.
    """

    def decorate(role: Function) -> Function:
        @wraps(role)
        def refuse(user_id: Id) -> ColumnElement[bool]:
            return false()

        return refuse

    return decorate
