"""POST /users/login."""

import pytest

from tests.conftest import PASSWORD


def test_login_answers_the_token_in_the_documented_order(api):
    user = api.register()

    token = api.login()

    assert list(token) == ["id", "ttl", "created", "userId"]
    assert len(token["id"]) == 64
    assert token["id"].isalnum()
    assert token["ttl"] == 1209600
    assert token["userId"] == user["id"]


def test_every_login_makes_another_token(api):
    api.register()

    assert api.login()["id"] != api.login()["id"]


@pytest.mark.parametrize(
    ("credentials", "message"),
    [
        ({}, "username or email is required"),
        ({"email": "", "username": None}, "username or email is required"),
        ({"email": {"neq": "x"}}, "Invalid email"),
        ({"email": ["ada@example.com"]}, "Invalid email"),
        ({"username": 7}, "Invalid username"),
        ({"email": "ada@example.com", "realm": {"neq": "x"}}, "Invalid realm"),
    ],
)
def test_credentials_that_cannot_be_meant_are_400(api, credentials, message):
    response = api("POST", "/users/login", {"password": PASSWORD, **credentials})

    assert response.status_code == 400
    assert response.json["message"] == message
