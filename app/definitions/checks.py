"""Checks of models in JSON that need no tables, so that all problems are reported together."""

from collections.abc import Mapping

from flask import current_app

from app.database.ids import app_id_form
from app.errors import InvalidFilter
from app.rest.filters.columns import visible
from app.rest.filters.compatibility import lenient
from app.rest.filters.kinds import OBJECT
from app.rest.filters.parser import parse_filter
from app.rest.filters.tree import OTHERS
from app.rest.resource import Resource
from app.rest.views.collection import usual_endpoints
from app.settings import is_compatible

from .bases import OWNER_MAY_CHANGE
from .definition import Definition
from .reading import Models
from .relations import ResolvedRelations
from .rules import applicable_rules
from .users import users_endpoints


def check(models: Models, resolved: Mapping[str, ResolvedRelations], users: Resource) -> None:
    """Report problems of default filters; if there are any problems, also unknown methods.

    Without problems, unknown methods are found when the models are served.
    """
    for definition in models.definitions.values():
        _check_scope(definition)
    for definition in models.stored:
        owner = None if definition is models.users else resolved[definition.name].owner
        check_owner_may_change(definition, owner)
    if models.problems.found:
        for definition in models.stored:
            _check_methods(definition, models, resolved[definition.name], users)


def check_owner_may_change(definition: Definition, owner: str | None) -> None:
    """Warn if owners may give rows away but rows have no owner; `owner` is the column."""
    if definition.owner_may_change and owner is None:
        place = definition.at(OWNER_MAY_CHANGE)
        place.warn("is without effect: no property says whose a row is")


def _check_scope(definition: Definition) -> None:
    """Check the default filter of a model."""
    kinds = definition.filterable(app_id_form())
    if is_compatible(current_app.config):
        kinds = {name: lenient(kind) for name, kind in kinds.items()}
    if definition.is_open:
        kinds[OTHERS] = OBJECT
    shown = {key: value for key, value in definition.scope.items() if key != "where"}
    try:
        # Conditions may use properties that clients do not see.
        parse_filter({"where": definition.scope.get("where")}, kinds)
        parse_filter(shown, visible(kinds, definition.visibility))
    except InvalidFilter as error:
        definition.at("scope").add(str(error.description))


def _check_methods(
    definition: Definition, models: Models, resolved: ResolvedRelations, users: Resource
) -> None:
    """Warn of methods that do not exist."""
    if definition.source.code.is_file():
        # The methods that the code adds are not known until it is called.
        return
    if definition is models.users:
        endpoints = users_endpoints(users, resolved.relations)
        methods = {endpoint.method: endpoint.owned for endpoint in endpoints}
    else:
        endpoints = usual_endpoints(resolved.relations)
        methods = {endpoint.method: resolved.owner is not None for endpoint in endpoints}
    applicable_rules(definition, methods)
    definition.switches.usable(endpoints)
