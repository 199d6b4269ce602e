"""Attacks with personal tokens: on what their scopes do not name, and on credentials."""

import re

import pytest
from sqlalchemy import func, select, update

from app.access import roles
from app.access.rules import EXECUTE, OWNER, READ, allow
from app.database.session import db
from app.rest.endpoint import Endpoint, Route
from app.rest.resource import Resource
from app.rest.views.own_endpoints import describe_own
from app.rest.views.registration import register_resource
from app.todos.models import Todo
from app.todos.schemas import TodoSchema
from app.users.models import AccessToken
from app.users.resource import users
from tests.conftest import NEW, Api
from tests.support.answers import refusal
from tests.support.races import at_once

# A data source whose remote is not there.
GEO = {
    "connector": "rest",
    "public": True,
    "operations": [
        {"template": {"method": "GET", "url": "http://127.0.0.1:1/x"}, "functions": {"find": []}}
    ],
}
# The methods of users that a personal token may have a scope for; every other one is refused.
FOR_TOKENS = {
    *("create", "find", "findOne", "count", "aggregate", "findById", "exists", "deleteById"),
    *("patchAttributes", "replaceById", "updateAll"),
    *("patchOrCreate", "replaceOrCreate", "upsertWithWhere"),
    *("__get__todos", "__create__todos", "__count__todos", "__aggregate__todos", "__delete__todos"),
    *("__findById__todos", "__updateById__todos", "__destroyById__todos"),
}
# Routes below the base path that no rules are about.
OPEN = {"openapi.document", "api_status.status"}
INSUFFICIENT = (403, "INSUFFICIENT_SCOPE")


@pytest.fixture
def app(shared_app):
    """An app with every endpoint of users."""
    return shared_app(
        PERSONAL_TOKENS={},
        EMAIL_VERIFICATION="optional",
        EMAIL_CHANGE="confirmed",
        PROVIDERS={"gitlab": {"clientID": "ostiary"}},
        DATA_SOURCES={"geo": GEO},
    )


@pytest.fixture
def make(api, token, secrets):
    """Make a personal token of the user with id 1."""

    def make(scopes):
        body = {"name": "x", "scopes": scopes}
        response = api("POST", "/users/1/personalTokens", body, token=token)
        assert response.status_code == 200, response.json
        secrets.append(response.json["token"])
        return response.json["token"]

    return make


def routes(app, root="/api"):
    """Yield each verb and path below the base path, with the endpoint's name."""
    for rule in app.url_map.iter_rules():
        if str(rule).startswith(root) and rule.endpoint not in OPEN:
            path = re.sub(r"<(\w+:)?\w+>", "1", str(rule)).removeprefix(root)
            for verb in rule.methods - {"OPTIONS", "HEAD"}:
                yield verb, path, rule.endpoint


def test_no_token_calls_what_logs_in_or_changes_credentials(app, api, make):
    everything = make({"users": ["*"], "todos": ["*"]})
    of_users = [route for route in routes(app) if route[2].startswith("users.")]
    closed = [route for route in of_users if route[2].removeprefix("users.") not in FOR_TOKENS]
    answers = {(verb, path): api(verb, path, {}, token=everything) for verb, path, _ in closed}

    assert len(closed) >= 20
    assert {key: refusal(answer) for key, answer in answers.items()} == dict.fromkeys(
        answers, INSUFFICIENT
    )


def test_the_other_methods_change_no_credentials(app, api, make):
    everything = make({"users": ["*"]})
    new = {"email": "mallory@example.com"}
    given = [
        api(verb, path, {**new, **more}, token=everything)
        for verb, path in [("PATCH", "/users/1"), ("PUT", "/users/1"), ("POST", "/users/1/replace")]
        for more in ({}, {"password": "correct horse battery"})
    ]

    assert {answer.status_code for answer in given} <= {403, 422}
    assert api("GET", "/users/1", token=everything).json["email"] == "ada@example.com"


def test_no_email_is_changed_with_a_token_where_it_is_a_property(shared_app, secrets):
    api = Api(shared_app(PERSONAL_TOKENS={}).test_client(), secrets)
    session = api.logged_in()
    body = {"name": "x", "scopes": {"users": ["*"]}}
    value = api("POST", "/users/1/personalTokens", body, token=session).json["token"]
    secrets.append(value)
    new = {"email": "mallory@example.com", "password": "correct horse battery"}

    assert refusal(api("PATCH", "/users/1", new, token=value)) == INSUFFICIENT
    assert api("PATCH", "/users/1", {"username": "ada"}, token=value).status_code == 200


def test_a_token_without_the_scope_is_refused_on_every_route(app, api, make):
    value = make({"todos": ["exists"]})
    # The scopes decide on the calls of a batch.
    free = ("todos.exists", "batch.run")
    others = [route for route in routes(app) if route[2] not in free]
    answers = {(verb, path): api(verb, path, {}, token=value) for verb, path, _ in others}

    assert {refusal(answer) for answer in answers.values()} == {INSUFFICIENT}


