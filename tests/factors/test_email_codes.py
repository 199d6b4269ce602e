"""Codes that prove an address: POST /users/email-code and POST /users/email-code/confirm."""

import pytest
from sqlalchemy import select

from app.database.session import db
from app.users.models import AccessToken
from tests.conftest import NEW, PASSWORD, Api
from tests.support.answers import field_codes, refusal
from tests.support.email_codes import SETTINGS, add, ask, confirm, is_verified, noted, unverify
from tests.support.races import at_once
from tests.support.rows import expire
from tests.support.second_factors import OPTIONAL
from tests.support.throttles import pass_time

EMAIL, OTHER = "ada@example.com", "victim@example.com"
CREDENTIALS = {"email": EMAIL, "password": PASSWORD}


@pytest.fixture
def app(shared_app):
    return shared_app(**SETTINGS)


@pytest.fixture
def mailed(app, secrets):
    """The codes that are mailed, and to which address, the oldest first."""
    with noted(app, secrets) as found:
        yield found


@pytest.fixture
def token(api):
    """The session of the user with id 1, whose address is not verified."""
    return api.logged_in(verified=False)


@pytest.mark.parametrize(
    "write",
    [str.upper, lambda code: code.replace("-", ""), lambda code: f" {code.replace('-', ' ')} "],
    ids=["upper case", "without dashes", "with spaces"],
)
def test_a_code_may_be_typed_in_any_form(api, token, mailed, write):
    ask(api, token)

    assert confirm(api, token, write(mailed[0][0])).status_code == 204


@pytest.mark.parametrize("code", ["", "aaaa-aaaa-aaaa", "x" * 64, "%", "\u0130" * 12])
def test_a_wrong_code_is_422(app, api, token, mailed, code):
    ask(api, token)
    answer = confirm(api, token, code)

    assert field_codes(answer) == {"code": ["invalid"]}
    assert not is_verified(app)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "code"),
        ({"code": 5}, "code"),
        ({"code": "x" * 65}, "code"),
        ({"code": "x", "y": 1}, "y"),
    ],
)
def test_a_malformed_confirmation_is_422(api, token, body, field):
    answer = api("POST", "/users/email-code/confirm", body, token=token)

    assert list(field_codes(answer)) == [field]


@pytest.mark.parametrize(
    "email", [5, "ada", "a" * 65 + "@example.com", "x" * 250 + "@a.b", "a@b\tc"]
)
def test_no_code_is_mailed_to_what_is_no_address(api, token, mailed, email):
    answer = api("POST", "/users/email-code", {"email": email}, token=token)

    assert list(field_codes(answer)) == ["email"]
    assert mailed == []


def test_a_code_works_once_and_ends_the_others(app, api, token, mailed):
    ask(api, token)
    ask(api, token)
    used = confirm(api, token, mailed[0][0])
    unverify(app)

    assert used.status_code == 204
    for code, _ in mailed:
        assert confirm(api, token, code).status_code == 422
    assert not is_verified(app)


@pytest.mark.both_databases
def test_of_two_uses_at_once_one_passes(app, api, token, mailed):
    ask(api, token)
    body, headers = {"code": mailed[0][0]}, {"Authorization": token}
    path = "/api/users/email-code/confirm"
    both = at_once(app, *[lambda client: client.post(path, json=body, headers=headers)] * 2)

    assert sorted(answer.status_code for answer in both) == [204, 422]


def test_a_code_is_for_ten_minutes(app, api, token, mailed):
    ask(api, token)
    with app.app_context():
        row = db.session.scalar(select(AccessToken).where(AccessToken.scope == "email-code"))
        assert (row.expires_at - row.created).total_seconds() == 600
    expire(app, mailed[0][0])

    assert confirm(api, token, mailed[0][0]).status_code == 422


