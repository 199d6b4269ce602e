"""POST /users/change-email: a new address takes effect when it is confirmed."""

import pytest

from app.access import roles
from app.users.models import AccessToken, User
from tests.conftest import NEW, PASSWORD, login_status
from tests.support.answers import field_codes, refusal
from tests.support.races import at_once
from tests.support.rows import count, expire, make_old

ADDRESS = "countess@example.com"
BODY = {"newEmail": ADDRESS, "password": PASSWORD}


@pytest.fixture
def app(shared_app):
    return shared_app(EMAIL_CHANGE="confirmed")


@pytest.fixture
def change_token(api, token, events):
    """The token that was mailed to the new address of the user with id 1."""
    assert api("POST", "/users/change-email", BODY, token=token).status_code == 204
    return events.tokens("emailChangeRequest")[0]


def confirm(client, token):
    """Send the form of the page."""
    return client.post("/confirm-email", data={"token": token})


def user_of(api, token):
    return api("GET", "/users/1", token=token).json


def test_nothing_changes_before_the_confirmation(api, token, change_token, events):
    [(name, info)] = events
    assert name == "emailChangeRequest"
    assert set(info) == {"accessToken", "email", "user"}
    assert (info["email"], info["user"].email) == (ADDRESS, "ada@example.com")
    assert (info["accessToken"].ttl, info["accessToken"].user_id) == (172800, 1)
    assert user_of(api, token)["email"] == "ada@example.com"
    assert login_status(api, PASSWORD) == 200


def test_the_confirmation_changes_the_address_and_ends_all_sessions(
    app, api, client, token, change_token, events
):
    assert confirm(client, change_token).status_code == 200

    assert count(app, AccessToken) == 0
    assert login_status(api, PASSWORD) == 401
    user = user_of(api, api.login(ADDRESS)["id"])
    assert (user["email"], user["emailVerified"]) == (ADDRESS, True)
    assert events.names == ["emailChangeRequest", "emailChanged", "emailVerified"]
    changed, verified = (info for _, info in events[1:])
    assert changed == {"oldEmail": "ada@example.com", "user": changed["user"]}
    assert verified == {"email": ADDRESS, "user": changed["user"]}
    assert (changed["user"].email, changed["user"].email_verified) == (ADDRESS, True)


def test_the_token_works_once(client, change_token, events):
    confirm(client, change_token)

    assert confirm(client, change_token).status_code == 400
    assert events.names.count("emailChanged") == 1


def test_the_new_address_is_stored_as_every_other(api, client, token, events):
    api("POST", "/users/change-email", {**BODY, "newEmail": "COUNTESS@Example.com"}, token=token)
    confirm(client, events.tokens("emailChangeRequest")[0])

    assert user_of(api, api.login(ADDRESS)["id"])["email"] == ADDRESS


def test_what_is_wrong_is_named(app, api, token, events):
    wrong = {
        "newEmail": ["ada", "", "ada@example.com", "ADA@example.com", 7, None, "a@b\r\nBcc: c@d"],
        "password": [7, None],
    }
    for field, values in wrong.items():
        for value in values:
            answer = api("POST", "/users/change-email", {**BODY, field: value}, token=token)
            assert (value, *field_codes(answer)) == (value, field)
    for password in ("wrong", ""):
        body = {**BODY, "password": password}
        answer = api("POST", "/users/change-email", body, token=token)
        assert refusal(answer) == (400, "INVALID_PASSWORD")
    assert events == []
    assert count(app, AccessToken) == 1


def test_a_recent_login_does_not_replace_the_password(api, token, events):
    answer = api("POST", "/users/change-email", {"newEmail": ADDRESS}, token=token)

    assert field_codes(answer) == {"password": ["presence"]}
    assert events == []


def test_a_taken_address_gets_the_same_answer_and_its_owner_is_asked(api, client, token, events):
    api.register("bob@example.com")

    free, taken = (
        api("POST", "/users/change-email", {**BODY, "newEmail": email}, token=token)
        for email in ("free@example.com", "bob@example.com")
    )
    page = confirm(client, events.tokens("emailChangeRequest")[1])

    assert (free.status_code, free.data) == (taken.status_code, taken.data) == (204, b"")
    assert list(free.headers.keys()) == list(taken.headers.keys())
    assert [info["email"] for _, info in events] == ["free@example.com", "bob@example.com"]
    assert page.status_code == 422
    assert "This email address is in use" in page.text
    assert user_of(api, token)["email"] == "ada@example.com"


def test_an_address_that_is_taken_before_the_confirmation_is_422(api, client, token, change_token):
    api.register(ADDRESS)

    assert confirm(client, change_token).status_code == 422

    assert user_of(api, token)["email"] == "ada@example.com"
    assert api.login(ADDRESS)["userId"] == 2


def test_an_address_of_another_realm_is_free(api, client, change_token):
    api.register(ADDRESS, realm="acme")

    assert confirm(client, change_token).status_code == 200


