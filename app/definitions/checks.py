"""Checks of models in JSON that need no tables, so that all problems are reported together."""

from collections.abc import Iterable, Iterator, Mapping

from flask import current_app

from app.config import SCHEMA
from app.database.ids import app_id_form
from app.database.metadata import project_tables
from app.database.session import db
from app.errors import InvalidFilter
from app.fields.files import File
from app.properties.properties import MAPPINGS
from app.properties.types import FILE
from app.rest.filters.columns import visible
from app.rest.filters.kinds import OBJECT, OPAQUE
from app.rest.filters.parser import lenient, read_filter, refuse_cursor
from app.rest.filters.related import FilteredModel, refusing
from app.rest.filters.tree import OTHERS
from app.rest.resource import Resource
from app.rest.views.collection import usual_endpoints
from app.settings import Settings, is_compatible
from app.users.resource import users

from .bases import OWNER_MAY_CHANGE
from .definition import Definition
from .limits import warn_of_null
from .reading import Models
from .relations import ResolvedRelations
from .rules import applicable_rules
from .users import users_endpoints

# Owners of names, paths and tables that no model in JSON can have.
SERVICE, SERVICE_USERS = "Ostiary", "Ostiary's users"
# Names and paths of other parts of the service: blueprints, the document and the log.
RESERVED = (
    *("account_page", "admin_page", "api_status", "audit", "confirmation", "explorer", "health"),
    *("mailed_login", "oauth", "openapi", "openapi.json", "page_assets", "status", "user_pages"),
)


def check(models: Models, resolved: Mapping[str, ResolvedRelations], usual: Resource) -> None:
    """Report problems of default filters and limits; if there are any, also unknown methods.

    Without problems, unknown methods are found when the models are served.
    """
    for definition in models.definitions.values():
        _check_scope(definition)
        warn_of_null(definition.limits, definition.properties, models.problems)
    _check_stored(models)
    used = {
        store
        for definition in [*models.with_users, *models.remote.values()]
        for store in _check_files(definition, models)
    }
    for definition in models.containers.values():
        if definition.data_source in used:
            definition.source.declared.add(
                f"{definition.data_source} has files of rows, which only their rows may show: set"
                " another data source"
            )
    for definition in models.stored:
        is_users = definition.name not in models.definitions
        owner = None if is_users else resolved[definition.name].owner
        check_owner_may_change(definition, owner)
    if models.problems.found:
        for definition in models.stored:
            _check_methods(definition, models, resolved[definition.name], usual)


def _check_stored(models: Models) -> None:
    """Report limits and computed properties of rows that are not stored here, and of users."""
    for definition in models.with_users:
        if definition.name in models.definitions:
            continue
        reason = "users have none, nor have rows that are not in the database"
        if definition.limits:
            definition.at("limits").add(f"are not possible: {reason}")
        for computed in definition.computed.values():
            computed.declared.add(f"is not possible: {reason}")


def _check_files(definition: Definition, models: Models) -> Iterator[str]:
    """Report properties with files that cannot be served; yield the stores of the others."""
    stores = current_app.config["STORES"]
    for name, property_ in definition.properties.items():
        if property_.type.name != FILE:
            continue
        place, field = definition.at("properties")[name], property_.field()
        store = field.options.store if isinstance(field, File) else ""
        if definition.name not in models.definitions:
            place.add("is not possible: users have no files, nor have rows of data sources")
        elif store not in stores:
            known = ", ".join(stores) or "none in datasources.json"
            place["store"].add(f"there is no such store; there are {known}")
        elif name in definition.calls:
            place.add("has the name of a call")
        else:
            yield store


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
    fields = {"fields": shown.pop("fields", None)}
    related = refusing(definition.relations, definition.computed)
    try:
        # Conditions may use properties that clients do not see.
        read_filter({"where": definition.scope.get("where")}, FilteredModel(kinds, related))
        model = FilteredModel(visible(kinds, definition.visibility), related)
        refuse_cursor(read_filter(shown, model))
        kinds |= dict.fromkeys(definition.computed, OPAQUE)
        read_filter(fields, FilteredModel(visible(kinds, definition.visibility), related))
    except InvalidFilter as error:
        definition.at("scope").add(str(error.description))


def _check_methods(
    definition: Definition, models: Models, resolved: ResolvedRelations, usual: Resource
) -> None:
    """Report methods that do not exist."""
    if definition.source.code.is_file():
        # The methods that the code adds are not known until it is called.
        return
    if definition.name not in models.definitions:
        endpoints = users_endpoints(usual, resolved.relations)
        methods = {endpoint.method: endpoint.owned for endpoint in endpoints}
    else:
        endpoints = usual_endpoints(resolved.relations)
        methods = {endpoint.method: resolved.owner is not None for endpoint in endpoints}
    applicable_rules(definition, methods)
    definition.switches.usable(endpoints)


# The owner of a name, path or table: a model in JSON, compared by identity as its name may be
# anything, or a text for messages.
Owner = Definition | str


