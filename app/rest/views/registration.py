"""Serving resources: their endpoints, and checks of the relations between them."""

from collections.abc import Container, Mapping
from functools import wraps

from flask import Flask
from sqlalchemy import inspect

from app.access.policy import Grant, denial
from app.config import ConfigurationError
from app.errors import InvalidFilter, ModelNotFound
from app.ids import UUID_LENGTH
from app.rest.added_relations import with_added_relations
from app.rest.collection import Collection, served_collections
from app.rest.endpoint import Endpoint, Endpoints, register_endpoints
from app.rest.filters.columns import check_types, has_short_ids
from app.rest.relations import Relation
from app.rest.resource import Resource
from app.rest.rows.mapper_events import check_events
from app.rest.shared_methods import switch_off, unknown_methods
from app.settings import is_compatible

from .collection import all_endpoints
from .includes import check_scope


def register_resource(app: Flask, resource: Resource) -> None:
    """Serve a resource: the endpoints of every collection, of its relations and its own.

    Raises ConfigurationError for a name that is taken, and for invalid columns, listeners, rules,
    paths and names of methods.
    """
    if resource.name in served_collections.of(app):
        raise ConfigurationError(f"{resource.name} is served already; set another name")
    resource = with_added_relations(app, resource)
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
    served = Endpoints(resource.name, endpoints, rules, dynamic=resource.roles, path=resource.path)
    register_endpoints(app, served)


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
            return f"there is no model {name}"
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
