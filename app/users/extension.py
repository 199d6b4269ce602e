"""Users with additional properties: USER_PROPERTIES, and a model in JSON with `base: "User"`."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from flask import Flask
from sqlalchemy import Column, FromClause
from sqlalchemy.orm import registry

from app.database.metadata import app_metadata
from app.fields.base import Schema
from app.problems import ConfigurationError, Problems
from app.properties.declaration import Declaration
from app.properties.properties import Property, embedded_models, embedding_properties, read_property
from app.properties.types import FILE
from app.rest.relations import Relation
from app.rest.resource import Resource
from app.rest.visibility import Visibility
from app.users.transfer.csv_files import RowSchema

from .models import User, app_user_model
from .schemas import RegistrationSchema, UserSchema
from .user_models import FIRST, user_models

# Names that users already have, in JSON and in files.
TAKEN = {"id"} | {field.data_key or name for name, field in RowSchema().fields.items()}


@dataclass(frozen=True)
class UsersExtension:
    """Declarations of a model with `base: "User"`, in addition to those in the settings."""

    # In addition to those of `resource.py`.
    relations: Mapping[str, Relation] = field(default_factory=dict)
    # In addition to USER_PROPERTIES: properties that hold ids of other models, and the relations
    # that check these ids if none of `relations` does.
    keys: Sequence[Property] = ()
    foreign_keys: Sequence[Relation] = ()
    # Properties that never leave the service, including some that every user has.
    hidden: frozenset[str] = frozenset()
    # Properties that are left out of users included into other rows.
    protected: frozenset[str] = frozenset()
    # Relations that filters cannot include; other names have no effect.
    withheld: frozenset[str] = frozenset()
    # The visibility of the objects that relations hold in properties.
    embedded: Mapping[str, Visibility] = field(default_factory=dict)
    # Whether users have endpoints, and whether `PUT` replaces their record.
    is_public: bool = True
    replaces_on_put: bool = True
    # The properties of further models of users, whose columns the table has, too.
    columns_of_others: Sequence[Property] = ()
    # The name of a user in errors and the OpenAPI document.
    singular: str = "user"


def extend(app: Flask, users: Resource, definition: UsersExtension | None) -> Resource:
    """Return the resource of users with additional properties and a model's declarations.

    Raises ConfigurationError for invalid properties.
    """
    definition = definition or UsersExtension()
    relations = {**users.relations, **definition.relations}
    properties = [
        replace(own, hidden=own.hidden or own.name in definition.hidden)
        for own in (*read_properties(app, relations, definition.keys), *definition.keys)
    ]
    columns = [*properties, *definition.columns_of_others]
    model = make_model(app, columns) if columns else User
    app_user_model.set(app, model)
    models = user_models.of(app)
    models[FIRST] = replace(models[FIRST], name=definition.singular, properties=properties)
    make = partial(make_schema, properties=properties, hidden=definition.hidden)
    return replace(
        users,
        singular=definition.singular,
        model=model,
        schema=make(UserSchema),
        create_schema=make(RegistrationSchema),
        relations=relations,
        foreign_keys=definition.foreign_keys,
        is_public=definition.is_public,
        replaces_on_put=definition.replaces_on_put,
        protected=definition.protected,
        withheld=definition.withheld & relations.keys(),
        embedded={**_embedded(app), **definition.embedded},
    )


def _embedded(app: Flask) -> Mapping[str, Visibility]:
    """Return what clients see of objects in USER_PROPERTIES whose type is a model."""
    found = embedding_properties(app.config["USER_PROPERTIES"], embedded_models.of(app))
    return {name: visibility for name, visibility in found.items() if visibility.hides_anything()}


def read_properties(
    app: Flask, relations: Collection[str] = (), keys: Iterable[Property] = ()
) -> list[Property]:
    """Return the properties of USER_PROPERTIES; raise ConfigurationError with all problems.

    `relations` are the names of the users' relations, which properties cannot have; `keys` are the
    properties added by relations, whose columns properties cannot have.
    """
    problems, properties = Problems(), list[Property]()
    for name, declared in app.config["USER_PROPERTIES"].items():
        own = read_property(name, Declaration(declared, problems, name))
        if own and (problem := problem_of(own, {*TAKEN, *relations})):
            problems.add(name, problem)
        elif own:
            properties.append(own)
    _check_columns(properties, keys, problems)
    if problems.found:
        raise ConfigurationError(problems.describe("USER_PROPERTIES"))
    for warning in problems.warnings:
        app.logger.warning("USER_PROPERTIES: %s", warning)
    return properties


def problem_of(declared: Property, taken: Collection[str]) -> str:
    """Return why users cannot have a property; `taken` are names that they already have."""
    if declared.type.name == FILE:
        return "users have no files; a model that belongs to them may"
    if declared.name in taken:
        return "users have a property or a relation of this name"
    # Including names in the Python model, such as its methods.
    if hasattr(User, declared.column_name):
        return f"the column {declared.column_name} is one of the service's own"
    return ""


def _check_columns(
    properties: Iterable[Property], keys: Iterable[Property], problems: Problems
) -> None:
    """Report columns that two properties have in common, including keys of relations."""
    names = {key.column_name: key.name for key in keys}
    for own in properties:
        if other := names.get(own.column_name):
            holder = f"{other}, the key of a relation," if other == own.name else other
            problems.add(own.name, f"the column {own.column_name} is that of {holder} too")
        names[own.column_name] = own.name


def make_model(app: Flask, properties: Sequence[Property]) -> type[User]:
    """Return a subclass of User with a table of its own that has a column for each property."""
    metadata = app_metadata.of(app)
    table = User.__table__.to_metadata(metadata)  # type: ignore[attr-defined]
    for own in properties:
        table.append_column(_column(own))
    return map_users("User", table)


def map_users(name: str, table: FromClause) -> type[User]:
    """Return a subclass of User with this name, mapped to a table of users."""
    model: type[User] = type(name, (User,), {"__abstract__": True})
    registry().map_imperatively(model, table, inherits=User, concrete=True)
    return model


def _column(declared: Property) -> Column[Any]:
    column = declared.column()
    # The table may have users from before the property was declared or required.
    column.nullable = True
    # An index rather than a constraint, for which SQLite would copy the table.
    column.index = declared.index or declared.unique
    return column


def make_schema(
    base: type[Schema], properties: Iterable[Property], hidden: Collection[str] = ()
) -> type[Schema]:
    """Return a schema of users with these properties, without built-in ones that are hidden.

    Raises ConfigurationError for a hidden id.
    """
    if "id" in hidden:
        raise ConfigurationError("the id of users cannot be hidden")
    known = {name: field for name, field in base().fields.items() if name in hidden}
    unseen = [name for name, field in known.items() if field.dump_only]
    written = tuple(known.keys() - unseen)
    excluded = (*getattr(base.Meta, "exclude", ()), *unseen)
    options = {"register": False, "exclude": excluded, "load_only": written}
    made = {own.name: own.field() for own in properties}
    meta = type("Meta", (base.Meta,), options)
    return type(base.__name__, (base,), {**made, "Meta": meta})