def test_a_word_takes_methods_away_again(app, api, make):
    with app.app_context():
        roles.grant(1, "admin")
    value = make({"users": ["*", "!create", "!deleteById"], "todos": ["READ", "WRITE", "!WRITE"]})
    new = {"email": "mallory@example.com", "password": NEW}
    api.secrets.append(NEW)
    bob = api.register("bob@example.com")["id"]

    refused = [
        api("POST", "/users", new, token=value),
        api("PATCH", "/users", new, token=value),
        api("POST", "/users/replaceOrCreate", new, token=value),
        api("DELETE", f"/users/{bob}", token=value),
        api("POST", "/todos", {"title": "x"}, token=value),
    ]

    assert {refusal(answer) for answer in refused} == {INSUFFICIENT}
    assert api("GET", "/users", token=value).status_code == 200
    assert api("GET", "/todos", token=value).status_code == 200
    assert api("PATCH", f"/users/{bob}", {"username": "bob"}, token=value).status_code == 200


@pytest.mark.parametrize(
    "words",
    [["!create"], ["*", "!purge"], ["*", "!"], ["*", "!!create"], ["!*"], ["*", "!*"]],
    ids=str,
)
def test_a_word_that_takes_nothing_away_is_refused(api, token, words):
    body = {"name": "x", "scopes": {"users": words}}

    assert api("POST", "/users/1/personalTokens", body, token=token).status_code == 422


@pytest.mark.both_databases
def test_a_scope_that_has_come_to_name_nothing_covers_nothing(app, api, make):
    value = make({"todos": ["find"]})
    with app.app_context():
        stored = '{"gone": ["*"], "todos": ["goneToo", "READ "]}'
        db.session.execute(
            update(AccessToken).where(AccessToken.scope == "personal").values(scopes=stored)
        )
        db.session.commit()

    assert refusal(api("GET", "/todos", token=value)) == INSUFFICIENT


@pytest.mark.parametrize(
    ("path", "lacking", "enough"),
    [
        ("/todos?filter[include]=owner", {"todos": ["*"]}, {"todos": ["find"], "users": ["READ"]}),
        ("/users/1/todos", {"users": ["READ"]}, {"users": ["__get__todos"], "todos": ["find"]}),
        ("/users/1/todos", {"todos": ["*"]}, {"users": ["READ"], "todos": ["READ"]}),
        ("/users/1?filter[include]=todos", {"users": ["*"]}, {"users": ["*"], "todos": ["find"]}),
    ],
)
def test_relations_and_includes_take_a_scope_for_what_they_lead_to(
    api, token, make, path, lacking, enough
):
    api("POST", "/todos", {"title": "Mine"}, token=token)

    assert refusal(api("GET", path, token=make(lacking))) == INSUFFICIENT
    assert api("GET", path, token=make(enough)).status_code == 200


def test_creating_several_rows_takes_the_scope_for_one(api, make, token):
    rows = [{"title": "x"}, {"title": "y"}]

    assert api("POST", "/todos/many", rows, token=make({"todos": ["create"]})).status_code == 200
    for scope in (["READ"], ["*", "!create"]):
        assert refusal(api("POST", "/todos/many", rows, token=make({"todos": scope}))) == (
            INSUFFICIENT
        )
    named = {"name": "x", "scopes": {"todos": ["createMany"]}}
    refused = api("POST", "/users/1/personalTokens", named, token=token)
    assert "has no method createMany of todos" in refused.json["error"]["message"]


def test_creating_through_a_relation_takes_a_scope_for_it(api, make):
    value = make({"users": ["*"], "todos": ["READ"]})
    allowed = make({"users": ["__create__todos"], "todos": ["create"]})
    new = {"title": "x"}

    assert refusal(api("POST", "/users/1/todos", new, token=value)) == INSUFFICIENT
    assert api("POST", "/users/1/todos", new, token=allowed).status_code == 200


def test_an_upsert_creates_with_a_scope_for_it_only(api, make):
    value = make({"todos": ["patchOrCreate"]})

    assert refusal(api("PATCH", "/todos", {"title": "x"}, token=value)) == INSUFFICIENT


def test_a_data_source_takes_a_scope(api, make):
    refused = api("GET", "/geo/find", token=make({"todos": ["*"], "users": ["*"]}))
    called = api("GET", "/geo/find", token=make({"geo": ["READ"]}))

    assert refusal(refused) == INSUFFICIENT
    assert called.status_code == 502


@pytest.fixture
def reports(make_app, secrets):
    """The API of an app with reports, which a clerk exports by an own endpoint."""
    reports = Resource(
        name="reports",
        singular="Report",
        model=Todo,
        schema=TodoSchema,
        rules=lambda _settings: [allow(OWNER, access=READ), allow("clerk", "export")],
        owner=Todo.owner_id,
    )

    @reports.endpoint("export", EXECUTE, "POST /export", answer={"type": "object"})
    def export():
        return {}

    @reports.endpoint("sign", EXECUTE, "POST /sign", session_only=True)
    def sign():
        return None

    app = make_app(PERSONAL_TOKENS={})
    register_resource(app, reports)
    return Api(app.test_client(), secrets)


