"""The token transports: headers, the query parameter and the cookie."""

import base64
from hashlib import sha256

import pytest

from tests.support.answers import refusal
from tests.support.rows import expire

UNKNOWN = "x" * 64


def b64(text):
    return base64.b64encode(text.encode()).decode()


def show(api, headers=None, query=""):
    return api("GET", f"/users/1{query}", headers=headers or {}).status_code


@pytest.mark.parametrize(
    "value",
    [
        lambda token: token,
        lambda token: f"Bearer {token}",
        lambda token: f"bearer {token}",
        lambda token: f"Bearer {b64(token)}",
        lambda token: f"Basic {b64(token)}",
        lambda token: f"Basic {b64(f'{token}:')}",
        lambda token: f"Basic {b64(f':{token}')}",
        lambda token: f"basic {b64(f'ada:{token}')}",
    ],
    ids=[
        "raw",
        "Bearer",
        "bearer",
        "Bearer in base64",
        "Basic bare",
        "Basic user",
        "Basic password",
        "Basic user and password",
    ],
)
def test_the_authorization_header_is_accepted(api, token, value):
    assert show(api, {"Authorization": value(token)}) == 200


@pytest.mark.parametrize(
    "value",
    [
        UNKNOWN,
        "Bearer",
        "Bearer !",
        "Bearer /w==",
        "Basic !",
        "Basic",
        "Basic Og==",
        "Digest x",
        "\xff",
        "x" * 5000,
    ],
    ids=lambda value: ascii(value)[:16],
)
def test_an_unknown_authorization_header_is_anonymous(api, token, value):
    response = api("GET", "/users/1", headers={"Authorization": value})

    assert refusal(response) == (401, "AUTHORIZATION_REQUIRED")


def test_the_x_access_token_header_is_accepted(api, token):
    assert show(api, {"X-Access-Token": token}) == 200


def test_the_query_parameter_is_accepted(api, token):
    assert show(api, query=f"?access_token={token}") == 200


def test_the_query_parameter_can_be_disabled(make_app, api, token):
    client = make_app(TOKEN_IN_QUERY=False).test_client()

    response = client.get(f"/api/users/1?access_token={token}")

    assert refusal(response) == (401, "INVALID_TOKEN")


def test_a_cookie_is_ignored_by_default(client, api, token):
    client.set_cookie("access_token", token)

    assert show(api) == 401


@pytest.mark.parametrize("first", [True, False], ids=["the first is good", "the first is bad"])
@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("Authorization", "X-Access-Token"),
        ("Authorization", "access_token"),
        ("X-Access-Token", "access_token"),
    ],
)
def test_the_first_present_transport_is_used(api, token, earlier, later, first):
    values = {earlier: token if first else UNKNOWN, later: UNKNOWN if first else token}
    query = f"?access_token={values.pop('access_token')}" if "access_token" in values else ""

    assert show(api, values, query) == (200 if first else 401)


@pytest.mark.parametrize("name", ["Authorization", "X-Access-Token"])
def test_an_empty_header_counts_as_absent(api, token, name):
    assert show(api, {name: ""}, f"?access_token={token}") == 200


@pytest.mark.parametrize("name", ["Authorization", "X-Access-Token"])
def test_a_repeated_header_counts_as_absent(client, token, name):
    repeated = [(name, token), (name, token)]

    alone = client.get("/api/users/1", headers=repeated)
    with_query = client.get(f"/api/users/1?access_token={token}", headers=repeated)

    assert alone.status_code == 401
    assert with_query.status_code == 200


@pytest.mark.parametrize(
    "query", ["?access_token=", "?access_token=TOKEN&access_token=TOKEN", "?access_token[]=TOKEN"]
)
def test_an_empty_or_repeated_parameter_counts_as_absent(api, token, query):
    assert show(api, query=query.replace("TOKEN", token)) == 401


def test_an_expired_token_is_anonymous_on_public_endpoints(app, api, token):
    expire(app, token)
    unknown = {"email": "eve@example.com", "password": "x"}

    login = api("POST", "/users/login", unknown, token=token)

    assert refusal(login) == (401, "LOGIN_FAILED")
    assert api("POST", "/users/reset", {"email": "e@example.com"}, token=token).status_code == 200


def test_an_expired_token_is_401_on_other_endpoints(app, api, token):
    expire(app, token)

    response = api("GET", "/users/1", token=token)

    assert refusal(response) == (401, "INVALID_TOKEN")
    assert response.headers["WWW-Authenticate"] == "Bearer"


def test_a_token_is_valid_until_its_expiry_time(app, api, token):
    expire(app, token, ago=-60)

    assert show(api, {"Authorization": token}) == 200


def test_the_digest_of_a_token_is_not_a_token(api, token):
    assert show(api, {"Authorization": sha256(token.encode()).hexdigest()}) == 401
