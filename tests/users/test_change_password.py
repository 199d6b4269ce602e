"""POST /users/change-password."""

import pytest

from tests.conftest import NEW, PASSWORD, login_status
from tests.support.answers import field_codes, refusal

BODY = {"oldPassword": PASSWORD, "newPassword": NEW}


def test_the_new_password_replaces_the_old_one(api, token, secrets):
    secrets.append(NEW)

    response = api("POST", "/users/change-password", BODY, token=token)

    assert (response.status_code, response.data) == (204, b"")
    assert login_status(api, PASSWORD) == 401
    assert login_status(api, NEW) == 200


def test_only_the_users_other_tokens_are_revoked(api, token):
    second, stranger = api.login()["id"], api.newcomer("bob@example.com")

    api("POST", "/users/change-password", BODY, token=token)

    assert api("GET", "/users/1", token=second).status_code == 401
    assert api("GET", "/users/1", token=token).status_code == 200
    assert api("GET", "/users/2", token=stranger).status_code == 200


def test_a_pending_reset_token_is_revoked(api, token, reset_token):
    api("POST", "/users/change-password", BODY, token=token)

    response = api("POST", "/users/reset-password", {"newPassword": "x" * 9}, token=reset_token)

    assert response.status_code == 401


@pytest.mark.parametrize("old", ["wrong", "", f"{PASSWORD} ", PASSWORD.upper()])
def test_a_wrong_old_password_is_400(api, token, old):
    response = api("POST", "/users/change-password", {**BODY, "oldPassword": old}, token=token)

    assert refusal(response) == (400, "INVALID_PASSWORD")
    assert login_status(api, PASSWORD) == 200


@pytest.mark.parametrize(
    ("body", "codes"),
    [
        ({}, {"newPassword": ["presence"], "oldPassword": ["presence"]}),
        ({"oldPassword": PASSWORD}, {"newPassword": ["presence"]}),
        ({"newPassword": NEW}, {"oldPassword": ["presence"]}),
        ({**BODY, "oldPassword": None}, {"oldPassword": ["presence"]}),
        ({**BODY, "oldPassword": 7}, {"oldPassword": ["invalid"]}),
        ({**BODY, "newPassword": ["x"]}, {"newPassword": ["invalid"]}),
        ({**BODY, "newPassword": "short"}, {"newPassword": ["invalid"]}),
        ({**BODY, "newPassword": "password1"}, {"newPassword": ["common"]}),
        ({**BODY, "newPassword": "ada"}, {"newPassword": ["invalid"]}),
        ({**BODY, "userId": 2}, {"userId": ["unknown"]}),
    ],
    ids=lambda value: str(value)[:50],
)
def test_an_invalid_change_is_422(api, token, body, codes):
    response = api("POST", "/users/change-password", body, token=token)

    assert field_codes(response) == codes
    assert login_status(api, PASSWORD) == 200


def test_without_a_token_it_is_401(api, token):
    response = api("POST", "/users/change-password", BODY)

    assert refusal(response) == (401, "AUTHORIZATION_REQUIRED")
