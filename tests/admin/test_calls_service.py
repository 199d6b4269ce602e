"""What admins see of the service: data sources, providers, models, settings, its state."""

import json

import pytest

from app.access.roles import ADMIN
from app.config import SCHEMA
from app.rest.endpoint import served_endpoints
from app.testing.apps import CHEAP_HASH
from tests.conftest import Api
from tests.connector.conftest import http_server, server  # noqa: F401 fixtures
from tests.datasources.conftest import LOCATION, geo  # noqa: F401 fixtures
from tests.support.answers import field_codes, refusal
from tests.support.rows import make_admin
from tests.support.second_factors import FACTOR_KEY

from .conftest import As

PLANTED = "planted-secret-"
SETTINGS = {
    "PROVIDERS": {
        "google": {"clientID": "ostiary", "clientSecret": f"{PLANTED}1"},
        "github": {"clientID": "ostiary", "clientSecret": f"{PLANTED}2"},
    },
    "MAIL_URL": f"smtp://robot:{PLANTED}3@127.0.0.1:1",
    "LOGIN_CODE_KEYS": [f"{PLANTED}4".ljust(32, "x")],
    "EMAIL_LOGIN": True,
    "SECOND_FACTOR": "optional",
    "FACTOR_KEYS": [FACTOR_KEY],
    "STORES": {
        "files": {
            "provider": "amazon",
            "key": f"{PLANTED}5",
            "keyId": "AKIA",
            "bucket": "files",
        }
    },
}


@pytest.fixture
def source(geo):  # noqa: F811
    """The settings of a data source that is not public, with secrets in several places."""
    secret = {"method": "GET", "url": f"{geo['baseURL']}/text?key={PLANTED}6"}
    secret |= {"query": {"token": f"{{pin={PLANTED}7}}"}}
    more = {"template": secret, "functions": {"secret": ["pin"]}}
    auth = {"username": "robot", "password": f"{PLANTED}8"}
    options = {**geo["options"], "headers": {"x-api-key": f"{PLANTED}9"}, "auth": auth}
    operations = [*geo["operations"], more]
    return {**geo, "public": False, "options": options, "operations": operations}


@pytest.fixture
def app(shared_app, source):
    return shared_app(DATA_SOURCES={"geo": source}, PROVIDERS=SETTINGS["PROVIDERS"])


def call_with(make_app, secrets, **settings):
    """Return what calls as the admin of an app with these settings."""
    app = make_app(**settings)
    api = Api(app.test_client(), secrets)
    caller = As(api, api.logged_in("ada@example.com"))
    make_admin(app)
    return caller


def test_the_functions_of_data_sources_are_listed(admin):
    [listed] = admin.get("/admin/dataSources")

    assert (listed["name"], listed["connector"], listed["public"]) == ("geo", "rest", False)
    geocode = listed["functions"][0]
    assert (geocode["name"], geocode["verb"]) == ("geocode", "GET")
    assert geocode["url"] == "/geocode/{format=json}"
    assert geocode["parameters"][0] == {
        "name": "street",
        "source": "query",
        "type": "string",
        "required": True,
        "default": None,
    }
    assert PLANTED not in json.dumps(listed)


def test_a_function_is_called_with_the_arguments_of_the_body(admin):
    path = "/admin/dataSources/geo/"

    answer = admin("POST", f"{path}geocode", {"street": "107 S B St", "floor": 2})

    assert answer.json == {"result": LOCATION}
    record = admin.get("/admin/audit?filter[limit]=1")[0]
    assert (record["action"], record["actorId"]) == ("data-source-called", 1)
    assert record["details"] == {"dataSource": "geo", "function": "geocode"}
    assert admin("POST", f"{path}note", {"note": "x"}).json["result"]["json"] == {"note": "x"}


def test_calls_fail_as_those_of_public_functions_do(admin):
    path = "/admin/dataSources/geo/"

    assert field_codes(admin("POST", f"{path}geocode", {})) == {"street": ["presence"]}
    answer = admin("POST", f"{path}geocode", {"street": "x", "stret": "y"})
    assert field_codes(answer) == {"stret": ["invalid"]}
    assert admin("POST", f"{path}status", {"code": 404}).json["error"]["details"] == {
        "statusCode": 404
    }
    late = admin("POST", f"{path}slow", {})
    assert (late.status_code, late.json["error"]["code"]) == (504, "REMOTE_TIMEOUT")
    assert refusal(admin("POST", f"{path}gone", {})) == (404, "MODEL_NOT_FOUND")
    assert refusal(admin("POST", "/admin/dataSources/gone/geocode", {})) == (404, "MODEL_NOT_FOUND")


def test_providers_are_listed_without_secrets(admin):
    listed = admin.get("/admin/providers")

    assert listed[0] == {
        "name": "google",
        "label": "Google",
        "protocol": "OpenID Connect",
        "issuer": "https://accounts.google.com",
        "users": 0,
    }
    assert listed[1]["protocol"] == "OAuth 2.0"
    assert PLANTED not in json.dumps(listed)


def test_models_have_what_a_form_needs(admin):
    models = {each["name"]: each for each in admin.get("/admin/models")}
    todos, document = models["todos"], admin.get("/openapi.json")["components"]["schemas"]

    assert models.keys() == {"todos", "users"}
    assert todos["schema"] == document["Todo"]
    assert todos["createSchema"] == document["NewTodo"]
    assert [todos[name] for name in ("path", "singular", "idName", "owner", "file")] == [
        *("todos", "todo", "id", "ownerId", None)
    ]
    assert todos["relations"] == [
        {
            "name": "owner",
            "type": "belongsTo",
            "model": "users",
            "foreignKey": "ownerId",
            "many": False,
            "filterable": todos["relations"][0]["filterable"],
        }
    ]
    assert (
        {"id", "email"}
        <= {*todos["relations"][0]["filterable"]}
        <= {*document["User"]["properties"]}
    )
    assert models["users"]["relations"][0]["foreignKey"] == "ownerId"
    assert {rule["principalId"] for rule in todos["rules"]} >= {"$owner"}
    assert admin.get("/admin/models/users") == {**models["users"], "rows": 1}
    assert refusal(admin("GET", "/admin/models/audit")) == (404, "MODEL_NOT_FOUND")


