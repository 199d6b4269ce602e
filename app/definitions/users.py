"""Users, as declared by the models with the base User."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from flask import Flask
from marshmallow import ValidationError, fields
from sqlalchemy import inspect

from app.config import SCHEMA
from app.properties.properties import MAX_NAME, column_name
from app.rest.endpoint import Endpoint
from app.rest.relations import Relation
from app.rest.resource import Resource
from app.rest.views.collection import declared_endpoints
from app.settings import Settings
from app.users.extension import TAKEN, UsersExtension, make_schema, map_users, problem_of
from app.users.models import User, app_user_model
from app.users.resource import extended_users, lower_case_names, rows_of, users
from app.users.schemas import RegistrationSchema, UserSchema
from app.users.user_models import UserModel, user_models
from app.users.views.sessions import LoginSchema, login_schema

from .bases import USER_SETTINGS, MergedModel
from .definition import Definition, read_definition
from .relations import ResolvedRelations
from .resources import usable_switches
from .rules import applicable_rules

VERIFICATION, ETERNAL = "EMAIL_VERIFICATION", "ETERNAL_TOKENS"
# Properties of LoopBack 3's User that Ostiary implements itself.
BUILT_IN = {
    *("id", "realm", "username", "email", "password", "emailVerified", "verificationToken"),
    "created",
}


def define_users(merged: MergedModel, is_first: bool = True) -> Definition:
    """Return the definition of a model of users, without the properties that all users have.

    The columns of a further model have names that begin with its own.
    """
    for name in [name for name in merged.properties if name in BUILT_IN]:
        merged.properties.pop(name).warn("is ignored: users have this property already")
    _keep_ids(merged)
    definition = read_definition(merged)
    definition.settings = dict(_settings(merged))
    for name in BUILT_IN.intersection(definition.times):
        del definition.properties[name]
    definition.own_names = frozenset({*BUILT_IN, *TAKEN})
    definition.calls |= {*BUILT_IN, *_calls()}
    definition.own_columns = frozenset(dir(User))
    if not is_first:
        definition.column_prefix = f"{column_name(definition.name)}_"
        definition.properties = {
            name: replace(own, column_name=f"{definition.column_prefix}{own.column_name}")
            for name, own in definition.properties.items()
        }
    _check_properties(definition, merged)
    if definition.is_open or definition.scope:
        merged.declared.warn("strict and scope are ignored: these are users")
    if definition.indexes:
        definition.at("indexes").warn("are ignored: a property of users has `index` or `unique`")
    return definition


def _check_properties(definition: Definition, merged: MergedModel) -> None:
    """Report properties that users cannot have."""
    for name, property_ in definition.properties.items():
        problem = problem_of(property_, definition.own_names)
        if not problem and len(property_.column_name) > MAX_NAME:
            problem = f"its column {property_.column_name} has over {MAX_NAME} characters"
        if problem:
            merged.properties.get(name, definition.at("mixins")).add(problem)


def _keep_ids(merged: MergedModel) -> None:
    """Treat properties declared as the id like any other."""
    for name, property_ in merged.properties.items():
        if property_.mapping.get("id"):
            property_["id"].warn("is ignored: users have an id")
            rest = {key: value for key, value in property_.mapping.items() if key != "id"}
            merged.properties[name] = property_.with_value(rest)


def _calls() -> set[str]:
    """Return the names served below the path of a user, besides relations."""
    paths = (route.path for endpoint in users.own_endpoints for route in endpoint.routes)
    return {path.split("/")[2] for path in paths if path.startswith("/<id>/")}


def _settings(merged: MergedModel) -> Iterator[tuple[str, object]]:
    """Yield the settings equivalent to LoopBack 3's options of User, with their values."""
    known = SCHEMA.fields
    for option, name in USER_SETTINGS.items():
        setting = merged.setting(option)
        if (value := setting.value) is None:
            continue
        try:
            if name == VERIFICATION:
                value = "required" if fields.Boolean().deserialize(value) else None
            value = known[name].deserialize(value)
            if name == ETERNAL and value:
                setting.warn("no token lives longer than TOKEN_MAX_TTL says")
            yield name, value
        except ValidationError as error:
            # By default the settings decide how long a token lives; LoopBack 3 uses -1 for no
            # limit.
            report = setting.warn if isinstance(known[name], fields.Integer) else setting.add
            report(f"cannot be used: {error.messages[0]}")


