"""GET /api/openapi.json."""

import json
import re

import pytest
from openapi_spec_validator import validate

from app.access.rules import EVERYONE, READ, allow
from app.openapi import document_text
from app.openapi.schemas import request_schema
from app.rest.endpoint import Endpoints, declare, endpoints_of, register_endpoints

VERBS = {"GET", "POST", "PUT", "PATCH", "DELETE"}
# The ways to present an access token, as the document calls them.
WAYS = ("header", "header.X-Access-Token", "query", "bearer")
PRIVATE = ("password_hash", "passwordHash", "digest", "argon2", "expires_at", "has_roles")


@pytest.fixture
def document(client):
    return client.get("/api/openapi.json").json


def operations(document):
    """Return the operations by verb and path."""
    return {
        (verb.upper(), path): operation
        for path, item in document["paths"].items()
        for verb, operation in item.items()
    }


def named(document, operation_id):
    """Return the operation of this name."""
    found = operations(document).values()
    return next(each for each in found if each["operationId"] == operation_id)


def codes(document, operation, status):
    """Return the error codes that an operation has for a status."""
    response = operation["responses"][status]
    if "$ref" in response:
        response = document["components"]["responses"][response["$ref"].rpartition("/")[2]]
    return list(response["content"]["application/json"]["examples"])


def test_the_document_is_valid(document):
    validate(document)