def test_a_code_is_for_its_user(app, api, token, mailed):
    bob = api.logged_in("bob@example.com", verified=False)
    ask(api, token)

    assert confirm(api, bob, mailed[0][0]).status_code == 422
    assert confirm(api, token, mailed[0][0]).status_code == 204
    assert not is_verified(app, 2)


def test_a_code_proves_no_address_that_the_account_has_got_since(app, api, token, mailed):
    ask(api, token)
    changed = api("PATCH", "/users/1", {"email": OTHER}, token=token)
    answer = confirm(api, token, mailed[0][0])

    assert changed.status_code == 200
    assert answer.status_code == 422
    assert not is_verified(app)


def _change_password(api, token):
    body = {"oldPassword": PASSWORD, "newPassword": NEW}
    return api("POST", "/users/change-password", body, token=token)


def _end_sessions(api, token):
    ended = api("DELETE", "/users/1/accessTokens", token=token)
    api.secrets.append(api("POST", "/users/login", CREDENTIALS).json["id"])
    return ended


@pytest.mark.parametrize("end", [_change_password, _end_sessions])
def test_a_code_ends_with_the_sessions(app, api, token, mailed, end):
    api.secrets.append(NEW)
    ask(api, token)
    assert end(api, token).status_code == 204
    later = token if end is _change_password else api.secrets[-1]

    assert confirm(api, later, mailed[0][0]).status_code == 422


def test_a_code_is_no_token(api, token, mailed):
    ask(api, token)
    code = mailed[0][0]

    assert api("GET", "/users/1", token=code).status_code == 401
    assert api("POST", "/users/reset-password", {"newPassword": NEW}, token=code).status_code == 401
    # Nor is another token a code.
    assert confirm(api, token, token).status_code == 422


def test_whoever_is_not_logged_in_proves_nothing(api, token):
    api.secrets.append(api("POST", "/users/login", CREDENTIALS).json["id"])
    for path, body in (("email-code", {}), ("email-code/confirm", {"code": "x"})):
        assert refusal(api("POST", f"/users/{path}", body)) == (401, "AUTHORIZATION_REQUIRED")
        assert refusal(api("POST", f"/users/{path}", body, token="x" * 64))[0] == 401


def test_a_personal_token_asks_for_no_code(api, mailed):
    add(api, api.logged_in(), "personal")
    for path, body in (("email-code", {}), ("email-code/confirm", {"code": "x"})):
        answer = api("POST", f"/users/{path}", body, token=api.secrets[-1])
        assert refusal(answer) == (403, "INSUFFICIENT_SCOPE")


def test_codes_are_counted_by_user_and_client(shared_app, secrets):
    app = shared_app(**SETTINGS, THROTTLE_ENABLED=True)
    api = Api(app.test_client(), secrets)
    tokens = [api.logged_in(f"user{n}@example.com", verified=False) for n in range(5)]

    def statuses(token, client="192.0.2.1", **body):
        options = {"token": token, "environ_overrides": {"REMOTE_ADDR": client}}
        return [api("POST", "/users/email-code", body, **options).status_code for _ in range(6)]

    with noted(app, secrets) as mailed:
        assert statuses(tokens[0], email=OTHER) == [204] * 5 + [429]
        assert statuses(tokens[1]) == [204] * 5 + [429]
        assert statuses(tokens[2]) == [204] * 5 + [429]
        # Of one client, together.
        assert statuses(tokens[3]) == [204] * 2 + [429] * 4
        assert statuses(tokens[4], "192.0.2.2") == [204] * 5 + [429]
        assert len(mailed) == 22
        pass_time(app, 3601)
        assert statuses(tokens[0])[0] == 204


def test_it_is_there_where_something_takes_it(shared_app):
    for settings, status in (({}, 404), ({"PERSONAL_TOKENS": {}}, 401), (OPTIONAL, 401)):
        client = shared_app(**settings).test_client()
        assert (
            client.post("/api/users/email-code/confirm", json={"code": "x"}).status_code == status
        )
