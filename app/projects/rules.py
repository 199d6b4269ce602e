"""Checks of the rules of a project's models: their roles, and who may call what."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import NamedTuple

from flask import Flask

from app.access.policy import compiled_rules
from app.access.roles import ADMIN, COMPUTED
from app.access.rules import EVERYONE, PRINCIPAL_RANKS, READ, UNAUTHENTICATED, WRITE
from app.definitions.reading import json_models
from app.definitions.related_models import USERS
from app.problems import MISSPELT, suggest
from app.rest.collection import Collection, served_collections
from app.rest.endpoint import served_endpoints
from app.rest.shared_methods import RELATED
from app.settings import ALLOW

from .fixtures.files import fixture_roles


class NamedRole(NamedTuple):
    """A role in a rule, the dynamic roles of the model's rows, and where to report it."""

    name: str
    dynamic: set[str]
    warn: Callable[[str], None]


def check_roles(app: Flask) -> Iterator[str]:
    """Yield a sentence for each role without members; warn of probably misspelt ones.

    Known roles are those of built-in rules and of fixtures, and the model's dynamic roles. If
    fixtures have roles, they are expected to have all of them.
    """
    declared = fixture_roles(app)
    known = {ADMIN, *declared}
    unknown = set[str]()
    for role in _named_roles(app):
        others = known | role.dynamic
        if role.name in others or role.name in PRINCIPAL_RANKS:
            continue
        if role.name.startswith(COMPUTED):
            others = {*PRINCIPAL_RANKS, *role.dynamic}
            if meant := suggest(role.name, others, MISSPELT):
                role.warn(f"there is no role '{role.name}'{meant}")
            continue
        if meant := suggest(role.name, others, MISSPELT):
            role.warn(f"there is no role '{role.name}'{meant}")
        elif declared:
            role.warn(f"no fixture has the role '{role.name}'")
        else:
            unknown.add(role.name)
    for name in sorted(unknown):
        yield f"No fixture has the role {name}: `ostiary roles grant` gives it to a user."


def _named_roles(app: Flask) -> Iterator[NamedRole]:
    """Yield the roles in the rules of the project's models."""
    models, collections = json_models.of(app), served_collections.of(app)
    for definition in models.with_users:
        collection = collections.get(USERS if definition is models.users else definition.plural)
        for declared, rule in definition.rules:
            if isinstance(rule.principal, str):
                place = declared["principalId"]
                yield NamedRole(rule.principal, _dynamic(collection), place.warn)
    for resource, file in models.resources.items():
        for rule in resource.all_rules(app.config):
            if isinstance(rule.principal, str):
                yield NamedRole(
                    rule.principal, {*resource.roles}, partial(models.problems.warn, file)
                )


def _dynamic(collection: Collection | None) -> set[str]:
    return {*collection.resource.roles} if collection else set()


def check_permissions(app: Flask, models: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Yield a sentence for each model that nobody can call, or everybody can write to.

    Also for own endpoints that everybody can call by a rule that does not name them. `models` are
    names, each with that of the resource. Models that everybody can write to are only reported if
    DEFAULT_PERMISSION allows calls without a rule, because that may be unintended.
    """
    default = app.config["DEFAULT_PERMISSION"]
    rules = compiled_rules.of(app)
    for name, resource in models:
        served = _served_methods(app, resource)
        decided = {method: rules[resource, method] for method in served}
        if served and not any(rule.allows_somebody for rule in decided.values()):
            yield (
                f"{name} can be reached by nobody: no rule allows a call, and DEFAULT_PERMISSION"
                f" is {default}."
            )
        writing = [method for method in _writing(served) if decided[method].decision(None).others]
        if writing and default == ALLOW:
            yield f"{name} can be written to by everybody, without a token: {', '.join(writing)}."
        own = [method for method in _unnamed(app, resource) if method in served]
        if opened := [method for method in own if decided[method].decision(None).others]:
            yield (
                f"{name} has own endpoints that everybody can call, without a token, by a rule that"
                f" does not name them: {', '.join(opened)}."
            )


def _writing(served: Mapping[str, str]) -> Iterator[str]:
    """Yield the methods that write rows of a resource itself."""
    for method, access in served.items():
        if access == WRITE and not method.startswith(RELATED):
            yield method


def _unnamed(app: Flask, resource: str) -> Iterator[str]:
    """Yield the own endpoints that read and that no rule of the model names for everybody."""
    collection = served_collections.of(app).get(resource)
    if collection is None:
        return
    rules = collection.resource.rules(app.config)
    everybody = {EVERYONE, UNAUTHENTICATED}
    named = {name for rule in rules if rule.principal in everybody for name in rule.properties}
    for endpoint in collection.resource.own_endpoints:
        if endpoint.access == READ and endpoint.method not in named:
            yield endpoint.method


def _served_methods(app: Flask, resource: str) -> dict[str, str]:
    """Return the methods of a resource with endpoints, and their access types."""
    return {
        endpoint.method: endpoint.access
        for name, endpoint in served_endpoints.of(app).items()
        if name == f"{resource}.{endpoint.method}"
    }
