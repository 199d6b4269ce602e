"""Service accounts: users who never log in, whose personal tokens admins make."""

import pytest
from sqlalchemy import select

from app.database.session import db
from app.errors import LoginFailed
from app.users.models import AccessToken, User
from app.users.service import issue_token
from app.users.sessions.login import login_identified
from tests.conftest import PASSWORD, hash_of_password
from tests.support.answers import field_codes, refusal
from tests.support.rows import make_admin, make_old, store_hash

ROBOT = "robot@example.com"
BODY = {"name": "backup", "scopes": {"todos": ["*"]}}


@pytest.fixture
def app(shared_app):
    return shared_app(PERSONAL_TOKENS={}, EMAIL_VERIFICATION="optional")


@pytest.fixture
def admin(app, api, token):
    """The token of an admin, the user with id 1."""
    make_admin(app)
    return token


@pytest.fixture
def robot(api, admin):
    """A service account, as it is answered."""
    response = api("POST", "/users/serviceAccounts", {"email": ROBOT}, token=admin)
    assert response.status_code == 200, response.json
    return response.json


@pytest.fixture
def value(api, admin, robot, secrets):
    """The value of its personal token."""
    made = api("POST", f"/users/{robot['id']}/personalTokens", BODY, token=admin)
    secrets.append(made.json["token"])
    return made.json["token"]


def test_an_admin_makes_one_and_its_token(api, admin, robot, value):
    todo = api("POST", "/todos", {"title": "Mine"}, token=value).json
    listed = api("GET", "/users/serviceAccounts", token=admin).json

    assert todo["ownerId"] == robot["id"]
    assert listed == [robot]
    assert (robot["email"], robot["emailVerified"]) == (ROBOT, True)
    assert "password" not in robot


def test_it_has_no_password(api, admin):
    body = {"email": ROBOT, "password": PASSWORD}
    answer = api("POST", "/users/serviceAccounts", body, token=admin)

    assert field_codes(answer) == {"password": ["unknown"]}


def test_its_name_is_unique_among_users(api, admin, robot):
    answers = [
        api("POST", "/users/serviceAccounts", {"email": ROBOT}, token=admin),
        api("POST", "/users", {"email": ROBOT, "password": PASSWORD}),
    ]

    assert [field_codes(answer) for answer in answers] == [{"email": ["uniqueness"]}] * 2


def test_making_its_token_takes_a_recent_login_of_the_admin(app, api, admin, robot):
    make_old(app, admin)
    answer = api("POST", f"/users/{robot['id']}/personalTokens", BODY, token=admin)

    assert refusal(answer) == (401, "STRONGER_LOGIN_REQUIRED")


@pytest.mark.both_databases
def test_it_does_not_log_in_by_any_method(app, api, robot):
    store_hash(app, hash_of_password(), ROBOT)
    answer = api("POST", "/users/login", {"email": ROBOT, "password": PASSWORD})

    assert refusal(answer) == (401, "LOGIN_FAILED")
    with app.app_context():
        for open_session in (issue_token, lambda user: login_identified(user, methods=["fed"])):
            with pytest.raises(LoginFailed):
                open_session(robot["id"])
        assert not db.session.scalar(select(AccessToken).where(AccessToken.user_id == robot["id"]))


def test_no_password_is_reset_or_set(app, api, runner, robot, reset_events):
    answer = api("POST", "/users/reset", {"email": ROBOT})
    verified = api("POST", f"/users/{robot['id']}/verify")
    refused = runner.invoke(args=["users", "set-password", ROBOT, "--password-stdin"], input="x\n")

    assert (answer.status_code, answer.json) == (200, {})
    assert verified.status_code == 204
    assert reset_events == []
    assert "it is a service account" in refused.output
    assert refused.exit_code == 1


def test_it_makes_no_token_itself(api, robot, value):
    answer = api("POST", f"/users/{robot['id']}/personalTokens", BODY, token=value)

    assert refusal(answer) == (403, "INSUFFICIENT_SCOPE")


def test_others_make_neither_it_nor_its_token(api, robot):
    bob = api.logged_in("bob@example.com")
    answers = [
        api("POST", "/users/serviceAccounts", {"email": "x@example.com"}, token=bob),
        api("GET", "/users/serviceAccounts", token=bob),
        api("POST", f"/users/{robot['id']}/personalTokens", BODY, token=bob),
    ]

    assert {refusal(answer) for answer in answers} == {(403, "ACCESS_DENIED")}


def test_it_is_disabled_and_deleted_as_a_user(app, api, runner, admin, robot, value):
    runner.invoke(args=["users", "disable", ROBOT])
    disabled = api("GET", "/todos", token=value).status_code
    refused = api("POST", f"/users/{robot['id']}/personalTokens", BODY, token=admin)
    deleted = api("DELETE", f"/users/{robot['id']}", token=admin)

    assert (disabled, refused.status_code, deleted.status_code) == (401, 404, 200)
    with app.app_context():
        assert db.session.scalar(select(User).where(User.email == ROBOT)) is None


@pytest.mark.both_databases
def test_the_command_makes_one_with_roles(app, runner, token):
    made = runner.invoke(
        args=["users", "create", ROBOT, "--service", "--username", "robot", "--role", "admin"]
    )
    exported = runner.invoke(args=["users", "export", "-"])
    with app.app_context():
        found = db.session.scalar(select(User).where(User.email == ROBOT))

    assert made.output.strip() == f"Created service account 2, {ROBOT}, with role admin."
    assert (found.service_account, found.password_hash, found.username) == (True, None, "robot")
    assert "ada@example.com" in exported.output
    assert ROBOT not in exported.output