def test_a_new_request_replaces_the_last_one(api, client, token, change_token, events):
    api("POST", "/users/change-email", {**BODY, "newEmail": "other@example.com"}, token=token)

    assert confirm(client, change_token).status_code == 400
    assert confirm(client, events.tokens("emailChangeRequest")[1]).status_code == 200
    assert api.login("other@example.com")["userId"] == 1


@pytest.mark.parametrize("cause", ["expired", "deleted user", "new password", "reset", "sessions"])
def test_the_token_dies(app, api, client, token, change_token, reset_events, secrets, cause):
    secrets.append(NEW)
    if cause == "expired":
        expire(app, change_token)
    elif cause == "deleted user":
        api("DELETE", "/users/1", token=token)
    elif cause == "new password":
        body = {"oldPassword": PASSWORD, "newPassword": NEW}
        api("POST", "/users/change-password", body, token=token)
    elif cause == "reset":
        api("POST", "/users/reset", {"email": "ada@example.com"})
        reset = reset_events[0]["accessToken"].id
        api("POST", "/users/reset-password", {"newPassword": NEW}, token=reset)
    else:
        api("DELETE", "/users/1/accessTokens", token=token)

    assert confirm(client, change_token).status_code == 400


def test_the_token_is_none_for_anything_else(app, api, token, change_token):
    body = {"newPassword": NEW}

    assert api("POST", "/users/reset-password", body, token=change_token).status_code == 401
    assert api("GET", "/users/1", token=change_token).status_code == 401
    assert len(api("GET", "/users/1/accessTokens", token=token).json) == 1


def test_no_other_token_changes_the_address(api, client, token, reset_events, change_token):
    api("POST", "/users/reset", {"email": "ada@example.com"})

    for other in (token, reset_events[0]["accessToken"].id):
        assert confirm(client, other).status_code == 400
    assert user_of(api, token)["email"] == "ada@example.com"


def test_no_other_endpoint_changes_an_address(app, api, token, events):
    admin = api.newcomer("admin@example.com")
    with app.app_context():
        roles.grant(2, "admin")
    calls = [
        (token, "PATCH", "/users/1", {}),
        (token, "PUT", "/users/1", {}),
        (token, "POST", "/users/1/replace", {}),
        (admin, "PATCH", "/users/1", {}),
        (admin, "PATCH", "/users", {"id": 1}),
        (admin, "PUT", "/users", {"id": 1}),
        (admin, "POST", "/users/replaceOrCreate", {"id": 1}),
        (admin, "POST", '/users/upsertWithWhere?where={"id":1}', {}),
        (admin, "POST", '/users/update?where={"id":1}', {}),
    ]

    for caller, method, path, fields in calls:
        for password in ({}, {"password": PASSWORD}):
            body = {"email": ADDRESS, **fields, **password}
            answer = api(method, path, body, token=caller)
            assert (path, field_codes(answer)) == (path, {"email": ["invalid"]})
            assert "POST /users/change-email" in answer.json["message"]
    assert user_of(api, token)["email"] == "ada@example.com"
    assert events == []


@pytest.mark.both_databases
def test_an_unchanged_address_is_accepted_by_every_endpoint(app, api, token):
    make_old(app, token)
    user = {**user_of(api, token), "username": "countess"}

    for method in ("PUT", "PATCH"):
        assert api(method, "/users/1", user, token=token).json == user


@pytest.mark.both_databases
def test_one_of_many_concurrent_confirmations_changes_the_address(app, change_token, events):
    def call(client):
        return confirm(client, change_token)

    answers = at_once(app, *[call] * 6)

    assert sorted(answer.status_code for answer in answers) == [200, *[400] * 5]
    assert events.names.count("emailChanged") == 1


@pytest.mark.both_databases
def test_of_two_users_who_confirm_the_same_address_one_gets_it(app, api, token, events):
    api("POST", "/users/change-email", BODY, token=token)
    bob = api.newcomer("bob@example.com")
    api("POST", "/users/change-email", BODY, token=bob)
    calls = [lambda client, token=token: confirm(client, token) for token in tokens_of(events)]

    answers = at_once(app, *calls)

    assert sorted(answer.status_code for answer in answers) == [200, 422]
    assert count(app, User) == 2
    assert events.names.count("emailChanged") == 1


def tokens_of(events):
    return events.tokens("emailChangeRequest")


def test_the_loopback_endpoint_confirms_no_new_address(shared_app, api, token, change_token):
    other = shared_app(EMAIL_CHANGE="confirmed", EMAIL_VERIFICATION="optional").test_client()

    answer = other.get(f"/api/users/confirm?uid=1&token={change_token}")

    assert refusal(answer) == (400, "INVALID_TOKEN")


def test_without_the_setting_there_is_no_such_endpoint(shared_app, api, token):
    client = shared_app().test_client()

    answer = client.post("/api/users/change-email", json=BODY, headers={"Authorization": token})

    assert answer.status_code == 405
