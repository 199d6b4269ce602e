"""Rules about owners, on a model whose rows have none."""

import pytest

from app.access.rules import AUTHENTICATED, OWNER, allow
from app.rest.collection import register_resource
from app.rest.resource import Resource
from app.todos.models import Todo
from app.todos.schemas import TodoSchema

CALLS = [("GET", "/papers/1"), ("PATCH", "/papers/1"), ("DELETE", "/papers/1")]


@pytest.fixture
def app(make_app):
    """An app that serves to-dos a second time, without saying who owns them."""
    app = make_app()
    rules = [allow(OWNER), allow(AUTHENTICATED, "create")]
    papers = Resource("papers", "paper", Todo, TodoSchema, lambda settings: rules)
    register_resource(app, papers)
    return app


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_nobody_owns_rows_without_an_owner(api, token):
    api("POST", "/todos", {"title": "Water the plants"}, token=token)

    statuses = [api(*call, {"title": "x"}, token=token).status_code for call in CALLS]

    assert statuses == [404, 404, 404]
    assert api("GET", "/papers", token=token).json == []
    assert api("GET", "/todos/1", token=token).json["title"] == "Water the plants"
