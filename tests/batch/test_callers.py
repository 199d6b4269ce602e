"""Who makes the calls of a batch: the caller of the batch, with the same rights as alone."""

import json
import logging
from datetime import timedelta

import pytest
from flask import request
from sqlalchemy import update

from app.database.session import db
from app.factors.personal_tokens.service import new_value
from app.times import now
from app.users.models import PERSONAL_SCOPE, AccessToken, new_token_values, token_digest

from .conftest import Caller, call

FIRST = call("POST", "/todos", {"title": "Plan"})


def outcome(response):
    return response.status_code, response.json["error"]["code"], response.json["error"]["details"]


def test_strangers_make_the_calls_that_they_may_make(shop):
    read, write = call("GET", "/orders"), call("POST", "/orders", {"title": "Home"})

    assert shop.batch(read, token=None).json["responses"][0]["body"] == []
    refused = shop.batch(read, write, token=None)

    place = {"request": 1, "id": None}
    assert outcome(refused) == (401, "AUTHORIZATION_REQUIRED", place)
    assert refused.headers["WWW-Authenticate"] == "Bearer"


def test_rows_of_others_are_as_they_are_to_calls_alone(todos, api):
    bob = api.logged_in("bob@example.com")
    hers = todos("POST", "/todos", FIRST["body"]).json["id"]

    listed = todos.batch(call("GET", "/todos"), token=bob)
    changed = todos.batch(FIRST, call("PATCH", f"/todos/{hers}", {"title": "x"}), token=bob)

    assert listed.json["responses"][0]["body"] == []
    assert outcome(changed)[:2] == (404, "MODEL_NOT_FOUND")
    assert todos("GET", f"/todos/{hers}").json["title"] == "Plan"
    assert todos("GET", "/todos/count", token=bob).json == {"count": 0}


def test_an_expired_token_is_refused_where_one_is_needed(todos):
    with todos.app.app_context():
        ended = now() - timedelta(seconds=1)
        db.session.execute(
            update(AccessToken)
            .where(AccessToken.digest == token_digest(todos.token))
            .values(expires_at=ended)
        )
        db.session.commit()

    assert outcome(todos.batch(FIRST))[:2] == (401, "INVALID_TOKEN")


@pytest.mark.parametrize(
    ("words", "status"),
    [
        ({"todos": ["*"]}, 200),
        ({"todos": ["create", "READ"]}, 200),
        ({"todos": ["READ"]}, 403),
        ({"batch": ["*"]}, 403),
    ],
)
def test_the_scopes_of_a_personal_token_decide_on_each_call(make_app, token, words, status):
    value = new_value()
    values = new_token_values(value, 600, scope=PERSONAL_SCOPE) | {"scopes": json.dumps(words)}
    app = make_app(PERSONAL_TOKENS={})
    with app.app_context():
        db.session.add(AccessToken(user_id=1, **values))
        db.session.commit()

    response = Caller(app, value).batch(call("GET", "/todos/count"), FIRST)

    assert response.status_code == status
    if words == {"todos": ["READ"]}:
        told = {"model": "todos", "method": "create", "request": 1, "id": None}
        assert outcome(response) == (403, "INSUFFICIENT_SCOPE", told)


def test_a_batch_looks_its_token_up_once_and_its_calls_have_no_token_of_their_own(
    todos, api, caplog
):
    bob = api.logged_in("bob@example.com")

    with caplog.at_level(logging.DEBUG):
        response = todos.batch(FIRST, call("GET", f"/todos?access_token={bob}"))

    assert outcome(response) == (400, "INVALID_BATCH", {"request": 1, "id": None})
    assert bob not in response.text
    assert bob not in caplog.text


def test_the_literal_of_the_current_user_is_known_in_paths(make_app, token):
    app = make_app(TOKEN_MIDDLEWARE={"cookies": ["access_token"], "currentUserLiteral": "me"})

    response = Caller(app, token).batch(
        call("POST", "/users/me/todos", {"title": "Mine"}), call("GET", "/users/me/todos/count")
    )

    created, counted = response.json["responses"]
    assert created["body"]["ownerId"] == 1
    assert counted["body"] == {"count": 1}