def settings_of_users(app: Flask, definition: Definition) -> dict[str, Any]:
    """Return the settings of a model of users; those that were changed take precedence."""
    usual, config = SCHEMA.load({}), app.config
    given = {"USERS_PATH": definition.path, **definition.settings}
    own: dict[str, Any] = {
        name: given[name] if name in given and config[name] == usual[name] else config[name]
        for name in ("USERS_PATH", *USER_SETTINGS.values())
    }
    return {**own, "TOKEN_TTL": min(own["TOKEN_TTL"], own["TOKEN_MAX_TTL"])}


def make_users(
    app: Flask,
    definition: Definition,
    related: ResolvedRelations,
    settings: Mapping[str, Any],
    further: Iterable[Definition],
) -> Resource:
    """Return the resource of the app's first model of users, with these settings.

    The table has the columns of the further models, too.
    """
    app.config.update(settings)
    elsewhere = {*definition.foreign_keys, *definition.polymorphic, *definition.held}
    own = {
        name: declared
        for name, declared in definition.declared.items()
        if name in definition.properties.keys() - elsewhere
    }
    app.config["USER_PROPERTIES"] = {**own, **app.config["USER_PROPERTIES"]}
    extension = UsersExtension(
        relations=related.relations,
        keys=[key for name, key in definition.properties.items() if name not in own],
        foreign_keys=related.foreign_keys,
        hidden=definition.hidden & (users.properties.keys() | definition.properties.keys()),
        protected=definition.protected,
        withheld=definition.hidden,
        embedded=definition.embedded,
        singular=definition.name,
        is_public=definition.is_public,
        replaces_on_put=definition.replaces_on_put,
        columns_of_others=[own for other in further for own in other.properties.values()],
    )
    return extended_users(app, extension)


def make_further_users(
    app: Flask, definition: Definition, related: ResolvedRelations, settings: Mapping[str, Any]
) -> Resource:
    """Return the resource of a further model of users, with its own settings.

    It must be made after the first one.
    """
    name, hidden = definition.name, definition.hidden
    properties = [
        replace(own, hidden=own.hidden or own.name in hidden)
        for own in definition.properties.values()
    ]
    user_models.of(app)[name] = UserModel(name, name, definition.plural, properties, settings)
    make = partial(make_schema, properties=properties, hidden=hidden)
    return replace(
        users,
        name=definition.plural,
        singular=name,
        path=definition.path,
        model=map_users(name, inspect(app_user_model.of(app)).local_table),
        schema=make(UserSchema),
        create_schema=make(RegistrationSchema),
        repository=rows_of(name),
        relations=related.relations,
        foreign_keys=related.foreign_keys,
        own_endpoints=list(_endpoints_of_further(name, settings)),
        is_public=definition.is_public,
        replaces_on_put=definition.replaces_on_put,
        in_lower_case=lower_case_names(app),
        protected=definition.protected,
        withheld=hidden & related.relations.keys(),
        embedded=definition.embedded,
    )


def _endpoints_of_further(principal_type: str, settings: Mapping[str, Any]) -> Iterator[Endpoint]:
    """Yield the endpoints of users that a further model with these settings serves.

    All others are about users of the first model.
    """
    schema = login_schema(principal_type)
    for endpoint in users.own_endpoints:
        if endpoint.finds_row or endpoint.gets_collection:
            answer = schema if endpoint.answer is LoginSchema else endpoint.answer
            is_served = partial(_is_served, endpoint.is_served, settings)
            yield endpoint.replace(answer=answer, is_served=is_served)


def _is_served(
    is_served: Callable[[Settings], bool], own: Mapping[str, Any], settings: Settings
) -> bool:
    return is_served({**settings, **own})


def declare_users(definition: Definition, resource: Resource) -> Resource:
    """Return a model of users with all endpoints, rules, and methods switched off.

    The rules add to the built-in ones, as LoopBack 3 adds rules to those of its User.
    """
    endpoints = declared_endpoints(resource)
    rules = applicable_rules(
        definition, {endpoint.method: endpoint.owned for endpoint in endpoints}
    )
    return replace(
        resource,
        rules=lambda settings: [*resource.rules(settings), *rules],
        shared_methods=usable_switches(definition, endpoints),
    )


def users_endpoints(users: Resource, relations: Mapping[str, Relation]) -> list[Endpoint]:
    """Return the endpoints of users with further relations."""
    return declared_endpoints(replace(users, relations={**users.relations, **relations}))