def test_the_document_has_every_route_under_the_base_path_and_no_other(app, document):
    routes = {
        (verb, re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", rule.rule.removeprefix("/api")))
        for rule in app.url_map.iter_rules()
        if rule.rule.startswith("/api/")
        for verb in rule.methods & VERBS
    }

    assert set(operations(document)) == routes


def test_operation_ids_are_unique_and_named_after_model_and_method(document):
    names = [each["operationId"] for each in operations(document).values()]

    assert len(names) == len(set(names))
    assert {"users.login", "users.logout", "users.logout__get", "todos.find"} <= set(names)


def test_every_operation_has_a_summary_a_tag_and_error_responses(document):
    for operation in operations(document).values():
        assert operation["summary"]
        assert operation["tags"]
        assert {"500", "503"} <= operation["responses"].keys()


def test_a_model_is_described_in_one_sentence(document):
    described = {tag["name"]: tag["description"] for tag in document["tags"]}

    assert described["users"] == (
        "A user. `email` and `username` are unique within the `realm`, which is chosen at the"
        " registration."
    )
    assert [text for text in described.values() if "\n" in text] == []


def test_the_document_contains_no_private_fields(client):
    text = client.get("/api/openapi.json").text

    assert not [word for word in PRIVATE if word in text]


def test_the_schemas_of_fields_describe_what_they_accept(document):
    schema = document["components"]["schemas"]["NewTodo"]

    assert schema["required"] == ["title"]
    assert schema["properties"]["title"] == {
        "type": "string",
        "maxLength": 255,
        "pattern": r"\S",
        "examples": ["Water the plants"],
    }
    assert schema["properties"]["desc"]["type"] == ["string", "null"]
    assert schema["properties"]["isComplete"] == {"type": "boolean", "default": False}
    assert "id" not in schema["properties"]


def test_examples_of_bodies_have_required_properties_and_those_with_an_example():
    properties = {
        "text": {"type": "string"},
        "stars": {"type": "integer"},
        "colour": {"type": "string", "examples": ["green"]},
        "id": {"type": "integer", "readOnly": True},
    }

    schema = request_schema({"properties": properties, "required": ["text"]})

    assert schema["examples"] == [{"text": "text", "colour": "green"}]


def test_a_redirect_is_a_response_of_its_own(shared_app):
    client = shared_app(EMAIL_VERIFICATION="optional").test_client()
    document = client.get("/api/openapi.json").json

    responses = named(document, "users.confirm")["responses"]

    assert responses["302"]["headers"] == {"Location": {"schema": {"type": "string"}}}
    assert {"204", "400"} <= responses.keys()
    validate(document)


def test_response_schemas_mark_read_only_properties(document):
    properties = document["components"]["schemas"]["Todo"]["properties"]

    assert properties["id"] == {"type": "integer", "minimum": 1, "examples": [1], "readOnly": True}
    assert properties["created"]["format"] == "date-time"
    assert properties["created"]["readOnly"]
    assert document["components"]["schemas"]["User"]["properties"].keys() == {
        "id",
        "email",
        "username",
        "realm",
        "emailVerified",
        "created",
    }


def test_new_passwords_are_described_by_the_settings(make_app):
    document = make_app(PASSWORD_MIN_LENGTH=12).test_client().get("/api/openapi.json").json

    assert document["components"]["schemas"]["NewUser"]["properties"]["password"]["minLength"] == 12


@pytest.mark.parametrize(
    ("name", "security"),
    [
        ("users.login", []),
        ("users.create", []),
        ("todos.find", [{way: []} for way in WAYS]),
        ("users.find", [{way: ["admin"]} for way in WAYS]),
        ("users.logout", [{}, *({way: []} for way in WAYS)]),
    ],
)
def test_operations_describe_which_token_they_require(document, name, security):
    assert named(document, name)["security"] == security


def test_security_follows_the_settings(make_app):
    middleware = {"cookies": ["session"], "headers": ["X-Key"], "params": ["key"]}
    app = make_app(TOKEN_IN_QUERY=False, TOKEN_MIDDLEWARE=middleware)
    document = app.test_client().get("/api/openapi.json").json

    schemes = document["components"]["securitySchemes"]
    assert {each.get("name") for each in schemes.values()} == {
        "Authorization",
        "X-Access-Token",
        "X-Key",
        "session",
        None,
    }
    assert named(document, "todos.find")["security"] == [{name: []} for name in schemes]


def test_security_follows_the_rules(make_app):
    rules = [{"principalId": "$everyone", "permission": "ALLOW"}]
    document = make_app(ACLS={"todos": rules}).test_client().get("/api/openapi.json").json

    assert named(document, "todos.find")["security"] == []
    assert "401" not in named(document, "todos.exists")["responses"]
    # Whose to-dos they are, which filters may ask for, is not open to everyone.
    assert "401" in named(document, "todos.find")["responses"]
    assert "401" in named(document, "todos.count")["responses"]


@pytest.mark.parametrize(("status", "code"), [(401, None), (403, "403"), (404, "404")])
def test_access_denied_is_documented_with_the_configured_status(make_app, status, code):
    document = make_app(ACL_ERROR_STATUS=status).test_client().get("/api/openapi.json").json

    found = named(document, "users.count")["responses"].keys() & {"403", "404"}
    assert found == ({code} if code else set())


def test_errors_are_listed_with_their_codes(document):
    login = named(document, "users.login")

    factor = ["SECOND_FACTOR_REQUIRED", "SECOND_FACTOR_FAILED"]
    refusals = ["LOGIN_FAILED", *factor, "LOGIN_FAILED_EMAIL_NOT_VERIFIED"]
    assert codes(document, login, "401") == refusals
    assert "USERNAME_EMAIL_REQUIRED" in codes(document, login, "400")
    assert codes(document, named(document, "todos.create"), "422") == ["VALIDATION_ERROR"]
    assert "403" not in named(document, "todos.find")["responses"]


def test_what_other_sites_may_not_do_with_a_cookie_is_403(make_app):
    paths = make_app(TOKEN_MIDDLEWARE={}).test_client().get("/api/openapi.json").json["paths"]

    # It writes whatever the verb.
    assert all("403" in operation["responses"] for operation in paths["/users/logout"].values())
    assert "403" not in paths["/todos"]["get"]["responses"]


def test_filters_are_described(document):
    parameter = named(document, "todos.find")["parameters"][0]

    assert parameter["name"] == "filter"
    schema = {"$ref": "#/components/schemas/TodoFilter"}
    assert parameter["schema"] == {
        "type": "string",
        "contentMediaType": "application/json",
        "contentSchema": schema,
    }
    where = {"title": "Water the plants"}
    usual, related = (json.loads(each["value"]) for each in parameter["examples"].values())
    assert usual == {"where": where, "order": "id DESC", "limit": 10}
    assert related["where"] == {"owner": {"email": {"like": "%a%"}}}
    assert related["order"] == "owner.email"
    counted = named(document, "todos.count")["parameters"][0]
    assert json.loads(counted["examples"]["usual"]["value"]) == where
    where = document["components"]["schemas"]["TodoWhere"]["properties"]
    assert "ilike" in where["title"]["anyOf"][2]["properties"]
    assert "ilike" not in where["id"]["anyOf"][2]["properties"]


def shared_parameters(operation):
    """Return the names of the parameters that many operations have in common."""
    refs = [each["$ref"] for each in operation["parameters"] if "$ref" in each]
    return [ref.removeprefix("#/components/parameters/") for ref in refs]


def is_tagged(operation):
    return "ETag" in operation["responses"]["200"].get("headers", {})


@pytest.mark.parametrize(
    "name", ["todos.patchAttributes", "todos.replaceOrCreate", "users.__updateById__todos"]
)
def test_changes_of_one_row_are_described_with_their_preconditions(document, name):
    operation = named(document, name)

    assert shared_parameters(operation) == ["If-Match", "If-None-Match"]
    assert codes(document, operation, "412") == ["PRECONDITION_FAILED"]
    assert is_tagged(operation)
    assert "304" not in operation["responses"]


@pytest.mark.parametrize("name", ["todos.findById", "todos.findOne", "todos.__get__owner"])
def test_reads_of_one_row_are_described_with_their_tag(document, name):
    operation = named(document, name)

    assert shared_parameters(operation) == ["If-None-Match"]
    assert "ETag" in operation["responses"]["304"]["headers"]
    assert is_tagged(operation)
    assert "412" not in operation["responses"]


def test_other_calls_have_no_preconditions(document):
    deleting, creating = named(document, "todos.deleteById"), named(document, "todos.create")

    assert shared_parameters(deleting) == ["If-Match", "If-None-Match"]
    assert (is_tagged(deleting), is_tagged(creating)) == (False, True)
    for name in ("todos.create", "todos.find", "todos.updateAll", "todos.exists", "users.login"):
        assert not shared_parameters(named(document, name))
        assert not {"304", "412"} & named(document, name)["responses"].keys()


def test_a_configured_literal_is_documented_as_user_id(make_app):
    app = make_app(TOKEN_MIDDLEWARE={"currentUserLiteral": "me"})
    document = app.test_client().get("/api/openapi.json").json

    user_id = named(document, "users.findById")["parameters"][0]
    assert user_id["example"] == "me"
    assert user_id["schema"]["anyOf"][1] == {"const": "me"}
    assert named(document, "todos.findById")["parameters"][0]["example"] == 1


def test_the_document_is_built_once_and_revalidated_by_its_etag(app, client):
    first = client.get("/api/openapi.json")
    again = client.get("/api/openapi.json", headers={"If-None-Match": first.headers["ETag"]})

    assert again.status_code == 304
    assert document_text.of(app).cache_info().misses == 1


def test_the_server_url_includes_the_prefix_of_a_proxy(make_app):
    app = make_app(REST_API_ROOT="/v1/rest", TRUSTED_PROXIES=1)
    client = app.test_client()

    for prefix in [f"/door{n}" for n in range(9)]:
        headers = {"X-Forwarded-Prefix": prefix}
        document = client.get("/v1/rest/openapi.json", headers=headers).json

        assert document["servers"] == [{"url": f"{prefix}/v1/rest"}]
    assert document_text.of(app).cache_info().misses == 1


def test_endpoints_of_other_modules_are_described_as_declared_or_by_their_route(make_app):
    app = make_app()
    answer = {"type": "object", "properties": {"sky": {"type": "string"}}}

    class Weather:
        @declare("forecast", READ, "GET /<city>", answer=answer, summary="Tell the weather")
        def forecast(self, grant, city):
            pass

    register_endpoints(app, Endpoints("weather", endpoints_of(Weather()), [allow(EVERYONE)]))

    @app.get("/api/weather", endpoint="weather.cities")
    def cities():
        """List the cities."""

    document = app.test_client().get("/api/openapi.json").json

    validate(document)
    described = named(document, "weather.forecast")
    assert described["summary"] == "Tell the weather"
    assert [each["name"] for each in described["parameters"]] == ["city"]
    assert described["responses"]["200"]["content"]["application/json"]["schema"] == answer
    assert named(document, "weather.cities")["summary"] == "List the cities"


@pytest.mark.parametrize(
    ("operation_id", "statuses"),
    [
        ("users.create", {"429", "503"}),
        ("users.login", {"429", "503"}),
        ("users.resetPassword", {"429"}),
        ("users.setPassword", {"429", "503"}),
        ("users.changePassword", {"429", "503"}),
        ("users.patchAttributes", {"429", "503"}),
    ],
)
def test_refusals_that_are_temporary_say_when_to_try_again(document, operation_id, statuses):
    responses = named(document, operation_id)["responses"]
    codes = {"429": "TOO_MANY_REQUESTS", "503": "TOO_MANY_HASHES"}
    shared = document["components"]["responses"]

    for status in statuses:
        response = shared[responses[status]["$ref"].rpartition("/")[2]]
        assert codes[status] in response["content"]["application/json"]["examples"]
        assert response["headers"]["Retry-After"]["schema"] == {"type": "integer", "minimum": 1}
    assert "429" not in named(document, "todos.create")["responses"]


def test_aggregates_are_described_by_the_types_of_properties(document):
    schema = document["components"]["schemas"]["TodoAggregate"]["properties"]
    functions = schema["aggregate"]["additionalProperties"]["properties"]

    assert functions["max"]["enum"] == ["id", "title", "desc", "created", "ownerId"]
    assert functions["count"]["enum"][-2:] == ["ownerId", "*"]
    assert "sum" not in functions
    assert {"created", "isComplete"} <= {*schema["groupBy"]["anyOf"][0]["anyOf"][0]["enum"]}
    [parameter] = named(document, "todos.aggregate")["parameters"]
    assert parameter["schema"]["contentSchema"] == {"$ref": "#/components/schemas/TodoAggregate"}


def test_clients_learn_the_model_of_a_collection_and_what_a_relation_sets(document):
    models = {tag["name"]: tag["x-model"] for tag in document["tags"]}
    by_id = {each["operationId"]: each for each in operations(document).values()}

    assert models == {"users": "User", "todos": "Todo"}
    assert by_id["users.__create__todos"]["x-set-by-path"] == ["ownerId"]
    assert "x-set-by-path" not in by_id["todos.create"]
    assert "x-login-paths" not in document
