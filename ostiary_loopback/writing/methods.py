"""Remote methods of an application as endpoints, with stubs as their views."""

import re
from collections.abc import Mapping, Sequence

from ostiary_loopback.application import Model
from ostiary_loopback.javascript import Finding
from ostiary_loopback.javascript.finding import RemoteMethod

from .arguments import Argument, Types, arguments_of, parameters_of, schema_lines
from .code import Code, docstring
from .models import has_rows
from .names import own_routes, served_methods
from .python import comment, literal
from .routes import NAME, routes_of

# Whom LoopBack 3's own rules of users permit methods that have another name here.
BUILT_IN_RULES = {
    **dict.fromkeys(("login", "logout", "verify", "confirm", "resetPassword"), "EVERYONE"),
    **dict.fromkeys(("changePassword", "setPassword"), "AUTHENTICATED"),
}
# Converts Flask's placeholders to those of OpenAPI.
PLACEHOLDERS = str.maketrans("<>", "{}")


def add_method(code: Code, finding: Finding, method: RemoteMethod) -> None:
    """Add the view of a remote method, and the endpoint if it can be served."""
    name = f"{finding.model or '?'}.{method.name}"
    routes = list(routes_of(method)) if NAME.fullmatch(method.name) else []
    view = code.name(method.name)
    reason = _why_not_served(code, method, routes)
    signature = f"{view}(*arguments: Any, **named: Any)"
    text = comment(f"It is not served: {reason}.") if reason else ""
    if code.model and not reason:
        served = code.other_names.get(method.name, method.name)
        if served != method.name:
            routes = own_routes(code.application.is_user(code.model), method)
            text = _tell_of_name(code, method, served, routes)
        signature = _add_endpoint(code, code.model, method, served, routes, view)
    code.add_stub(
        "method_stub",
        [name, *(_public_path(code.model, route) for route in routes)],
        f"{signature} -> Any",
        method.description or f"{method.name} of LoopBack",
        text + code.javascript(finding),
    )


def _why_not_served(code: Code, method: RemoteMethod, routes: Sequence[str]) -> str:
    """Return why a method cannot be an endpoint; an empty text if it can."""
    if code.model is None:
        return "its model is none of the application's own"
    if not routes:
        return "its name or its route is known only when the JavaScript runs"
    if method.name in code.methods:
        return "another method of the model has its name"
    is_served = method.name in served_methods(code.application.is_user(code.model))
    if (is_served and method.name not in code.other_names) or method.name.startswith("__"):
        return "Ostiary has a method of this name, which stays as it is"
    return ""


def _tell_of_name(code: Code, method: RemoteMethod, served: str, routes: Sequence[str]) -> str:
    """Add the note that a method has another name; return it as a comment."""
    where = ", ".join(_public_path(code.model, route) for route in routes)
    sentence = f"{method.name} is the method {served} at {where}: Ostiary has a {method.name}"
    code.changes.append(sentence)
    return comment(f"{sentence}, which stays as it is.")


def _add_endpoint(
    code: Code, model: Model, method: RemoteMethod, served: str, routes: Sequence[str], view: str
) -> str:
    """Add the endpoint of a method, served by this name; return the view's signature."""
    code.methods.add(method.name)
    arguments = arguments_of(method)
    types = Types(code.application, model)
    by_row = "<id>" in routes[0] and has_rows(code.application, model)
    is_of_users = served != method.name and code.application.is_user(model)
    schema = _add_body(code, method, arguments)
    placeholders = [name for route in routes for name in re.findall(r"<(\w+)>", route)]
    signature = ["row: Any"] if by_row else []
    signature += [
        f"{name}: str" for name in dict.fromkeys(placeholders) if name != "id" or not by_row
    ]
    signature += ["body: Any"] if schema else []
    declared = {
        "permits": BUILT_IN_RULES.get(method.name) if is_of_users else None,
        "finds_row": "False" if "<id>" in routes[0] and not by_row else None,
        "body": schema or types.body_of(arguments),
        "answer": types.answer_of(method),
        "parameters": literal(tuple(found)) if (found := parameters_of(arguments)) else None,
    }
    first = f"{literal(served)}, {_access(method)}, {', '.join(map(literal, routes))}"
    lines = [first, *(f"{name}={value}" for name, value in declared.items() if value)]
    inner = "".join(f"        {line},\n" for line in lines)
    code.extending.append(f"    resource.endpoint(\n{inner}    )({view})\n")
    return f"{view}({', '.join(signature)})"


def _add_body(code: Code, method: RemoteMethod, arguments: Sequence[Argument]) -> str:
    """Add the schema of the properties of a body, if a method has some; return its name."""
    fields = list(schema_lines(arguments))
    if not fields:
        return ""
    words = code.name(f"{method.name}Body").split("_")
    schema = "".join(word.capitalize() for word in words)
    lines = "".join(f"    {line}\n" for line in fields)
    code.parts.append(
        f"class {schema}(fields.Schema):\n    {docstring(f'The body of {method.name}')}\n\n{lines}"
    )
    return schema


def _access(method: RemoteMethod) -> str:
    """Return the access type by which LoopBack 3's rules find a method."""
    declared = str(method.options.get("accessType") or "").upper()
    if declared:
        return declared if declared in ("READ", "WRITE") else "EXECUTE"
    # If there are several routes, LoopBack 3 knows no verb.
    http = method.options.get("http")
    verb = str(http.get("verb")).upper() if isinstance(http, Mapping) else ""
    return "READ" if verb in ("GET", "HEAD") else "EXECUTE"


def _public_path(model: Model | None, route: str) -> str:
    verb, _, path = route.partition(" ")
    below = f"/{model.path}" if model else ""
    return f"{verb} {below}{path.translate(PLACEHOLDERS)}".rstrip("/")
