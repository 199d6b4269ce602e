"""GET, PATCH, PUT and DELETE /users/{id}."""

import pytest

from app.todos.models import Todo
from app.users.models import AccessToken, User
from tests.support.answers import field_codes, refusal
from tests.support.rows import count


def test_the_owner_sees_the_record(api):
    user = api.register(username="ada", realm=None)
    token = api.login()["id"]

    response = api("GET", "/users/1", token=token)

    assert response.status_code == 200
    assert response.json == user


def test_the_collection_is_case_insensitive_and_may_end_in_a_slash(api, token):
    paths = ["/Users/1", "/USERS/1", "/users/1/"]

    assert [api("GET", path, token=token).status_code for path in paths] == [200, 200, 200]


def test_patch_changes_the_sent_properties_and_returns_the_whole_object(api, token):
    user = api("GET", "/users/1", token=token).json

    response = api("PATCH", "/users/1", {"username": "ada"}, token=token)

    assert response.status_code == 200
    assert response.json == {**user, "username": "ada"}
    assert api("GET", "/users/1", token=token).json == response.json


def test_an_empty_patch_changes_nothing(api, token):
    user = api("GET", "/users/1", token=token).json

    response = api("PATCH", "/users/1", {}, token=token)

    assert (response.status_code, response.json) == (200, user)


def test_put_resets_missing_properties_to_their_defaults(api):
    api.register(username="ada")
    token = api.login()["id"]

    response = api("PUT", "/users/1", {"email": "ada@example.com"}, token=token)

    assert response.status_code == 200
    assert response.json["username"] is None


def test_put_needs_the_required_fields(api, token):
    response = api("PUT", "/users/1", {"username": "ada"}, token=token)

    assert field_codes(response) == {"email": ["presence"]}


@pytest.mark.parametrize("method", ["PATCH", "PUT"])
@pytest.mark.parametrize(
    ("fields", "codes"),
    [
        ({"id": 2}, {"id": ["absence"]}),
        ({"emailVerified": False}, {"emailVerified": ["absence"]}),
        ({"realm": "acme"}, {"realm": ["absence"]}),
        ({"created": "2026-01-01"}, {"created": ["absence"]}),
        ({"password": "another long one"}, {"password": ["invalid"]}),
        ({"roles": ["admin"]}, {"roles": ["unknown"]}),
        ({"email": "ada"}, {"email": ["invalid"]}),
        ({"email": None}, {"email": ["presence"]}),
        ({"username": " "}, {"username": ["presence"]}),
        ({"username": "a\tb"}, {"username": ["invalid"]}),
    ],
    ids=lambda value: str(value)[:30],
)
def test_an_invalid_change_is_422(api, token, method, fields, codes):
    before = api("GET", "/users/1", token=token).json

    response = api(method, "/users/1", {"email": "ada@example.com", **fields}, token=token)

    assert field_codes(response) == codes
    assert api("GET", "/users/1", token=token).json == before


@pytest.mark.parametrize(
    ("fields", "taken"),
    [({"email": "BOB@example.com"}, "email"), ({"username": "bob"}, "username")],
    ids=["email", "username"],
)
def test_a_taken_name_is_422_and_keeps_the_sessions(api, token, fields, taken):
    other = api.login()["id"]
    api.register("bob@example.com", username="bob")

    response = api("PATCH", "/users/1", fields, token=token)

    assert field_codes(response) == {taken: ["uniqueness"]}
    assert api("GET", "/users/1", token=other).status_code == 200


@pytest.mark.both_databases
def test_the_same_email_in_another_case_is_no_change(api, token):
    other = api.login()["id"]

    response = api("PATCH", "/users/1", {"email": "ADA@example.com"}, token=token)

    assert response.json["email"] == "ada@example.com"
    assert api("GET", "/users/1", token=other).status_code == 200


def test_a_new_email_revokes_the_users_other_tokens(api, token, reset_token):
    other = api.login()["id"]

    response = api("PATCH", "/users/1", {"email": "countess@example.com"}, token=token)

    assert response.json["email"] == "countess@example.com"
    assert api("GET", "/users/1", token=other).status_code == 401
    assert api("GET", "/users/1", token=token).status_code == 200
    reset = api("POST", "/users/reset-password", {"newPassword": "x" * 9}, token=reset_token)
    assert reset.status_code == 401


def test_delete_also_deletes_tokens_and_todos(app, api, token):
    api("POST", "/todos", {"title": "buy milk"}, token=token)

    response = api("DELETE", "/users/1", token=token)

    assert (response.status_code, response.json) == (200, {"count": 1})
    assert [count(app, model) for model in (User, AccessToken, Todo)] == [0, 0, 0]
    assert api("GET", "/users/1", token=token).status_code == 401


def test_delete_leaves_other_users_alone(api, token):
    other = api.newcomer("bob@example.com")

    api("DELETE", "/users/1", token=token)

    assert api("GET", "/users/2", token=other).status_code == 200


OTHER_RECORDS = [
    ("GET", "/users/{}", None),
    ("PATCH", "/users/{}", {"username": "eve"}),
    ("PUT", "/users/{}", {"email": "eve@example.com"}),
    ("DELETE", "/users/{}", None),
    ("GET", "/users/{}/accessTokens", None),
    ("DELETE", "/users/{}/accessTokens", None),
    ("DELETE", "/users/{}/accessTokens/x", None),
]


@pytest.mark.parametrize("user_id", ["2", "99"], ids=["somebody's", "nobody's"])
@pytest.mark.parametrize(("method", "path", "body"), OTHER_RECORDS)
def test_any_other_record_is_403(api, token, method, path, body, user_id):
    other = api.newcomer("bob@example.com")

    response = api(method, path.format(user_id), body, token=token)

    assert refusal(response) == (403, "ACCESS_DENIED")
    assert api("GET", "/users/2", token=other).json["username"] is None


@pytest.mark.parametrize(("method", "path", "body"), OTHER_RECORDS)
def test_without_a_token_every_record_is_401(api, token, method, path, body):
    response = api(method, path.format(1), body)

    assert refusal(response) == (401, "AUTHORIZATION_REQUIRED")
    assert response.headers["WWW-Authenticate"] == "Bearer"


@pytest.mark.parametrize(
    ("status", "code"), [(401, "AUTHORIZATION_REQUIRED"), (404, "MODEL_NOT_FOUND")]
)
def test_access_denied_has_the_configured_status(make_app, api, token, status, code):
    client = make_app(ACL_ERROR_STATUS=status).test_client()

    response = client.get("/api/users/2", headers={"Authorization": token})

    assert refusal(response) == (status, code)


def test_listing_users_is_403_for_users(api, token):
    assert api("GET", "/users", token=token).status_code in {403, 404, 405}