def reserved_names(
    roles: Iterable[str], sources: Iterable[str], settings: Settings
) -> dict[str, str]:
    """Return the names and paths of other parts of the service, and of public data sources.

    `roles` are the names of the served role resources. Each name maps to its owner's name in
    messages.
    """
    own = (*RESERVED, "admin") if settings["ADMIN_ENABLED"] else RESERVED
    taken = dict.fromkeys([*own, *map(str.lower, roles)], SERVICE)
    return taken | {name.lower(): f"the data source {name}" for name in sources}


def shipped_names(models: Models, served: Iterable[Resource], settings: Settings) -> dict[str, str]:
    """Return the names and paths of users and of the models served so far, with owners."""
    taken: dict[str, str] = {}
    for resource in served:
        taken |= dict.fromkeys(_names(resource), f"the model {resource.name} in Python")
    return taken | dict.fromkeys([users.name, _users_path(models, settings)], SERVICE_USERS)


def _users_path(models: Models, settings: Settings) -> str:
    """Return the path of users: that of the setting, or of the model that extends User."""
    path: str = settings["USERS_PATH"]
    is_usual = path == SCHEMA.fields["USERS_PATH"].load_default
    return (models.users.path if models.users and is_usual else path).lower()


def takes_place(models: Models, sample: Resource) -> bool:
    """Return True if the models, or the properties of users, take the place of a sample model."""
    others = [*models.all.values(), *models.further_users.values()]
    taken = {name.lower() for model in others for name in (model.plural, model.path)}
    taken |= {name for resource in models.resources for name in _names(resource)}
    if models.users:
        own = {sample.name, sample.singular} - {name.lower() for name in models.all}
        relations = models.users.relations.items()
        taken |= models.users.properties.keys()
        taken |= {
            name
            for name, relation in relations
            if str(relation.mapping.get("model")).lower() not in own
        }
    return sample.name in taken


def free_resources(models: Models, others: Mapping[str, str]) -> dict[Resource, str]:
    """Return the models in Python with free names and paths; report the others.

    `others` maps names and paths that are taken to their owners.
    """
    taken = dict(others)
    free = dict[Resource, str]()
    for resource, file in models.resources.items():
        if names := sorted(_names(resource) & taken.keys()):
            models.problems.add(file, f"{names[0]} is taken by {taken[names[0]]}; set another name")
        else:
            taken |= dict.fromkeys(_names(resource), f"{resource.name} of {file}")
            free[resource] = file
    return free


def _names(resource: Resource) -> set[str]:
    return {resource.name.lower(), (resource.path or resource.name).lower()}


def check_names(
    models: Models, served: Iterable[Resource], reserved: Mapping[str, str], settings: Settings
) -> None:
    """Report names, paths and tables of models in JSON that are taken.

    If a model conflicts with its base, the derived model is reported.
    """
    shipped = shipped_names(models, served, settings)
    taken = dict[str, Owner]({**reserved, **shipped})
    if _users_path(models, settings) != users.name:
        # Users have this name, and are at another path.
        del taken[users.name]
    tables = dict[str, Owner](dict.fromkeys(db.metadata.tables, SERVICE))
    tables |= dict.fromkeys(project_tables(), "a model in Python")
    for definition in models.further_users.values():
        _claim_path(definition, taken, shipped)
    for definition in sorted(models.all.values(), key=lambda model: len(model.bases)):
        _claim_path(definition, taken, shipped)
        if definition.name in models.definitions:
            _claim_table(definition, tables)


def _claim_path(
    definition: Definition, taken: dict[str, Owner], shipped: Mapping[str, str]
) -> None:
    """Report a path or name that is taken, and a path below that of a model in Python."""
    for name, key in {definition.path: "http.path", definition.plural: "plural"}.items():
        other = taken.setdefault(name.lower(), definition)
        if key == "plural" and name.lower() == users.name:
            other = SERVICE_USERS
        if other is not definition:
            definition.at(key).add(f"{name} is taken by {_title(other)}; set another")
    head, _, rest = definition.path.lower().partition("/")
    if rest and head in shipped:
        definition.at("http.path").add(f"{definition.path} is below that of {shipped[head]}")


def _title(owner: Owner) -> str:
    return owner.name if isinstance(owner, Definition) else owner


def _claim_table(definition: Definition, tables: dict[str, Owner]) -> None:
    """Report a table that is taken; a table of the service's is renamed unless its name is set."""
    table = definition.table
    if tables.get(table) == SERVICE and not definition.table_key:
        definition.table = f"{table}_2"
        definition.at("name").warn(f"its table is {definition.table}: Ostiary has a table {table}")
    table, key = definition.table, definition.table_key
    if (other := tables.setdefault(table, definition)) is not definition:
        example = f'"{MAPPINGS[0]}": {{"table": "{table}_2"}}'
        hint = "" if key else f", for instance as `{example}`"
        definition.at(key or "name").add(
            f"{_title(other)} has a table {table} already; set another{hint}"
        )
