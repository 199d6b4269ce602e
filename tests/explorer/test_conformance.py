"""The service conforms to its OpenAPI document: examples work, every response is documented."""

import json
import re

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from app.access.roles import Role, RoleMapping
from app.todos.models import Todo
from app.users.models import RESET_SCOPE, AccessToken, User, new_token_values
from app.users.passwords.hashing import hash_password
from tests.support.rows import populate
from tests.support.second_factors import OPTIONAL

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
# What the document's examples say of the user with id 1.
EMAIL, PASSWORD = "newcomer@example.com", "a quiet harbour"
ADMIN_EMAIL = "admin@example.com"
VERBS = ["get", "post", "put", "patch", "delete"]
# Who calls, besides strangers: the user and the scope of the token.
CALLERS = {"user": (1, None), "admin": (2, None), "reset": (1, RESET_SCOPE)}
# Calls that make a user of the example, so that there must be none yet.
# Calls that concern the caller's own account.
OWN = {"users.changePassword", "users.changeEmail", "users.logout", "users.reauthenticate"}
# Its name is cut off: that of relations has the name of a model behind it.
OWN |= {"users.__create", "users.__create__factors", "users.confirmFactor"}
OWN |= {"users.passkeyOptions", "users.__create__passkeys"}
# Calls with a ticket, a code or a signature, of which no example can be right, or of a data source,
# of which there is none.
UNKNOWN = {
    "post /admin/dataSources/None/None": "MODEL_NOT_FOUND",
    "post /users/email-code/confirm": "VALIDATION_ERROR",
    "post /users/login/factor": "INVALID_TICKET",
    "post /users/login/enrol": "INVALID_TICKET",
    "post /users/login/passkey": "VALIDATION_ERROR",
    "post /users/1/passkeys": "VALIDATION_ERROR",
    "patch /users/1/passkeys/1": "MODEL_NOT_FOUND",
    "post /users/1/factors/totp/confirm": "SECOND_FACTOR_FAILED",
}
REGISTERING = {"users.create", "users.patchOrCreate", "users.replaceOrCreate"}
REGISTERING |= {"users.createServiceAccount"}
# Values of headers that the service reads, some of them of no use, by the names of the headers.
TAGS = ["*", 'W/"x", "y"', "x, ,", '"x", ' * 300]
CONDITIONS = ['{"id": 1}', '{"nope": 1}', "[[[", "9" * 5000]
FILTERS = ['{"where": {"id": 1}}', '{"limit": -1}', "{", '{"include": ["a", {"b": 1}]}']
KEYS = ["k", '"k"', '"', "a,b", "x" * 300]
HEADERS = {"If-Match": TAGS, "If-None-Match": TAGS, "filter": FILTERS, "where": CONDITIONS}
HEADERS |= {"Idempotency-Key": KEYS}
sent_headers = st.fixed_dictionaries(
    {}, optional={name: st.sampled_from(values) for name, values in HEADERS.items()}
)
BOUNDED = settings(
    max_examples=4,
    deadline=None,
    database=None,
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)


def lay_out(app, newcomer=True):
    """Lay out the same small world anew, with or without the user of the examples."""
    populate(app, lambda: small_world(newcomer))


def small_world(newcomer):
    people = {1: EMAIL, 2: ADMIN_EMAIL} if newcomer else {2: ADMIN_EMAIL}
    for user_id, email in people.items():
        own = {"password_hash": hash_password(PASSWORD), "email_verified": True}
        yield User(id=user_id, email=email, **own)
    yield Role(id=1, name="admin")
    yield RoleMapping(user_id=2, role_id=1)
    if newcomer:
        yield Todo(id=1, title="Mine", owner_id=1)
    for caller, (user_id, scope) in CALLERS.items():
        if user_id in people:
            email = people[user_id] if scope else None
            values = new_token_values(f"{caller}-token", 600, scope=scope, email=email)
            yield AccessToken(user_id=user_id, **values)


def headers_of(caller):
    """Return the headers by which the small world knows a caller."""
    return {} if caller == "anonymous" else {"Authorization": f"{caller}-token"}


@pytest.fixture
def app(shared_app):
    """An app with every endpoint."""
    return shared_app(
        EMAIL_VERIFICATION="optional",
        EMAIL_CHANGE="confirmed",
        IDEMPOTENCY_TTL=3600,
        PERSONAL_TOKENS={},
        PASSKEYS={},
        PUBLIC_URL="http://localhost:3000",
        **OPTIONAL,
    )


@pytest.fixture
def document(client):
    return client.get("/api/openapi.json").json


@pytest.fixture
def schema(app, document):
    """The document with filters in the form for which Schemathesis makes JSON."""
    changed = json.loads(json.dumps(document))
    for _, _, operation in operations(changed):
        for parameter in operation["parameters"]:
            if "contentSchema" in parameter.get("schema", {}):
                del parameter["examples"]
                content = {"schema": parameter.pop("schema")["contentSchema"]}
                parameter["content"] = {"application/json": content}
    schema = schemathesis.openapi.from_dict(changed)
    schema.app = app
    return schema


def operations(document):
    """Yield each operation with its path and verb."""
    for path, item in document["paths"].items():
        for verb, operation in item.items():
            yield path, verb, operation


