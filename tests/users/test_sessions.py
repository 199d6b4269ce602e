"""GET and DELETE /users/{id}/accessTokens."""

from datetime import timedelta

import pytest
from sqlalchemy import insert, inspect, select

from app.database.session import db
from app.users.models import AccessToken
from tests.conftest import PASSWORD, Api
from tests.support.answers import refusal
from tests.support.rows import expire


def sessions(api, token):
    return api("GET", "/users/1/accessTokens", token=token).json


def test_sessions_are_listed_without_token_values(api, token):
    api.login(ttl=600)

    response = api("GET", "/users/1/accessTokens", token=token)

    fields = {"handle", "ttl", "created", "lastUsed", "userAgent", "address", "current"}
    assert [set(item) for item in response.json] == [fields] * 2
    assert {item["ttl"] for item in response.json} == {600, 1209600}
    assert token not in response.text


def test_a_session_has_the_address_and_the_program_of_its_login(shared_app, secrets):
    origin = {"User-Agent": "Firefox\x85" + "x" * 300, "X-Forwarded-For": "203.0.113.7"}
    found = []
    for settings in ({}, {"TRUSTED_PROXIES": 1}):
        api = Api(shared_app(**settings).test_client(), secrets)
        api.register(f"ada{len(settings)}@example.com")
        credentials = {"email": f"ada{len(settings)}@example.com", "password": PASSWORD}
        login = api("POST", "/users/login", credentials, headers=origin).json
        secrets.append(login["id"])
        path = f"/users/{login['userId']}/accessTokens"
        found += api("GET", path, token=login["id"]).json

    assert [item["address"] for item in found] == ["127.0.0.1", "203.0.113.7"]
    assert {item["userAgent"] for item in found} == {"Firefox?" + "x" * 192}
    assert [item["lastUsed"] for item in found] == [None, None]


def test_one_session_is_the_current_one(api, token):
    other = api.login()["id"]

    by_token = {one: sessions(api, one) for one in (token, other)}

    currents = [
        [item["handle"] for item in found if item["current"]] for found in by_token.values()
    ]
    assert [len(found) for found in currents] == [1, 1]
    assert currents[0] != currents[1]


def test_only_live_logins_of_the_user_are_listed(app, api, token, reset_token):
    expire(app, api.login()["id"])
    api.newcomer("bob@example.com")

    assert [session["current"] for session in sessions(api, token)] == [True]


def test_a_list_has_the_newest_thousand_sessions(app, api, token):
    with app.app_context():
        login = db.session.scalar(select(AccessToken))
        columns = {
            column.key: getattr(login, column.key) for column in inspect(AccessToken).columns
        }
        created = login.created - timedelta(seconds=1)
        rows = [
            {**columns, "created": created, "digest": f"{n:064}", "handle": f"{n:016}"}
            for n in range(1000)
        ]
        db.session.execute(insert(AccessToken), rows)
        db.session.commit()

    listed = sessions(api, token)

    assert len(listed) == 1000
    assert listed[0]["current"]


def test_a_session_is_revoked_by_its_handle(api, token):
    other = api.login()["id"]
    handle = next(session["handle"] for session in sessions(api, token) if not session["current"])

    response = api("DELETE", f"/users/1/accessTokens/{handle}", token=token)

    assert (response.status_code, response.data) == (204, b"")
    assert api("GET", "/users/1", token=other).status_code == 401
    assert api("GET", "/users/1", token=token).status_code == 200


@pytest.mark.both_databases
def test_all_sessions_are_revoked_at_once(api, token):
    other, stranger = api.login()["id"], api.newcomer("bob@example.com")

    response = api("DELETE", "/users/1/accessTokens", token=token)

    assert response.status_code == 204
    assert api("GET", "/users/1", token=token).status_code == 401
    assert api("GET", "/users/1", token=other).status_code == 401
    assert api("GET", "/users/2", token=stranger).status_code == 200


@pytest.mark.parametrize("handle", ["x", "0" * 16, "x" * 3000, "%27", "%00", "%ff", "%C3%A9"])
def test_an_unknown_handle_is_404(api, token, handle):
    response = api("DELETE", f"/users/1/accessTokens/{handle}", token=token)

    assert refusal(response) == (404, "MODEL_NOT_FOUND")


def test_the_handle_of_another_user_is_404(api, token):
    stranger = api.newcomer("bob@example.com")
    handle = api("GET", "/users/2/accessTokens", token=stranger).json[0]["handle"]

    response = api("DELETE", f"/users/1/accessTokens/{handle}", token=token)

    assert refusal(response) == (404, "MODEL_NOT_FOUND")
    assert api("GET", "/users/2", token=stranger).status_code == 200


def test_anonymous_callers_get_401_whatever_the_rules(make_app):
    rules = [{"principalId": "$everyone", "permission": "ALLOW"}]
    api = Api(make_app(ACLS={"users": rules}).test_client(), [])
    api.register()
    passwords = {"oldPassword": PASSWORD, "newPassword": "another long one"}

    answers = [
        api("GET", "/users/1/accessTokens"),
        api("POST", "/users/change-password", passwords),
    ]

    assert [refusal(answer) for answer in answers] == [(401, "AUTHORIZATION_REQUIRED")] * 2
