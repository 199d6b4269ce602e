"""Realms: REALM_REQUIRED and REALM_DELIMITER."""

import pytest

from tests.conftest import PASSWORD, Api
from tests.support.answers import field_codes, refusal


@pytest.fixture
def strict(shared_app, secrets):
    """The API where login needs a realm."""
    return Api(shared_app(REALM_REQUIRED=True).test_client(), secrets)


@pytest.fixture
def delimited(shared_app, secrets):
    """Return the API with REALM_DELIMITER, which accepts `realm:name`."""
    return Api(shared_app(REALM_DELIMITER=":").test_client(), secrets)


def login(api, **credentials):
    response = api("POST", "/users/login", {"password": PASSWORD, **credentials})
    if response.status_code == 200:
        api.secrets.append(response.json["id"])
    return response


def test_one_email_may_be_registered_in_several_realms(api):
    for realm in (None, "acme", "initech"):
        api.register("ada@example.com", realm=realm)

    answers = [login(api, email="ada@example.com", realm=r) for r in (None, "acme", "initech")]

    assert [answer.json["userId"] for answer in answers] == [1, 2, 3]


def test_names_are_unique_only_within_a_realm(api):
    api.register("ada@example.com", username="ada", realm="acme")
    again = {"email": "ada@example.com", "username": "ada", "password": PASSWORD}

    same = api("POST", "/users", {**again, "realm": "acme"})
    other = api("POST", "/users", {**again, "realm": "initech"})

    assert field_codes(same) == {"email": ["uniqueness"], "username": ["uniqueness"]}
    assert other.status_code == 200


def test_login_without_the_realm_of_the_user_fails(api):
    api.register("ada@example.com", realm="acme")

    assert refusal(login(api, email="ada@example.com")) == (401, "LOGIN_FAILED")


@pytest.mark.parametrize(
    "credentials",
    [{}, {"email": "ada@example.com"}, {"email": 7}, {"email": "a@b.org", "realm": ""}],
    ids=["nothing", "email", "bad email", "empty realm"],
)
def test_a_missing_required_realm_is_reported_first(strict, credentials):
    response = login(strict, **credentials)

    assert refusal(response) == (400, "REALM_REQUIRED")
    assert response.json["message"] == "realm is required"


def test_login_with_the_required_realm_succeeds(strict):
    strict.register("ada@example.com", realm="acme")

    assert login(strict, email="ada@example.com", realm="acme").status_code == 200


def test_registration_without_a_required_realm_is_rejected(strict):
    response = strict("POST", "/users", {"email": "ada@example.com", "password": PASSWORD})

    assert field_codes(response) == {"realm": ["presence"]}


@pytest.mark.parametrize("name", ["email", "username"])
def test_the_realm_may_precede_the_name(delimited, name):
    delimited.register("ada@example.com", username="ada", realm="acme")
    value = {"email": "acme:ada@example.com", "username": "acme:ada"}[name]

    assert login(delimited, **{name: value}).json["userId"] == 1


def test_the_realm_in_the_name_overrides_the_realm_property(delimited):
    delimited.register("ada@example.com", realm="acme")

    response = login(delimited, email="acme:ada@example.com", realm="initech")

    assert response.status_code == 200


def test_with_a_delimiter_the_realm_property_is_accepted(delimited):
    delimited.register("ada@example.com", realm="acme")

    assert login(delimited, email="ada@example.com", realm="acme").status_code == 200


@pytest.mark.parametrize("email", ["ada@example.com", ":ada@example.com"])
def test_with_a_delimiter_the_realm_is_required(delimited, email):
    assert refusal(login(delimited, email=email)) == (400, "REALM_REQUIRED")


def test_a_realm_without_a_name_is_rejected(delimited):
    assert refusal(login(delimited, email="acme:")) == (400, "USERNAME_EMAIL_REQUIRED")
