"""The service does what its document says: examples work, and nothing else ever comes back."""

import json

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
from app.users.models import RESET_SCOPE, AccessToken, User
from app.users.passwords import hash_password
from tests.rows import populate

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
# What the document's examples say of the user with id 1.
EMAIL, PASSWORD = "newcomer@example.com", "a quiet harbour"
ADMIN_EMAIL = "admin@example.com"
# Calls that make a user of the example, so that there must be none yet.
REGISTERING = {"users.create", "users.patchOrCreate", "users.replaceOrCreate"}
BOUNDED = settings(
    max_examples=5,
    deadline=None,
    database=None,
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)


def headers_of(app, caller, newcomer=True):
    """Lay out the same small world anew; return the headers by which the caller is known."""
    populate(app, lambda: small_world(caller, newcomer))
    return {} if caller == "anonymous" else {"Authorization": f"{caller}-token"}


def small_world(caller, newcomer):
    people = [(2, ADMIN_EMAIL), *([(1, EMAIL)] if newcomer else [])]
    for user_id, email in people:
        yield User(id=user_id, email=email, password_hash=hash_password(PASSWORD))
    yield Role(id=1, name="admin")
    yield RoleMapping(user_id=2, role_id=1)
    if newcomer:
        yield Todo(id=1, title="Mine", owner_id=1)
    scope = RESET_SCOPE if caller == "reset" else None
    yield AccessToken.issue(f"{caller}-token", 2 if caller == "admin" else 1, 600, scope)


@pytest.fixture
def schema(app):
    return schemathesis.openapi.from_wsgi("/api/openapi.json", app)


def call_with_anything(operation, headers):
    """Call an operation with a handful of what its schemas allow, and check the answers."""

    @BOUNDED
    @given(case=operation.as_strategy(), known=st.booleans())
    def call(case, known):
        if known:
            case.path_parameters |= dict.fromkeys(case.path_parameters.keys() & {"id", "fk"}, 1)
        case.call_and_validate(headers=headers, checks=CHECKS)

    call()


# The thread that writes mails draws random numbers of its own meanwhile.
@pytest.mark.filterwarnings("ignore:Do not use the .random. module")
@pytest.mark.parametrize("caller", ["anonymous", "user", "admin"])
def test_every_answer_to_anything_is_documented(app, schema, caller):
    for operation in schema.get_all_operations():
        call_with_anything(operation.ok(), headers_of(app, caller))


def described(document):
    """Yield each operation that takes a body, with its path and verb."""
    for path, item in document["paths"].items():
        for verb, operation in item.items():
            if "requestBody" in operation:
                yield path, verb, operation


def example(document, operation):
    """Return the body that an explorer fills in."""
    body = operation["requestBody"]["content"]["application/json"]["schema"]
    body = body.get("anyOf", [body])[0]
    return document["components"]["schemas"][body["$ref"].rpartition("/")[2]]["examples"][0]


def test_every_example_works_as_it_stands(app, client):
    document = client.get("/api/openapi.json").json
    given = {}

    for path, verb, operation in described(document):
        name = operation["operationId"].partition("__p")[0]
        own = name in {"users.changePassword", "users.logout"} or name.startswith("todos.")
        caller = "reset" if name == "users.setPassword" else "user" if own else "admin"
        headers = headers_of(app, caller, newcomer=name not in REGISTERING)
        for parameter in operation["parameters"]:
            path = path.replace(f"{{{parameter['name']}}}", str(parameter.get("example")))
        wanted = json.dumps({"id": 1})
        query = {"where": wanted} if any(p.get("required") for p in queries(operation)) else {}
        response = client.open(
            f"/api{path}",
            method=verb,
            headers=headers,
            query_string=query,
            json=example(document, operation),
        )
        given[f"{verb} {path}"] = response.status_code

    assert {call: status for call, status in given.items() if status not in (200, 204)} == {}
    assert len(given) > 20


def queries(operation):
    """Return the parameters in the query."""
    return [each for each in operation["parameters"] if each["in"] == "query"]
