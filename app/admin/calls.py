"""Declaration of the admin calls: endpoints of `admin` for logged-in users."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from flask.typing import ResponseReturnValue

from app import errors
from app.access.policy import Grant
from app.access.roles import ADMIN
from app.access.rules import AUTHENTICATED, allow
from app.rest.endpoint import Endpoint, Route, View
from app.rest.requests.parameters import MAX_DEPTH
from app.state import AppState

# The name of the calls in paths and rules.
MODEL = "admin"
# Who may call which call; ACLS may allow more.
RULES = (allow(ADMIN), allow(AUTHENTICATED, "access"))

# Errors of calls with the parameter `filter`.
FILTER_ERRORS = (
    errors.InvalidFilter("filter must be an object."),
    errors.TooDeep(f"filter nests deeper than {MAX_DEPTH} levels."),
)

# All calls of the page, in the order of the modules that declare them.
calls: list[Endpoint] = []
# The calls of features that are switched on.
added_calls = AppState[list[Endpoint]]("admin calls of features", factory=lambda _app: [])


def call(
    method: str, access: str, *routes: str, among: list[Endpoint] = calls, **declared: Any
) -> Callable[[View], View]:
    """Declare an admin call, which personal tokens may not make.

    The view is called with the arguments of the path, and with `body` if that is a marshmallow
    schema. Features add to a list of their own.
    """

    def decorate(view: View) -> View:
        @wraps(view)
        def respond(grant: Grant, **arguments: object) -> ResponseReturnValue:
            answer: ResponseReturnValue = view(**arguments)
            return answer

        where = tuple(map(Route.parse, routes))
        declared_as = {"session_only": True, **declared}
        among.append(
            Endpoint(method=method, access=access, routes=where, view=respond, **declared_as)
        )
        return view

    return decorate
