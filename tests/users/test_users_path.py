"""Users under another path: USERS_PATH."""

import pytest

from app.problems import ConfigurationError
from tests.conftest import PASSWORD, Api
from tests.support.rows import make_old

EMAIL = "ada@example.com"
CREDENTIALS = {"email": EMAIL, "password": PASSWORD}


@pytest.fixture
def app(shared_app):
    return shared_app(
        USERS_PATH="Accounts",
        EMAIL_CHANGE="confirmed",
        TOKEN_MIDDLEWARE={"currentUserLiteral": "me"},
    )


@pytest.fixture
def token(api, secrets):
    assert api("POST", "/Accounts", CREDENTIALS).status_code == 200
    secrets.append(api("POST", "/Accounts/login", CREDENTIALS).json["id"])
    return secrets[-1]


def test_every_case_of_the_path_is_served_and_the_usual_one_is_404(api, token, secrets):
    answers = [
        api("POST", f"/{path}/login", CREDENTIALS, token=token)
        for path in ("Accounts", "accounts", "ACCOUNTS")
    ]
    secrets += [answer.json["id"] for answer in answers]

    assert [answer.status_code for answer in answers] == [200] * 3
    for verb, path in (("POST", "/users"), ("POST", "/users/login"), ("GET", "/users/1")):
        assert api(verb, path, CREDENTIALS, token=token).status_code == 404


def test_everything_below_the_path_is_served(api, token):
    created = api("POST", "/accounts/1/todos", {"title": "Mine"}, token=token)
    listed = api("GET", "/Accounts/me/todos", token=token, query_string={"filter[limit]": 1})
    api("POST", "/accounts/1/todos", {"title": "Another"}, token=token)
    page = api("GET", "/accounts/me/todos", token=token, query_string={"filter[limit]": 1})
    owner = api("GET", "/todos/1/owner", token=token)
    ended = api("POST", "/Accounts/logout", token=token)

    assert (created.status_code, listed.json) == (200, [created.json])
    assert page.headers["Link"].startswith("</api/accounts/me/todos?filter=")
    assert owner.json["email"] == EMAIL
    assert ended.status_code == 204


def test_an_error_names_the_path(app, api, token):
    make_old(app, token)
    refused = api("PATCH", "/accounts/1", {"email": "new@example.com"}, token=token)

    assert refused.json["error"]["details"]["messages"]["email"] == [
        "is changed by POST /Accounts/change-email"
    ]


def test_the_document_and_the_explorer_have_the_path(client):
    document = client.get("/api/openapi.json").json
    page = client.get("/explorer").text

    assert not [path for path in document["paths"] if path.startswith("/users")]
    login = document["paths"]["/accounts/login"]["post"]
    assert (login["operationId"], login["tags"]) == ("users.login", ["users"])
    literal = document["paths"]["/accounts/{id}"]["get"]["parameters"][0]["schema"]
    assert {"const": "me"} in literal["anyOf"]
    assert 'data-login="/api/accounts/login"' in page


def test_rules_go_by_the_name_of_the_model(make_app):
    rule = {"principalId": "$everyone", "permission": "ALLOW", "property": "count"}
    app = make_app(USERS_PATH="people", ACLS={"users": [rule]})
    api = Api(app.test_client(), [])

    assert api("GET", "/people/count").json == {"count": 0}
    assert api("POST", "/people", CREDENTIALS).status_code == 401


@pytest.mark.parametrize("path", ["", "a/b", "/users", "1st", "ünder", "users\n", "a b", "x" * 65])
def test_what_is_no_segment_of_a_path_stops_the_start(make_app, path):
    with pytest.raises(ConfigurationError, match="USERS_PATH cannot be used: must begin with"):
        make_app(USERS_PATH=path)


def test_a_path_that_is_taken_stops_the_start(make_app):
    source = {"connector": "rest", "public": True, "operations": []}

    with pytest.raises(ConfigurationError, match="cannot be served at /todos"):
        make_app(USERS_PATH="Todos")
    with pytest.raises(ConfigurationError, match="geo cannot be served at /geo: users is served"):
        make_app(USERS_PATH="Geo", DATA_SOURCES={"geo": source})


def test_two_apps_in_one_process_have_their_own_paths(make_app):
    first, second = make_app(USERS_PATH="members"), make_app()

    for app, found, missing in ((first, "members", "users"), (second, "users", "members")):
        client = app.test_client()
        statuses = [client.get(f"/api/{path}/1").status_code for path in (found, missing)]
        assert (app.config["USERS_PATH"], statuses) == (found, [401, 404])