def test_an_own_endpoint_takes_a_scope_and_the_role_of_the_moment(reports, secrets):
    session, path = reports.logged_in(), "/users/1/personalTokens"
    app = reports.client.application

    def make(scopes):
        value = reports("POST", path, {"name": "x", "scopes": scopes}, token=session)
        assert value.status_code == 200, value.json
        secrets.append(value.json["token"])
        return value.json["token"]

    reader, exporter = make({"Report": ["READ"]}), make({"Report": ["export"]})
    given = [reports("POST", "/reports/export", token=exporter)]
    with app.app_context():
        roles.grant(1, "clerk")
    given += [reports("POST", "/reports/export", token=value) for value in (reader, exporter)]
    with app.app_context():
        roles.revoke(1, "clerk")
    given.append(reports("POST", "/reports/export", token=exporter))
    signed = reports("POST", "/reports/sign", token=make({"reports": ["*"]}))

    assert [answer.status_code for answer in given] == [403, 403, 200, 403]
    assert [answer.json.get("error", {}).get("code") for answer in given] == [
        *("ACCESS_DENIED", "INSUFFICIENT_SCOPE", None, "ACCESS_DENIED"),
    ]
    assert refusal(signed) == INSUFFICIENT


def test_a_token_adds_no_identity(app, api, make):
    value = make({"users": ["*"]})
    answer = api.client.get("/link/gitlab", headers={"Authorization": value})

    assert answer.status_code in {401, 403}


def test_no_page_takes_a_token_for_its_own(app, api, make):
    value = make({"users": ["*"]})
    pages = [
        api.client.get(f"/reset-password?access_token={value}"),
        api.client.post("/reset-password", data={"token": value, "newPassword": NEW}),
        api.client.post("/confirm-email", data={"token": value}),
    ]

    assert [page.status_code for page in pages] == [401, 401, 400]


def test_a_token_logs_nobody_out(app, api, token, make):
    value = make({"users": ["*"]})

    assert refusal(api("POST", "/users/logout", token=value)) == INSUFFICIENT
    assert refusal(api("POST", "/users/logout", {"sid": value})) == (401, "ACCESS_TOKEN_REQUIRED")
    assert api("GET", "/todos", token=token).status_code == 200


def test_sessions_do_not_end_a_token_by_its_handle(app, api, token, make):
    make({"users": ["*"]})
    [listed] = api("GET", "/users/1/personalTokens", token=token).json

    answer = api("DELETE", f"/users/1/accessTokens/{listed['handle']}", token=token)
    assert answer.status_code == 404
    assert len(api("GET", "/users/1/accessTokens", token=token).json) == 1


def test_large_scopes_are_refused_before_anything_is_stored(api, token):
    bodies = [
        {f"model{number}": ["READ"] for number in range(3000)},
        {"x" * 90_000: ["READ"]},
        {"todos": ["x" * 90_000]},
        {"todos": ["READ"] * 10_000},
        {"todos": []},
    ]
    answers = [
        api("POST", "/users/1/personalTokens", {"name": "x", "scopes": scopes}, token=token)
        for scopes in bodies
    ]

    assert {answer.status_code for answer in answers} == {422}
    assert max(len(answer.data) for answer in answers) < 2000


@pytest.mark.both_databases
def test_a_token_that_is_revoked_while_it_is_used_is_of_no_use_afterwards(app, api, token, make):
    value = make({"todos": ["find"]})
    [listed] = api("GET", "/users/1/personalTokens", token=token).json
    path, headers = f"/api/users/1/personalTokens/{listed['handle']}", {"Authorization": token}
    uses = [lambda client: client.get("/api/todos", headers={"Authorization": value})] * 3
    [revoked, *used] = at_once(app, lambda client: client.delete(path, headers=headers), *uses)

    assert revoked.status_code == 204
    assert {answer.status_code for answer in used} <= {200, 401}
    assert api("GET", "/todos", token=value).status_code == 401


@pytest.mark.both_databases
def test_no_token_survives_a_reset_that_happens_while_it_is_made(
    app, api, token, secrets, reset_token
):
    body, path = {"name": "x", "scopes": {"todos": ["find"]}}, "/api/users/1/personalTokens"

    def make(client):
        answer = client.post(path, json=body, headers={"Authorization": token})
        secrets.append(answer.json.get("token", token))
        return answer

    def reset(client):
        headers = {"Authorization": reset_token}
        return client.post("/api/users/reset-password", json={"newPassword": NEW}, headers=headers)

    answers = at_once(app, make, make, reset)

    assert {answer.status_code for answer in answers[:2]} <= {200, 401}
    assert answers[2].status_code == 204
    with app.app_context():
        assert db.session.scalar(select(func.count()).select_from(AccessToken)) == 0


def test_own_endpoints_of_users_are_for_sessions_unless_they_say_otherwise():
    declared = {"method": "x", "access": READ, "routes": (Route("GET", "/x"),), "view": print}
    declared |= {"summary": "Print it"}
    endpoints = [Endpoint(**declared, session_only=said) for said in (None, True, False)]

    described = [describe_own(users, endpoint).session_only for endpoint in endpoints]
    assert described == [True, True, False]
