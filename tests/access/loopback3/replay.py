"""Make the calls of the cases of apps that serve the models."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import delete, insert
from werkzeug.test import TestResponse

from app.access.policy import install_rules
from app.access.roles import Role, RoleMapping
from app.access.rules import ModelRules
from app.database.metadata import app_metadata
from app.database.session import db
from app.definitions.reading import json_models
from app.definitions.rules import applicable_rules, read_rules
from app.ids import FORMS
from app.problems import Problems
from app.properties.declaration import Declaration
from app.properties.properties import column_name
from app.rest.collection import served_collections
from app.rest.served_relations import with_added_relations
from app.rest.views.collection import all_endpoints
from app.testing.apps import close
from app.times import now
from app.users.models import AccessToken, User, token_digest
from app.users.resource import users
from app.users.user_models import FIRST
from tests.definitions.conftest import running_a_command, tables_of
from tests.support.apps import build

from .cases import Call, RuleSet
from .worlds import World

READING = ("GET", "HEAD")
DAY = timedelta(days=1)
# What callers get whom the rules refuse; rows that are hidden are as if they did not exist, and an
# endpoint that there is not can be allowed to nobody.
REFUSALS = (401, 403, 404, 405)


def is_refused(response: TestResponse) -> bool:
    return response.status_code in REFUSALS


class Replay:
    """Serves one set of rules after the other, always with the same rows."""

    def __init__(self, world: World, url: str, folder: Path, **settings: str) -> None:
        self._world = world
        self._url, self._folder, self._settings = url, folder, settings
        self._models = folder / "models"
        self._models.mkdir()

    @contextmanager
    def serving(self) -> Iterator[Flask]:
        """Make the tables of the models with their rows, for an app that serves them."""
        with running_a_command():
            app = self.start(RuleSet({name: {} for name in self._world.models}, []))
        with tables_of(app):
            fill(self._world, app)
            yield app
        close(app)

    def start(self, rules: RuleSet) -> Flask:
        """Start an app whose models have a set of rules in their files."""
        for name, model in self._world.models.items():
            declared = {"name": name, **model, **rules.models[name]}
            (self._models / f"{name}.json").write_text(json.dumps(declared))
        if len(self._world.models_of_users) > 1:
            entries: dict[str, Any] = {name: {"dataSource": "db"} for name in self._world.models}
            user = {"type": "belongsTo", "model": self._world.models_of_users[0]}
            entries["AccessToken"] = {"dataSource": "db", "relations": {"user": user}}
            (self._folder / "model-config.json").write_text(json.dumps(entries))
        settings = {"MODELS_FOLDER": str(self._models), **self._settings}
        return build(self._url, self._folder / "mail", **settings)


def responses(
    world: World, app: Flask, rules: RuleSet, calls: Sequence[Call]
) -> Iterator[TestResponse]:
    """Give an app a set of rules; yield the response to each call."""
    give(app, rules)
    client = app.test_client()
    for call in calls:
        response = make(client, call)
        yield response
        if call.verb not in READING and not is_refused(response):
            fill(world, app)


def give(app: Flask, rules: RuleSet) -> None:
    """Replace the rules of the models: in a tenth of the time that a start takes."""
    models = json_models.of(app)
    of_users = [definition.name for definition in models.of_users]
    for definition in models.stored:
        settings = rules.models[definition.name]
        definition.acls = Declaration(settings["acls"], Problems(), "acls").items()
        default = app.config["DEFAULT_PERMISSION"].upper()
        definition.allows_by_default = settings.get("defaultPermission", default) == "ALLOW"
        definition.rules = read_rules(definition, FORMS["integer"], of_users)
        name = users.name if definition is models.users else definition.plural
        collection = served_collections.of(app)[name]
        endpoints = all_endpoints(collection)
        owned = {endpoint.method: endpoint.owned for endpoint in endpoints}
        built_in = with_added_relations(app, replace(users, name=name))
        applied = [
            *(built_in.rules(app.config) if definition in models.of_users else ()),
            *applicable_rules(definition, owned),
        ]
        owners = collection.resource.owners
        install_rules(app, ModelRules(name, endpoints, applied, owners=owners))


def make(client: FlaskClient, call: Call) -> TestResponse:
    headers = {} if call.caller is None else {"Authorization": token_of(call.caller)}
    return client.open(f"/api{call.path}", method=call.verb, headers=headers, json=call.body)


def token_of(user_id: int) -> str:
    return str(user_id) * 64


def fill(world: World, app: Flask) -> None:
    """Replace all rows by those of the cases, with a token for each user and the roles."""
    own = app_metadata.of(app).tables
    life = {"ttl": DAY.total_seconds(), "expires_at": now() + DAY}
    people = [
        {**person, "principal_type": name if further else FIRST}
        for further, name in enumerate(world.models_of_users)
        for person in world.rows[name]
    ]
    roles = list(enumerate(world.roles, start=1))
    rows = {
        User.__table__: people,
        AccessToken.__table__: [
            {"digest": token_digest(token_of(person["id"])), "user_id": person["id"], **life}
            for person in people
        ],
        Role.__table__: [{"id": id, "name": name} for id, name in roles],
        RoleMapping.__table__: [
            {"user_id": world.roles[name], "role_id": id} for id, name in roles
        ],
        **{
            own[column_name(model)]: [
                {column_name(name): value for name, value in row.items()} for row in rows
            ]
            for model, rows in world.rows.items()
            if model not in world.models_of_users
        },
    }
    with app.app_context(), db.engine.begin() as connection:
        for table in (User.__table__, Role.__table__, *own.values()):
            connection.execute(delete(table))
        for table, items in rows.items():
            for item in items:
                connection.execute(insert(table).values(item))
