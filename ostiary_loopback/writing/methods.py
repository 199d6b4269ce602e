"""Remote methods of an application as endpoints, with stubs as their views."""

import re
from collections.abc import Iterator, Mapping, Sequence
from keyword import iskeyword

from app.rest.endpoint import VERBS, declared_by
from app.rest.shared_methods import ALIASES, UNSERVED
from app.rest.views.collection import CollectionViews
from app.users.resource import users
from ostiary_loopback.application import Model
from ostiary_loopback.javascript import Finding
from ostiary_loopback.javascript.finding import RemoteMethod

from .arguments import Argument, Types, arguments_of, parameters_of, schema_lines
from .code import Code, docstring
from .models import has_rows
from .python import comment, literal

# Methods that every collection, or users, have already.
SERVED = {
    *declared_by(CollectionViews),
    *(endpoint.method for endpoint in declared_by(CollectionViews).values()),
    *(endpoint.method for endpoint in users.own_endpoints),
    *ALIASES,
    *UNSERVED,
}
NAME = re.compile(r"[A-Za-z_$][\w$]*", re.ASCII)
PATH = re.compile(r"(/(:[A-Za-z]\w*|[\w.~@!$'()*+,;=-]+))*/?", re.ASCII)
# The verbs of a method that accepts any verb.
ALL = ("GET", "POST", "PUT", "PATCH", "DELETE")
# Parameters of a view that its route does not have.
PARAMETERS = ("row", "body")
# Converts Flask's placeholders to those of OpenAPI.
PLACEHOLDERS = str.maketrans("<>", "{}")


def add_method(code: Code, finding: Finding, method: RemoteMethod) -> None:
    """Add the view of a remote method, and the endpoint if it can be served."""
    name = f"{finding.model or '?'}.{method.name}"
    is_named = bool(NAME.fullmatch(method.name))
    routes = list(routes_of(method)) if is_named else []
    view = code.name(method.name)
    reason = _why_not_served(code, method, routes)
    signature = f"{view}(*arguments: Any, **named: Any)"
    if code.model and not reason:
        signature = _add_endpoint(code, code.model, method, routes, view)
    text = comment(f"It is not served: {reason}.") if reason else ""
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
    if method.name in SERVED | code.methods or method.name.startswith("__"):
        return "Ostiary has a method of this name, which stays as it is"
    return "" if routes else "its name or its route is known only when the JavaScript runs"


def _add_endpoint(
    code: Code, model: Model, method: RemoteMethod, routes: Sequence[str], view: str
) -> str:
    """Add the endpoint of a method and the schema of its body; return the view's signature."""
    code.methods.add(method.name)
    arguments = arguments_of(method)
    types = Types(code.application, model)
    by_row = "<id>" in routes[0] and has_rows(code.application, model)
    schema = _add_body(code, method, arguments)
    placeholders = [name for route in routes for name in re.findall(r"<(\w+)>", route)]
    signature = ["row: Any"] if by_row else []
    signature += [
        f"{name}: str" for name in dict.fromkeys(placeholders) if name != "id" or not by_row
    ]
    signature += ["body: Any"] if schema else []
    declared = {
        "finds_row": "False" if "<id>" in routes[0] and not by_row else None,
        "body": schema or types.body_of(arguments),
        "answer": types.answer_of(method),
        "parameters": literal(tuple(found)) if (found := parameters_of(arguments)) else None,
    }
    first = f"{literal(method.name)}, {_access(method)}, {', '.join(map(literal, routes))}"
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


def routes_of(method: RemoteMethod) -> Iterator[str]:
    """Yield the routes of a method as an endpoint has them; either all have `<id>`, or none."""
    found = dict[str, None]()
    for route in method.http:
        path = route["path"] if route["path"].startswith("/") else f"/{route['path']}"
        path = path if method.is_static else f"/:id{path}"
        verb = route["verb"].upper()
        if not PATH.fullmatch(path) or verb not in (*VERBS, "ALL"):
            continue
        path = re.sub(r":(\w+)", _placeholder, path)
        for each in ALL if verb == "ALL" else (verb,):
            found[f"{each} {path.rstrip('/') or '/'}"] = None
    by_id = "<id>" in next(iter(found), "")
    yield from (route for route in found if ("<id>" in route) == by_id)


def _placeholder(parameter: re.Match[str]) -> str:
    """Return the placeholder of a parameter, with a name that a view can have."""
    name = parameter[1]
    return f"<{name}_>" if iskeyword(name) or name in PARAMETERS else f"<{name}>"


def _public_path(model: Model | None, route: str) -> str:
    verb, _, path = route.partition(" ")
    below = f"/{model.path}" if model else ""
    return f"{verb} {below}{path.translate(PLACEHOLDERS)}".rstrip("/")
