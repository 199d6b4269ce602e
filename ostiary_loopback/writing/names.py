"""Other names for remote methods, if Ostiary has methods of their names."""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import count
from typing import Any

from app.features import FEATURES, Stage
from app.rest.endpoint import Endpoint, declared_by
from app.rest.shared_methods import ALIASES, PROTOTYPE, UNSERVED
from app.rest.views.collection import AGGREGATE, CollectionViews
from app.users.resource import users
from ostiary_loopback.application import Application, Model
from ostiary_loopback.javascript import Finding
from ostiary_loopback.javascript.finding import RemoteMethod

from .routes import NAME, routes_of

PLACEHOLDER = re.compile(r"<\w+>")
Names = Mapping[str, str]


def other_names(application: Application, model: Model, found: Iterable[Finding]) -> Names:
    """Return the names by which a model's remote methods are served, by their names in LoopBack 3.

    Those whose names are free are left out, and those whose routes Ostiary's methods have.
    """
    is_user = application.is_user(model)
    methods = [
        finding.details
        for finding in found
        if finding.model == model.name and isinstance(finding.details, RemoteMethod)
    ]
    taken = {*served_methods(is_user), *(method.name for method in methods)}
    names = dict[str, str]()
    for method in methods:
        is_other = method.name in served_methods(is_user) and own_routes(is_user, method)
        if is_other and method.name not in names:
            numbered = (f"{method.name}{number}" for number in count(2))
            names[method.name] = next(name for name in numbered if name not in taken)
            taken.add(names[method.name])
    return names


def own_routes(is_user: bool, method: RemoteMethod) -> list[str]:
    """Return the routes of a method that Ostiary's method of the same name does not have."""
    if not NAME.fullmatch(method.name):
        return []
    served = served_methods(is_user).get(method.name, ())
    return [route for route in routes_of(method) if _form(route) not in served]


@cache
def served_methods(is_user: bool) -> Mapping[str, Sequence[str]]:
    """Return the methods of every collection, or of users, with their routes."""
    collection = declared_by(CollectionViews)
    methods = dict[str, Sequence[str]](dict.fromkeys([*collection, *ALIASES, *UNSERVED], ()))
    endpoints = [*collection.values(), *(_endpoints_of_users() if is_user else ())]
    for endpoint in endpoints:
        routes = [_form(f"{route.verb} {route.path or '/'}") for route in endpoint.routes]
        methods[endpoint.method] = [*methods.get(endpoint.method, ()), *routes]
    # An application's own takes the place of this one.
    del methods[AGGREGATE]
    return methods


def _endpoints_of_users() -> Sequence[Endpoint]:
    """Return the endpoints of users, after importing the modules that add them in every app."""
    for feature in FEATURES:
        if feature.stage in (Stage.RESOURCES, Stage.USERS) and feature.is_imported:
            feature.load()
    return users.own_endpoints


def _form(route: str) -> str:
    """Return a route without the names of its placeholders."""
    return PLACEHOLDER.sub("<>", route)


def with_other_names(declared: Mapping[str, Any], names: Names) -> dict[str, Any]:
    """Return a model's declaration whose `acls` also name the other names of methods."""
    rules = declared.get("acls")
    if not names or not isinstance(rules, list):
        return dict(declared)
    return {**declared, "acls": [_with_other_names(rule, names) for rule in rules]}


def _with_other_names(rule: object, names: Names) -> object:
    given = rule.get("property") if isinstance(rule, Mapping) else None
    listed = [given] if isinstance(given, str) else given
    if not isinstance(rule, Mapping) or not isinstance(listed, list):
        return rule
    plain = [name.removeprefix(PROTOTYPE) for name in listed if isinstance(name, str)]
    others = [names[name] for name in plain if name in names]
    return {**rule, "property": [*listed, *others]} if others else rule
