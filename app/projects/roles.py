"""Checks of the roles in the rules of a project's models."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

from flask import Flask

from app.access.roles import ADMIN, COMPUTED
from app.access.rules import PRINCIPAL_RANKS
from app.definitions.reading import json_models
from app.definitions.related_models import USERS
from app.problems import MISSPELT, suggest
from app.rest.collection import Collection, served_collections

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
        for rule in resource.rules(app.config):
            if isinstance(rule.principal, str):
                yield NamedRole(
                    rule.principal, {*resource.roles}, partial(models.problems.warn, file)
                )


def _dynamic(collection: Collection | None) -> set[str]:
    return {*collection.resource.roles} if collection else set()
