"""What a batch may not have is refused before its first call runs; each case is tried with one."""

import json

import pytest
from flask import make_response

from app.access.rules import WRITE
from app.todos.resource import todos as todos_resource

from .conftest import Caller, call

FIRST = call("POST", "/todos", {"title": "Plan"}, id="plan")
NEW_USER = {"email": "bob@example.com", "password": "a quiet harbour"}
COUNT = call("GET", "/todos/count")


def refusal(response):
    """Return the status, the code, and the position of the refused call."""
    error = response.json["error"]
    return response.status_code, error["code"], error.get("details", {}).get("request")


INVALID = (400, "INVALID_BATCH", 1)


@pytest.mark.parametrize(
    "refused",
    [
        call("POST", "/batch", {"requests": []}),
        call("POST", "/BATCH/", {"requests": []}),
        call("POST", "/%62atch", {"requests": []}),
        call("POST", "//batch", {"requests": []}),
        call("POST", "/users", NEW_USER),
        call("POST", "/users", [NEW_USER]),
        call("PATCH", "/users/1", {"email": "bob@example.com"}),
        call("PUT", "/Users/1", {"email": "ada@example.com"}),
        call("PATCH", "/users/1", {"username": "ada", "password": "x"}),
        call("POST", "/users/login", NEW_USER),
        call("POST", "/users/logout"),
        call("POST", "/users/reset", {"email": "ada@example.com"}),
        call("GET", "/users/1/accessTokens"),
        call("GET", "/users/1/audit"),
        call("GET", "/admin/state"),
        call("GET", "/openapi.json"),
        call("GET", "/"),
    ],
    ids=lambda refused: f"{refused['method']} {refused['path']}",
)
def test_what_cannot_be_undone_is_refused(todos, refused):
    response = todos.batch(FIRST, refused)

    assert refusal(response) == INVALID
    assert todos.count("todos") == 0


@pytest.mark.parametrize(
    ("refused", "status", "code"),
    [
        (call("GET", "/nothing"), 404, "NOT_FOUND"),
        (call("GET", "/todos/1/nothing"), 404, "NOT_FOUND"),
        (call("POST", "/todos/count"), 405, "METHOD_NOT_ALLOWED"),
    ],
)
def test_routes_that_do_not_exist_have_the_errors_of_requests(todos, refused, status, code):
    response = todos.batch(FIRST, refused)

    assert refusal(response) == (status, code, 1)
    assert todos.count("todos") == 0


