"""Aggregates of users: for admins, of what a list of users shows."""

import json

import pytest

from tests.conftest import Api
from tests.support.answers import refusal
from tests.support.rows import make_admin, statements


def ask(api, token, path="/users/aggregate", **aggregate):
    return api("GET", path, token=token, query_string={"filter": json.dumps(aggregate)})


@pytest.mark.both_databases
def test_admins_aggregate_users_by_what_a_list_shows(app, api, token):
    bob = api.logged_in("bob@example.com")
    make_admin(app)
    realms = {"named": {"count": "realm"}, "least": {"min": "realm"}}

    found = ask(api, token, groupBy="realm", aggregate={"last": {"max": "email"}, **realms})

    # Users without a realm have a text for it in the database.
    assert found.json == [{"realm": None, "last": "bob@example.com", "named": 0, "least": None}]
    assert refusal(ask(api, bob, groupBy="email")) == (403, "ACCESS_DENIED")
    for name in ("password", "passwordHash", "password_hash", "roles"):
        assert refusal(ask(api, token, groupBy=name)) == (400, "INVALID_FILTER")
        assert refusal(ask(api, token, aggregate={"x": {"count": name}})) == (400, "INVALID_FILTER")


def test_a_rule_for_owners_permits_aggregates_of_ones_own_record(make_app, secrets):
    acls = [
        {"principalId": "$owner", "permission": "ALLOW"},
        {"principalId": "$everyone", "permission": "ALLOW", "property": ["create", "login"]},
    ]
    api = Api(make_app(ACLS={"users": acls}).test_client(), secrets)
    api.logged_in()
    bob = api.logged_in("bob@example.com")

    assert ask(api, bob, groupBy="email").json == [{"email": "bob@example.com"}]
    assert ask(api, None, groupBy="email").status_code == 401


def test_users_aggregate_their_to_dos(app, api, token):
    bob = api.logged_in("bob@example.com")
    for title in ("a", "b"):
        api("POST", "/todos", {"title": title}, token=token)
    api("POST", "/todos", {"title": "c"}, token=bob)
    titles = {"aggregate": {"last": {"max": "title"}, "rows": {"count": "*"}}}

    assert ask(api, token, "/users/1/todos/aggregate", **titles).json == [{"last": "b", "rows": 2}]
    assert ask(api, token, "/todos/aggregate", **titles).json == [{"last": "b", "rows": 2}]
    assert ask(api, bob, "/users/1/todos/aggregate", **titles).status_code == 403
    with statements(app) as sent:
        ask(api, token, "/todos/aggregate", **titles)
    # The token's, and the aggregate.
    assert len(sent) == 2
