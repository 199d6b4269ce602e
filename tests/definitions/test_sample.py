"""The sample model `todos`, which gives way to models in JSON, and which a setting leaves out."""

import pytest
from sqlalchemy import inspect

from app.database.session import db
from tests.conftest import Api
from tests.support.answers import refusal

from .library import rule

EVERYONE = [rule("$everyone")]
TODO = {"name": "Todo", "properties": {"content": "string"}, "acls": EVERYONE}
ACCOUNT = {"name": "Account", "base": "User", "plural": "users"}
TASK = {"name": "Task", "properties": {"text": "string"}, "acls": EVERYONE}


def test_the_sample_gives_way_to_a_model_of_its_name(serve):
    todo = {**TODO, "relations": {"owner": {"type": "belongsTo", "model": "User"}}}
    api = serve({"todo": todo})
    token = api.logged_in()

    assert api("POST", "/todos", {"content": "a"}).json == {
        "id": 1,
        "content": "a",
        "ownerId": None,
    }
    assert api("GET", "/todos").json[0]["content"] == "a"
    assert refusal(api("GET", "/users/1/todos", token=token)) == (404, "NOT_FOUND")
    assert api("DELETE", "/users/1", token=token).status_code == 200
    assert "/users/{id}/todos" not in api("GET", "/openapi.json").json["paths"]


@pytest.mark.parametrize(
    "models",
    [
        {"note": {**TODO, "name": "Note", "plural": "Todos"}},
        {"note": {**TODO, "name": "Note", "http": {"path": "/Todos"}}},
    ],
)
def test_the_sample_gives_way_to_a_model_at_its_path(serve, models):
    assert serve(models)("POST", "/todos", {"content": "a"}).json == {"id": 1, "content": "a"}


def test_a_relation_of_users_of_the_name_has_the_rules_of_the_application_alone(serve):
    relation = {"type": "hasMany", "model": "Task", "foreignKey": "by"}
    models = {"account": {**ACCOUNT, "relations": {"todos": relation}}, "task": TASK}
    api = serve(models)
    token = api.logged_in()

    # As in LoopBack 3, users may not call what no rule of theirs allows.
    assert refusal(api("GET", "/users/1/todos", token=token)) == (403, "ACCESS_DENIED")
    assert refusal(api("GET", "/todos", token=token)) == (404, "NOT_FOUND")

    models["account"]["acls"] = [rule("$owner", property="__get__todos")]
    api = serve(models)
    token = api.logged_in("bob@example.com")
    assert api("GET", "/users/2/todos", token=token).json == []


def test_a_property_of_users_may_have_the_name(serve):
    api = serve({"account": {**ACCOUNT, "properties": {"todos": "number"}}})
    token = api.logged_in()

    assert api("PATCH", "/users/1", {"todos": 3}, token=token).json["todos"] == 3


def test_a_relation_of_users_may_lead_to_the_sample(serve):
    relation = {"type": "hasMany", "model": "Todo", "foreignKey": "ownerId"}
    api = serve({"account": {**ACCOUNT, "relations": {"todos": relation, "tasks": relation}}})
    token = api.logged_in()
    made = api("POST", "/todos", {"title": "a"}, token=token).json

    assert api("GET", "/users/1/todos", token=token).json == [made]
    assert "/users/{id}/tasks" in api("GET", "/openapi.json").json["paths"]


def test_without_the_sample_users_have_no_relation_to_it(make_app, secrets):
    app = make_app(SAMPLE_TODOS=False)
    api = Api(app.test_client(), secrets)
    token = api.logged_in()

    for path in ("/todos", "/users/1/todos", "/users/1/todos/count"):
        assert refusal(api("GET", path, token=token)) == (404, "NOT_FOUND")
    paths = api("GET", "/openapi.json").json["paths"]
    assert not [each for each in paths if "todos" in each]
    assert api("GET", "/users/1", token=token).json["email"] == "ada@example.com"
    # The table stays for a later start with the sample.
    with app.app_context():
        assert inspect(db.engine).has_table("todos")
