"""What a model with the base User says of users."""

from dataclasses import replace

from flask import Flask

from app.ids import FORMS
from app.rest.collection import all_endpoints
from app.rest.problems import Problems
from app.settings import SettingsSchema
from app.users.definition import UsersDefinition
from app.users.resource import users

from .bases import Merged
from .definition import Definition, read_definition
from .resources import Related
from .rules import read_rules

# What LoopBack 3's User has and Ostiary's has in its own way.
BUILT_IN = (
    *("id", "realm", "username", "email", "password", "emailVerified", "verificationToken"),
    *("created", "credentials", "challenges", "status", "lastUpdated"),
)


def define_users(merged: Merged, problems: Problems) -> Definition:
    """Return the definition of users, without the properties that users have anyway."""
    for name in [each for each in merged.properties if each in _own_properties()]:
        path, _ = merged.properties.pop(name)
        problems.warn(path, "is ignored: users have this property already")
    definition = read_definition(merged, problems)
    if definition.is_open or definition.scope or definition.times:
        problems.warn(merged.source.file, "strict, scope and mixins are ignored: these are users")
    return definition


def configure_users(
    app: Flask, definition: Definition, related: Related, problems: Problems
) -> None:
    """Set what the app's users are; a path or properties in the settings stay."""
    usual = SettingsSchema().load({})
    if app.config["USERS_PATH"] == usual["USERS_PATH"]:
        app.config["USERS_PATH"] = definition.path
    own = {
        name: declared
        for name, declared in definition.declared.items()
        if name in definition.properties and name not in definition.foreign_keys
    }
    app.config["USER_PROPERTIES"] = {**own, **app.config["USER_PROPERTIES"]}
    served = replace(users, relations={**users.relations, **related.relations})
    endpoints = all_endpoints(served)
    methods = {each.method: each.owned for each in endpoints}
    id_form = FORMS[app.config["ID_TYPE"]]
    app.extensions["users_definition"] = UsersDefinition(
        relations=related.relations,
        keys=[each for name, each in definition.properties.items() if name not in own],
        foreign_keys=related.foreign_keys,
        rules=read_rules(definition.acls, methods, definition.allows_by_default, id_form, problems),
        hidden=definition.hidden & (users.properties.keys() | definition.properties.keys()),
        singular=definition.name,
        shared_methods=definition.switches.usable(endpoints, problems),
        is_public=definition.is_public,
    )


def _own_properties() -> set[str]:
    return {*BUILT_IN, *users.properties}
