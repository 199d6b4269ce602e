"""Names, paths and tables that models in JSON cannot have, as something else has them."""

from collections.abc import Iterable, Mapping

from app.database.metadata import project_tables
from app.database.session import db
from app.properties.properties import MAPPINGS
from app.rest.resource import Resource
from app.settings import Settings
from app.users.resource import users

from .definition import Definition
from .reading import Models

# What tables and paths belong to that no model has.
SERVICE = "Ostiary"
# The paths of other parts of the service.
RESERVED = (
    *("openapi", "openapi.json", "explorer", "health", "status", "confirmation", "user_pages"),
    *("oauth", "audit"),
)


def reserved_names(settings: Settings) -> dict[str, str]:
    """Return the names and paths of other parts of a service with these settings."""
    names = (*RESERVED, "admin") if settings["ADMIN_ENABLED"] else RESERVED
    return dict.fromkeys(names, SERVICE)


def takes_place(models: Models, sample: Resource) -> bool:
    """Tell whether the models, or what users have, take the place of a sample model."""
    taken = {name.lower() for model in models.all.values() for name in (model.plural, model.path)}
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


def free_resources(
    models: Models, served: Iterable[Resource], sources: Iterable[str], reserved: Mapping[str, str]
) -> dict[Resource, str]:
    """Return the models in Python whose names and paths are free; report the others."""
    taken = {name: resource.name for resource in [users, *served] for name in _names(resource)}
    taken |= {name.lower(): f"the data source {name}" for name in sources}
    taken |= reserved
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
    models: Models, served: Iterable[Resource], sources: Iterable[str], reserved: Mapping[str, str]
) -> None:
    """Report names, paths and tables that two models have, or one of the public data sources."""
    shipped = {resource.name.lower(): resource.name for resource in [users, *served]}
    if models.users:
        shipped[models.users.path.lower()] = users.name
    taken = dict(reserved)
    taken |= {name.lower(): f"the data source {name}" for name in sources}
    taken |= shipped
    tables = dict.fromkeys(db.metadata.tables, SERVICE)
    tables |= dict.fromkeys(project_tables(), "a model in Python")
    for definition in models.all.values():
        _claim_path(definition, taken, shipped)
        if definition.name in models.definitions:
            _claim_table(definition, tables)


def _claim_path(definition: Definition, taken: dict[str, str], shipped: Mapping[str, str]) -> None:
    """Report a path or a name that is taken, and a path below that of another model."""
    for name, key in {definition.path: "http.path", definition.plural: "plural"}.items():
        other = taken.setdefault(name.lower(), definition.name)
        if other != definition.name:
            definition.at(key).add(f"{name} is taken by {other}; set another")
    head, _, rest = definition.path.lower().partition("/")
    if rest and head in shipped:
        definition.at("http.path").add(f"{definition.path} is below that of {shipped[head]}")


def _claim_table(definition: Definition, tables: dict[str, str]) -> None:
    """Report a table that another model has; one of ours gets another name, unless it is set."""
    table = definition.table
    if tables.get(table) == SERVICE and not definition.table_key:
        definition.table = f"{table}_2"
        definition.at("name").warn(f"its table is {definition.table}: Ostiary has a table {table}")
    table, key = definition.table, definition.table_key
    if (other := tables.setdefault(table, definition.name)) != definition.name:
        example = f'"{MAPPINGS[0]}": {{"table": "{table}_2"}}'
        hint = "" if key else f", for instance as `{example}`"
        definition.at(key or "name").add(f"{other} has a table {table} already; set another{hint}")
