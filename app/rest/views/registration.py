"""Serving resources: endpoints, and checks of models, relations and what else they declare."""

from collections import defaultdict
from collections.abc import Container, Iterator, Mapping
from dataclasses import replace
from functools import wraps
from types import FunctionType

from flask import Flask
from sqlalchemy import Column, Table, inspect, select
from sqlalchemy.orm import configure_mappers

from app.access.policy import Grant, denial, principal_types
from app.database.session import db
from app.errors import InvalidFilter, ModelNotFound
from app.ids import UUID_LENGTH
from app.problems import ConfigurationError, Problems, describe_error, suggest
from app.rest.collection import Collection, served_collections
from app.rest.computed import unusable
from app.rest.endpoint import Endpoint, Endpoints, register_endpoints
from app.rest.filters.columns import check_types, has_short_ids
from app.rest.relations import BELONGS_TO, Relation
from app.rest.resource import Resource
from app.rest.rows.dependents import Dependent, Dependents, dependents
from app.rest.served_relations import with_added_relations
from app.rest.shared_methods import switch_off, unknown_methods
from app.settings import is_compatible

from .collection import all_endpoints
from .includes import check_scope

MAPPER_EVENTS = (
    *("before_insert", "after_insert", "before_update", "after_update"),
    *("before_delete", "after_delete"),
)
INSTANCE_EVENTS = ("load", "refresh")
ATTRIBUTE_EVENTS = ("set", "init_scalar")


def register_resource(app: Flask, resource: Resource) -> None:
    """Serve a resource: the endpoints of every collection, of its relations and its own.

    Raises ConfigurationError for a name that is taken, and for invalid columns, listeners, rules,
    paths and names of methods.
    """
    if resource.name in served_collections.of(app):
        raise ConfigurationError(f"{resource.name} is served already; set another name")
    resource = with_added_relations(app, resource)
    changes = resource.changes or resource.name in app.config["CHANGES"]
    resource = replace(resource, owners=_owners(app, resource), changes=changes)
    collection = Collection(resource, app.config)
    check_types(resource.name, collection.properties)
    _check_id(collection)
    check_events(resource.name, resource.model)
    collection.add_to(app)
    endpoints = all_endpoints(collection)
    if is_compatible(app.config):
        endpoints = [_refusing(collection, endpoint) for endpoint in endpoints]
    if unknown := unknown_methods(endpoints, resource.shared_methods):
        raise ConfigurationError(f"{resource.name}: {next(iter(unknown.values()))}")
    if resource.is_public:
        endpoints = switch_off(endpoints, app.config["SHARED_METHODS"], resource.shared_methods)
    else:
        endpoints = [endpoint.replace(is_served=lambda _: False) for endpoint in endpoints]
    rules = resource.rules(app.config)
    served = Endpoints(
        *(resource.name, endpoints, rules),
        dynamic=resource.roles,
        owners=resource.owners,
        path=resource.path,
    )
    register_endpoints(app, served)


def _owners(app: Flask, resource: Resource) -> str | None:
    """Return the model of users that own a resource's rows, if there are several models of users.

    None: users of any model, because no relation leads from the rows to their owners.
    """
    types = principal_types.of(app)
    if len(types) == 1 or resource.owner is None:
        return None
    if resource.holds_users:
        return types.get(resource.name)
    relations = (*resource.relations.values(), *resource.foreign_keys)
    owners = (
        types[relation.target]
        for relation in relations
        if relation.kind == BELONGS_TO
        and relation.foreign_key == resource.owner.key
        and relation.target in types
    )
    return next(owners, None)


def _refusing(collection: Collection, endpoint: Endpoint) -> Endpoint:
    """Return an endpoint that denies, as LoopBack 3 does, rows that are not the caller's.

    Applies to callers whom only a rule for $owner allows the call. Missing rows are denied, too, so
    that responses do not reveal which rows exist.
    """

    @wraps(endpoint.view)
    def view(grant: Grant, **arguments: object) -> object:
        try:
            return endpoint.view(grant, **arguments)
        except ModelNotFound as error:
            row_id = arguments.get("id")
            is_row = error.model == collection.singular and str(error.row_id) == row_id
            if not (is_row and grant.only_own):
                raise
            raise denial(collection.name, row_id) from None

    return endpoint.replace(view=view)


def _check_id(collection: Collection) -> None:
    """Raise ConfigurationError for a model whose new rows would have no id."""
    if has_short_ids(collection.rows.key) and not collection.resource.id_on_create:
        raise ConfigurationError(
            f"{collection.name}.id: a UUID does not fit into it; set id_on_create, or its length to"
            f" {UUID_LENGTH}"
        )


def check_relations(app: Flask) -> None:
    """Raise ConfigurationError for relations with an unknown resource or attribute."""
    collections = served_collections.of(app)
    with app.app_context():
        for collection in collections.values():
            for name, relation in collection.relations.items():
                problem = _relation_problem(collection, relation, collections)
                if relation.scope and not problem:
                    problem = _scope_problem(collection, name)
                if problem:
                    raise ConfigurationError(f"the relation {collection.name}.{name}: {problem}")


def _scope_problem(collection: Collection, name: str) -> str:
    try:
        check_scope(collection, name)
    except InvalidFilter as error:
        return f"its scope cannot be used: {error.description}"
    return ""


