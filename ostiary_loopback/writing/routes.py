"""Routes of remote methods, as endpoints have them."""

import re
from collections.abc import Iterator
from keyword import iskeyword

from app.rest.endpoint import VERBS
from ostiary_loopback.javascript.finding import RemoteMethod

NAME = re.compile(r"[A-Za-z_$][\w$]*", re.ASCII)
PATH = re.compile(r"(/(:[A-Za-z]\w*|[\w.~@!$'()*+,;=-]+))*/?", re.ASCII)
# The verbs of a method that accepts any verb.
ALL = ("GET", "POST", "PUT", "PATCH", "DELETE")
# Parameters of a view that its route does not have.
PARAMETERS = ("row", "body")


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