def test_a_batch_of_another_site_with_a_cookie_is_refused(make_app, token):
    client = make_app(TOKEN_MIDDLEWARE={"cookies": ["access_token"]}).test_client()
    client.set_cookie("access_token", token)

    statuses = [
        client.post("/api/batch", json={"requests": [FIRST]}, headers={"Sec-Fetch-Site": site})
        for site in ("cross-site", "same-origin")
    ]

    assert [response.status_code for response in statuses] == [403, 200]


def test_functions_of_a_project_before_requests_are_called_for_each_call(make_app, token):
    app, seen = make_app(), []

    @app.before_request
    def check():
        seen.append((request.method, request.path, request.headers.get("X-Tenant")))
        return ({"closed": True}, 503) if request.path == "/api/todos/count" else None

    todos = Caller(app, token)
    made = todos.batch(FIRST, headers={"X-Tenant": "a"})
    closed = todos.batch(FIRST, call("GET", "/todos/count"))

    assert made.status_code == 200
    assert seen[:2] == [("POST", "/api/batch", "a"), ("POST", "/api/todos", "a")]
    assert (closed.status_code, closed.json) == (503, {"closed": True})
    assert len(todos("GET", "/todos").json) == 1


def test_headers_of_the_batch_about_one_row_are_not_those_of_its_calls(todos):
    headers = {"If-Match": '"x"', "If-None-Match": "*", "filter": '{"limit": 0}', "where": "{"}
    headers |= {"X-HTTP-Method-Override": "DELETE", "Range": "bytes=0-1"}

    response = todos.batch(
        {**FIRST, "id": "a"},
        call("PATCH", "/todos/{a.id}", {"desc": "x"}),
        call("GET", "/todos/count"),
        headers=headers,
    )

    assert [answer["status"] for answer in response.json["responses"]] == [200, 200, 200]


def test_entity_tags_are_those_of_the_row_of_the_call(todos):
    one, other = (todos("POST", "/todos", {"title": title}) for title in ("a", "b"))
    path = f"/todos/{one.json['id']}"

    right = todos.batch(call("PATCH", path, {"desc": "x"}, ifMatch=one.headers["ETag"]))
    wrong = todos.batch(call("PATCH", path, {"desc": "y"}, ifMatch=other.headers["ETag"]))
    long = todos.batch(call("PATCH", path, {"desc": "y"}, ifMatch='"x", ' * 300))

    assert right.status_code == 200
    assert outcome(wrong)[:2] == (412, "PRECONDITION_FAILED")
    assert outcome(long)[:2] == (400, "BAD_REQUEST")


def test_users_are_changed_and_deleted_with_what_belongs_to_them(todos, api):
    bob, place = api.logged_in("bob@example.com"), "/users/2"

    changed = todos.batch(
        call("POST", f"{place}/todos", {"title": "His"}),
        call("PATCH", place, {"username": "bobby"}),
        call("GET", place),
        token=bob,
    )
    taken = todos.batch(FIRST, call("PATCH", "/users/1", {"username": "Bobby"}))
    deleted = todos.batch(call("DELETE", place), token=bob)

    assert changed.json["responses"][2]["body"]["username"] == "bobby"
    assert outcome(taken)[:2] == (422, "VALIDATION_ERROR")
    assert deleted.json["responses"][0]["body"] == {"count": 1}
    assert todos("GET", place, token=bob).status_code == 401
    assert todos("GET", "/todos/count").json == {"count": 0}


def test_a_rule_may_refuse_batches(make_app, token):
    only_users = {
        "principalType": "ROLE",
        "principalId": "$authenticated",
        "permission": "ALLOW",
        "property": "run",
    }
    app = make_app(ACLS={"batch": [only_users]})

    assert Caller(app, token).batch(FIRST).status_code == 200
    assert Caller(app, None).batch(FIRST).json["error"]["code"] == "AUTHORIZATION_REQUIRED"
    assert "details" not in Caller(app, None).batch(FIRST).json["error"]