def _relation_problem(
    collection: Collection, relation: Relation, collections: Mapping[str, Collection]
) -> str:
    names = relation.types.values() or [relation.target]
    targets = [collection if relation.is_embedded else collections.get(name) for name in names]
    for name, target in zip(names, targets, strict=True):
        if target is None:
            return f"there is no model {name}{suggest(name, collections)}"
        holder = relation.holder(collection.model, target.model)
        if problem := _key_problem(relation, inspect(holder).columns, holder.__name__):
            return problem
        parent = target if relation.has_types else collection
        if relation.discriminator and not _may_hold(relation, holder, parent):
            return f"{relation.foreign_key} of {holder.__name__} has no ids of {parent.name}"
    shown = {column.key for column in collection.properties.values()}
    if relation.has_own_key and (hidden := {*relation.attributes} - shown):
        return f"{min(hidden)} must be a property, so that clients can read it"
    return ""


def _key_problem(relation: Relation, columns: Container[str], holder: str) -> str:
    missing = [key for key in relation.attributes if key not in columns]
    return f"{holder} has no attribute {missing[0]}" if missing else ""


def _may_hold(relation: Relation, holder: type[object], parent: Collection) -> bool:
    """Return True if a foreign key may hold ids of rows of several resources."""
    made = inspect(holder).columns[relation.foreign_key].type.python_type
    return made is str or made is parent.id_form.python_type


def check_events(name: str, model: type[object]) -> None:
    """Raise ConfigurationError for a model whose mapper or attributes have listeners."""
    configure_mappers()
    if found := next(_listened(model), None):
        raise ConfigurationError(
            f"the model of {name} has {found}, which would never be called: rows are written as "
            "tables; use the hooks of the resource"
        )


def _listened(model: type[object]) -> Iterator[str]:
    """Yield the events that a model listens to."""
    mapper = inspect(model)
    yield from (f"@validates for {name}" for name in mapper.validators)
    for dispatch, events in (
        (mapper.dispatch, MAPPER_EVENTS),
        (mapper.class_manager.dispatch, INSTANCE_EVENTS),
    ):
        yield from (f"a listener for {event}" for event in events if _has_listener(dispatch, event))
    for column in mapper.column_attrs:
        dispatch = getattr(model, column.key).dispatch
        for event in ATTRIBUTE_EVENTS:
            if _has_listener(dispatch, event):
                yield f"a listener for {event} of {column.key}"


def _has_listener(dispatch: object, event: str) -> bool:
    """Return True if this model has listeners beside those of SQLAlchemy's mutable types."""
    return not all(map(_is_of_mutable_type, getattr(dispatch, event).listeners))


def _is_of_mutable_type(listener: FunctionType) -> bool:
    """Return True for a listener of SQLAlchemy's mutable types, wrapped or not."""
    wrapped = [cell.cell_contents for cell in listener.__closure__ or ()]
    return any(
        getattr(function, "__module__", "") == "sqlalchemy.ext.mutable"
        for function in [listener, *wrapped]
    )


def check_limits(app: Flask) -> None:
    """Raise ConfigurationError for limits that cannot be used, with all problems."""
    problems = Problems()
    with app.app_context():
        for collection in served_collections.of(app).values():
            if collection.limits:
                collection.limits.report(problems)
    if problems.found:
        raise ConfigurationError(problems.describe("the limits"))


def check_computed(app: Flask) -> None:
    """Raise ConfigurationError for computed properties without SQL; all must be registered."""
    with app.app_context():
        for collection in served_collections.of(app).values():
            table = collection.rows.key.table
            for name, column in collection.computed.items():
                try:
                    select(column.on(table)).select_from(table).compile(dialect=db.engine.dialect)
                except Exception as error:
                    # A function of a project may raise any.
                    raise unusable(collection.name, name, describe_error(error)) from None


def find_dependents(app: Flask) -> None:
    """Determine what deletions affect; all resources must be registered."""
    collections = served_collections.of(app)
    polymorphic = defaultdict[str, list[Dependent]](list)
    files = {
        collection.rows.key.table.name: list(collection.rows.files.values())
        for collection in collections.values()
        if collection.rows.files
    }
    for collection in collections.values():
        for dependent in _dependents_of(collection, collections):
            known = polymorphic[collection.rows.key.table.name]
            if dependent not in known:
                known.append(dependent)
    if polymorphic or files:
        tables = {collection.rows.key.table for collection in collections.values()}
        cascading = _cascading_keys(tables, {*polymorphic, *files})
        dependents.set(app, Dependents(polymorphic, files, cascading))


def _dependents_of(
    collection: Collection, collections: dict[str, Collection]
) -> Iterator[Dependent]:
    """Yield the dependents of a collection's rows, by its hasOne and hasMany relations."""
    for relation in collection.relations.values():
        if relation.type_name:
            column = collections[relation.target].rows.column
            key, discriminator = map(column, (relation.foreign_key, relation.discriminator))
            yield Dependent(key, discriminator, relation.type_name)


def _cascading_keys(tables: set[Table], concerned: set[str]) -> dict[str, list[Column[object]]]:
    """Return the foreign keys by which the database deletes rows of these tables."""
    found = defaultdict[str, list[Column[object]]](list)
    open_ = set(concerned)
    while open_:
        deleted = open_.pop()
        for key in (key for table in tables if table.name == deleted for key in table.foreign_keys):
            known = found[key.target_fullname.partition(".")[0]]
            if key.ondelete == "CASCADE" and not any(key.parent is other for other in known):
                known.append(key.parent)
                open_.add(key.target_fullname.partition(".")[0])
    return {name: keys for name, keys in found.items() if keys}