@pytest.mark.parametrize(
    "refused",
    [
        "GET /todos",
        [],
        {},
        {"path": "/todos"},
        {**COUNT, "method": "get"},
        {**COUNT, "method": "HEAD"},
        {**COUNT, "method": "OPTIONS"},
        {**COUNT, "method": ["GET"]},
        {**COUNT, "headers": {}},
        {**COUNT, "path": 1},
        {**COUNT, "path": ""},
        {**COUNT, "path": "todos/count"},
        {**COUNT, "path": "http://localhost/api/todos/count"},
        {**COUNT, "path": "/todos/count\r\nHost: x"},
        {**COUNT, "path": "/todos/count\u2028"},
        {**COUNT, "path": "/todos/count#x"},
        {**COUNT, "path": "/todos/" + "x" * 8000},
        {**COUNT, "path": "/todos/%7Bplan.id%7d"},
        {**COUNT, "path": "/todos/{plan}"},
        {**COUNT, "path": "/todos/{}"},
        {**COUNT, "path": "/todos/{other.id}"},
        {**COUNT, "path": "/todos/{plan.id"},
        {**COUNT, "path": "/todos/plan.id}"},
        {**COUNT, "path": "/todos/{plan.id?x}"},
        {**COUNT, "path": "/todos/{plan.a/b}"},
        {**COUNT, "path": "/todos/{plan.a%7Db}"},
        {**COUNT, "path": "/todos/{{plan.id}}"},
        {**COUNT, "path": "/todos?access_token=x"},
        {**COUNT, "path": "/todos?x=1&access%5Ftoken=x"},
        {**COUNT, "id": ""},
        {**COUNT, "id": 1},
        {**COUNT, "id": "a.b"},
        {**COUNT, "id": "\u00e9"},
        {**COUNT, "id": "x" * 65},
        {**COUNT, "id": "plan"},
        {**COUNT, "body": "text"},
        {**COUNT, "body": 1},
        {**COUNT, "ifMatch": 1},
        {**COUNT, "ifMatch": "\u00e9"},
        call("POST", "/todos", {"title": {"$result": "later.id"}}),
        call("POST", "/todos", {"title": {"$result": "own.id"}}, id="own"),
        call("POST", "/todos", {"title": {"$result": "plan"}}),
        call("POST", "/todos", {"title": {"$result": "plan."}}),
        call("POST", "/todos", {"title": {"$result": 1}}),
        call("POST", "/todos", {"title": {"$result": {"$result": "plan.id"}}}),
        call("POST", "/todos", {"title": {"$result": "plan" + ".x" * 9}}),
    ],
    ids=lambda refused: json.dumps(refused)[:60],
)
def test_malformed_calls_are_refused(todos, refused):
    response = todos.batch(FIRST, refused, call("GET", "/todos/count", id="later"))

    assert refusal(response) == INVALID
    assert todos.count("todos") == 0


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"requests": []},
        {"requests": {}},
        {"requests": None},
        {"requests": [COUNT] * 51},
        {"requests": [COUNT], "atomic": False},
    ],
    ids=lambda body: json.dumps(body)[:40],
)
def test_a_batch_has_1_to_50_calls_and_nothing_else(todos, body):
    response = todos("POST", "/batch", body)

    assert refusal(response) == (400, "INVALID_BATCH", None)
    assert "details" not in response.json["error"]


def test_a_batch_of_50_calls_is_made(todos):
    response = todos.batch(*[COUNT] * 50)

    assert [answer["body"] for answer in response.json["responses"]] == [{"count": 0}] * 50


@pytest.mark.parametrize(("body", "status"), [("[]", 400), ("{", 400), ("", 400)])
def test_bodies_are_those_of_any_call(todos, body, status):
    headers = {"Content-Type": "application/json"}

    assert todos("POST", "/batch", data=body, headers=headers).status_code == status


def test_another_type_of_content_and_a_large_body_are_refused(todos):
    text = {"data": "x", "headers": {"Content-Type": "text/plain"}}

    assert todos("POST", "/batch", **text).status_code == 415
    assert todos("POST", "/batch", {"requests": ["x" * 102_400]}).status_code == 413


def test_own_endpoints_are_called_if_they_are_declared_to_be_atomic(make_app, token):
    declared = todos_resource.own_endpoints
    before = [*declared]

    @todos_resource.endpoint(
        "finish", WRITE, "POST /<id>/finish", answer={"type": "object"}, atomic=True
    )
    def finish(todo):
        """Finish a to-do."""
        [changed] = todos_resource.update([todos_resource.model.id == todo.id], {"desc": "done"})
        return {"desc": changed.desc}

    @todos_resource.endpoint("refuse", WRITE, "POST /<id>/refuse", answer={}, atomic=True)
    def refuse(todo):
        """Refuse with a response."""
        return make_response({"why": "full"}, 409)

    @todos_resource.endpoint("tell", WRITE, "POST /<id>/tell")
    def tell(todo):
        """Do what cannot be undone."""

    try:
        todos = Caller(make_app(), token)
    finally:
        declared[:] = before

    finished = todos.batch(FIRST, call("POST", "/todos/{plan.id}/finish", id="last"))
    refused = todos.batch(FIRST, call("POST", "/todos/{plan.id}/refuse"))
    told = todos.batch(FIRST, call("POST", "/todos/{plan.id}/tell"))

    assert finished.json["responses"][1]["body"] == {"desc": "done"}
    assert (refused.status_code, refused.json) == (409, {"why": "full"})
    assert refusal(told) == INVALID
    assert todos.count("todos") == 1
