"""Rules that ask for a strong session: `$strong` and `$weak`."""

import pytest
from sqlalchemy import update

from app.access.policy import factor_kinds
from app.database.session import db
from app.users.models import AccessToken, token_digest
from tests.support.answers import refusal
from tests.support.rows import make_admin, statements

STRONGER = (401, "STRONGER_LOGIN_REQUIRED")
ACLS = {
    "todos": [
        {"principalId": "$authenticated", "permission": "ALLOW", "property": "create"},
        {"principalId": "$owner", "permission": "ALLOW"},
        {"principalId": "admin", "permission": "ALLOW"},
        {"principalId": "$weak", "permission": "DENY", "property": "deleteById"},
        {"principalId": "$strong", "permission": "ALLOW", "property": "updateAll"},
    ]
}


@pytest.fixture
def app(shared_app):
    return shared_app(ACLS=ACLS, PERSONAL_TOKENS={})


@pytest.fixture
def strengthen(app):
    """Make the session of a token one with two factors."""

    def strengthen(token):
        with app.app_context():
            own = update(AccessToken).where(AccessToken.digest == token_digest(token))
            db.session.execute(own.values(methods="pwd,otp,mfa"))
            db.session.commit()

    return strengthen


def test_deleting_takes_a_strong_session_also_of_the_owner(api, token, strengthen):
    row = api("POST", "/todos", {"title": "Mine"}, token=token).json["id"]
    weak = api("DELETE", f"/todos/{row}", token=token)
    strengthen(token)

    assert refusal(weak) == STRONGER
    assert weak.json["error"]["details"] == {"kinds": []}
    assert weak.headers["WWW-Authenticate"] == (
        'Bearer error="insufficient_user_authentication", acr_values="mfa"'
    )
    assert api("DELETE", f"/todos/{row}", token=token).status_code == 200


def test_a_strong_session_does_no_more_with_the_rows_of_others(api, token, strengthen):
    other = api.logged_in("bob@example.com")
    row = api("POST", "/todos", {"title": "His"}, token=other).json["id"]
    strengthen(token)

    assert api("DELETE", f"/todos/{row}", token=token).status_code == 404


def test_the_kinds_are_those_of_the_user(app, api, token):
    with app.app_context():
        factor_kinds.current.append(lambda user_id: ["totp"] if user_id == 1 else [])

    refused = api("DELETE", "/todos/1", token=token)

    assert refused.json["error"]["details"] == {"kinds": ["totp"]}


@pytest.mark.both_databases
def test_nobody_and_personal_tokens_are_not_asked_for_factors(app, api, token, strengthen, secrets):
    strengthen(token)
    body = {"name": "x", "scopes": {"todos": ["*"]}}
    personal = api("POST", "/users/1/personalTokens", body, token=token).json["token"]
    secrets.append(personal)

    assert refusal(api("DELETE", "/todos/1")) == (401, "AUTHORIZATION_REQUIRED")
    assert refusal(api("DELETE", "/todos/1", token=personal)) == (403, "ACCESS_DENIED")
    change = {"isComplete": True}
    path = "/todos/update?where={}"
    assert api("POST", path, change, token=token).json == {"count": 0}
    assert api("POST", path, change, token=personal).json == {"count": 0}


def test_an_admin_needs_it_too(app, api, token):
    make_admin(app)

    assert refusal(api("DELETE", "/todos/1", token=token)) == STRONGER


def test_it_takes_no_statement_more(app, api, token, strengthen):
    strengthen(token)
    row = api("POST", "/todos", {"title": "Mine"}, token=token).json["id"]
    with statements(app) as sent:
        api("GET", f"/todos/{row}", token=token)

    assert len(sent) == 2


def test_the_document_says_who_may(app, api):
    paths = api("GET", "/openapi.json").json["paths"]
    delete = paths["/todos/{id}"]["delete"]

    assert "the owner who is logged in with several factors" in delete["description"]
    assert "STRONGER_LOGIN_REQUIRED" in api("GET", "/openapi.json").text
    assert api("GET", "/openapi.json").status_code == 200