def documented_codes(document, operation, status):
    """Return the error codes that an operation has for a status."""
    response = operation["responses"][str(status)]
    if "$ref" in response:
        response = document["components"]["responses"][response["$ref"].rpartition("/")[2]]
    return response["content"]["application/json"]["examples"].keys()


def call_with_anything(app, document, operation):
    """Call an operation with a handful of what its schemas allow, and check the answers.

    Every caller sends the same: making a request up takes ten times as long as answering it.
    """

    lay_out(app)

    @BOUNDED
    @given(case=operation.as_strategy(), known=st.booleans(), sent=sent_headers)
    def call(case, known, sent):
        if known:
            case.path_parameters |= dict.fromkeys(case.path_parameters.keys() & {"id", "fk"}, 1)
        for caller in ("anonymous", "user", "admin"):
            headers = {**sent, **headers_of(caller)}
            response = case.call_and_validate(headers=headers, checks=CHECKS)
            if response.status_code < 400:
                lay_out(app)
            elif case.method != "HEAD" and "code" in (error := response.json()["error"]):
                codes = documented_codes(document, operation.definition.raw, response.status_code)
                assert error["code"] in codes

    call()


# The thread that writes mails draws random numbers of its own meanwhile.
@pytest.mark.filterwarnings("ignore:Do not use the .random. module")
@pytest.mark.parametrize("verb", VERBS)
def test_every_response_to_random_requests_is_documented(app, document, schema, verb):
    described = [operation.ok() for operation in schema.get_all_operations()]

    assert {operation.method for operation in described} == set(VERBS)
    for operation in described:
        if operation.method == verb:
            call_with_anything(app, document, operation)


def example(document, operation):
    """Return the body that an explorer fills in."""
    body = operation["requestBody"]["content"]["application/json"]["schema"]
    body = body.get("anyOf", [body])[0]
    if "examples" in body:
        return body["examples"][0]
    is_array = "items" in body
    name = (body["items"] if is_array else body)["$ref"].rpartition("/")[2]
    [given, *_] = document["components"]["schemas"][name]["examples"]
    return [given] if is_array else given


def test_every_example_of_the_document_is_accepted(app, client, document):
    given = {}

    for path, verb, operation in operations(document):
        if "requestBody" not in operation:
            continue
        name = operation["operationId"].partition("__p")[0]
        own = name in OWN or name.startswith("todos.")
        caller = "reset" if name == "users.setPassword" else "user" if own else "admin"
        lay_out(app, newcomer=name not in REGISTERING)
        for parameter in in_place(operation):
            path = path.replace(f"{{{parameter['name']}}}", str(parameter.get("example")))
        wanted = json.dumps({"id": 1})
        query = {"where": wanted} if any(p.get("required") for p in queries(operation)) else {}
        response = client.open(
            f"/api{path}",
            method=verb,
            headers=headers_of(caller),
            query_string=query,
            json=example(document, operation),
        )
        call = f"{verb} {path}"
        is_accepted = response.status_code in (200, 204)
        given[call] = None if is_accepted else response.json["error"]["code"]

    assert {call: code for call, code in given.items() if code} == UNKNOWN
    assert len(given) > 20


def test_every_example_of_a_filter_is_accepted(app, client, document):
    lay_out(app)
    refused, related = [], set()

    for path, verb, operation in operations(document):
        filters = [each for each in queries(operation) if "contentSchema" in each["schema"]]
        if verb != "get" or not filters:
            continue
        url = f"/api{re.sub(r'{[a-z]*}', '1', path)}"
        for parameter in filters:
            for name, example in parameter["examples"].items():
                query = {parameter["name"]: example["value"]}
                answer = client.get(url, query_string=query, headers=headers_of("admin"))
                if answer.status_code not in (200, 404):
                    refused.append((url, query, answer.json))
                if name == "related" and answer.status_code == 200:
                    related.add(operation["operationId"])

    assert refused == []
    assert related >= {"todos.find", "todos.count", "todos.aggregate", "users.__get__todos"}


@pytest.mark.parametrize("name", HEADERS)
def test_every_status_is_documented_whatever_a_header_has(app, client, document, name):
    lay_out(app)
    undocumented, statuses = [], set()

    for path, verb, operation in operations(document):
        url = f"/api{re.sub(r'{[a-z]*}', '1', path)}"
        body = {"json": example(document, operation)} if "requestBody" in operation else {}
        query = {"where": '{"id":1}'} if any(p.get("required") for p in queries(operation)) else {}
        for value in HEADERS[name]:
            headers = {**headers_of("admin"), name: value}
            response = client.open(url, method=verb, headers=headers, query_string=query, **body)
            statuses.add(response.status_code)
            if str(response.status_code) not in operation["responses"]:
                undocumented.append((verb, path, value[:10], response.json))
            if response.status_code < 300 and verb != "get":
                lay_out(app)

    assert undocumented == []
    expected = {200, 204, 400} | ({412} if name.startswith("If-") else set())
    assert statuses >= expected


def queries(operation):
    """Return the parameters in the query."""
    return [parameter for parameter in in_place(operation) if parameter["in"] == "query"]


def in_place(operation):
    """Return the parameters of an operation without those that many have in common."""
    return [parameter for parameter in operation["parameters"] if "$ref" not in parameter]