def test_rules_of_the_settings_are_shown_as_they_are(make_app, secrets):
    rules = [{"principalType": "ROLE", "principalId": "$everyone", "permission": "ALLOW"}]
    admin = call_with(make_app, secrets, ACLS={"todos": rules})

    assert admin.get("/admin/models/todos")["rules"] == rules


def test_settings_say_where_they_come_from(make_app, secrets):
    admin = call_with(make_app, secrets, TOKEN_TTL=600)

    listed = {each["name"]: each for each in admin.get("/admin/settings")}

    assert listed.keys() == SCHEMA.fields.keys()
    assert listed["TOKEN_TTL"] == {
        "name": "TOKEN_TTL",
        "value": 600,
        "default": 1209600,
        "description": SCHEMA.fields["TOKEN_TTL"].metadata["description"],
        "source": "config",
        "isSecret": False,
    }
    assert listed["RESET_TOKEN_TTL"]["source"] == "default"
    assert listed["PASSWORD_HASH"]["value"] == CHEAP_HASH


@pytest.mark.only_on("sqlite")
def test_no_answer_has_a_secret_of_an_app_that_is_configured_completely(make_app, secrets, source):
    admin = call_with(make_app, secrets, DATA_SOURCES={"geo": source}, **SETTINGS)
    endpoints = served_endpoints.of(admin.api.client.application).values()
    paths = [
        f"/admin{route.path}"
        for endpoint in endpoints
        if endpoint.method in admin.get("/admin/access")["methods"][ADMIN]
        for route in endpoint.routes
        if route.verb == "GET" and "<" not in route.path
    ]

    answers = {path: admin("GET", path) for path in {*paths, "/admin/models/users"}}
    answers["/admin/users/1"] = admin("GET", "/admin/users/1")

    assert len(answers) == 14
    assert {answer.status_code for answer in answers.values()} == {200}
    leaks = [path for path, answer in answers.items() if PLANTED in answer.get_data(as_text=True)]
    assert leaks == []
    assert not any(FACTOR_KEY in answer.get_data(as_text=True) for answer in answers.values())
    listed = {each["name"]: each for each in answers["/admin/settings"].json}
    secret = {name for name, each in listed.items() if each["isSecret"]}
    assert secret == {*SETTINGS, "DATA_SOURCES"} - {"EMAIL_LOGIN", "SECOND_FACTOR"}
    assert listed["MAIL_URL"]["value"] == "smtp://***@127.0.0.1:1"
    assert listed["PROVIDERS"]["value"]["google"] == {"clientID": "ostiary", "clientSecret": "***"}
    assert listed["FACTOR_KEYS"]["value"] == "***"


def test_the_password_of_the_database_is_masked(admin, monkeypatch):
    url = f"postgresql+psycopg://ostiary:{PLANTED}/x@127.0.0.1/db?password={PLANTED}"
    monkeypatch.setitem(admin.api.client.application.config, "SQLALCHEMY_DATABASE_URI", url)

    listed = {each["name"]: each["value"] for each in admin.get("/admin/settings")}

    assert listed["SQLALCHEMY_DATABASE_URI"].startswith("postgresql+psycopg://***@127.0.0.1/db")
    assert PLANTED not in json.dumps(listed)


@pytest.mark.only_on("sqlite")
def test_the_state_says_what_there_is_and_what_waits(admin):
    state = admin.get("/admin/state")

    assert state["health"] == "ok"
    assert state["database"]["dialect"] == "sqlite"
    assert state["migrations"]["product"]["current"] == state["migrations"]["product"]["head"]
    assert state["migrations"]["project"] is None
    assert state["outbox"] == {"pending": 0, "failed": 0, "oldest": None}
    assert (state["locks"], state["users"]) == (0, 1)
    assert state["uptime"] >= 0


def test_everybody_who_is_logged_in_learns_what_it_may_call(api, admin, user):
    access = user.get("/admin/access")

    own = ("userId", "email", "roles", "isStrong", "isRecent")
    assert [access[name] for name in own] == [2, "bob@example.com", [], False, True]
    assert access["methods"]["admin"] == ["access"]
    # Lists of others' rows are not among what owners may call.
    assert {"findById", "patchAttributes"} <= {*access["methods"]["users"]}
    assert not {"find", "count", "disable"} & {*access["methods"]["users"]}
    assert {"find", "disable"} <= {*admin.get("/admin/access")["methods"]["users"]}
    assert refusal(api("GET", "/admin/access")) == (401, "AUTHORIZATION_REQUIRED")


def test_no_personal_token_administers(make_app, secrets):
    admin = call_with(make_app, secrets, PERSONAL_TOKENS={})
    body = {"name": "x", "scopes": {"admin": ["*"], "users": ["*"]}}
    made = admin("POST", "/users/1/personalTokens", body).json
    secrets.append(made["token"])

    answers = [
        admin.api("GET", path, token=made["token"]) for path in ("/admin/access", "/admin/users")
    ]

    assert [refusal(answer) for answer in answers] == [(403, "INSUFFICIENT_SCOPE")] * 2
