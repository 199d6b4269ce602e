"""Users that a model in JSON describes: what they have, and which model it is."""

import pytest

from app.definitions.reading import json_models
from app.problems import ConfigurationError
from app.users import service
from tests.conftest import PASSWORD
from tests.support.answers import field_codes
from tests.support.rows import put_into_past

from .conftest import running_a_command
from .library import OPEN, rule


def customer(**more):
    return {"name": "Customer", "base": "User", "plural": "users", **more}


def warnings(app):
    return json_models.of(app).problems.warnings


@pytest.mark.both_databases
def test_what_only_loopback_2_has_of_users_are_properties_like_others(serve):
    declared = {
        # Also the name of a call of users.
        "audit": "object",
        "status": {"type": "string", "required": True},
        "challenges": "object",
        "credentials": ["object"],
        "lastUpdated": "date",
        "uid": {"type": "string", "id": True},
        "email": {"type": "string", "required": True},
    }
    api = serve({"customer": customer(properties=declared)})
    given = {
        "audit": {"by": 1},
        "status": "active",
        "challenges": {"pet": "cat"},
        "credentials": [{"a": 1}],
        "lastUpdated": "2026-01-02T03:04:05.678Z",
        "uid": "ada",
    }

    created = api("POST", "/users", {"email": "a@example.com", "password": PASSWORD, **given}).json
    missing = api("POST", "/users", {"email": "b@example.com", "password": PASSWORD})

    assert {**created, **given} == created
    assert field_codes(missing) == {"status": ["presence"]}
    assert warnings(api.client.application) == [
        "customer.json: properties.email: is ignored: users have this property already",
        "customer.json: properties.uid.id: is ignored: users have an id",
    ]


@pytest.mark.both_databases
def test_users_may_have_the_times_of_their_creation_and_last_change(serve, secrets):
    api = serve({"customer": customer(properties={"name": "string"}, mixins={"TimeStamp": True})})
    app = api.client.application
    created = api.register(name="Ada")
    token = api.login()["id"]

    after_login = api("GET", "/users/1", token=token).json
    put_into_past(app, "users", "created_at", "updated_at")
    before = api("GET", "/users/1", token=token).json
    changed = api("PATCH", "/users/1", {"name": "Eve"}, token=token).json
    refused = api("PATCH", "/users/1", {"updatedAt": "2026-01-02T03:04:05.678Z"}, token=token)
    with app.app_context():
        service.create_user("bob@example.com", PASSWORD)
    listed = app.test_cli_runner().invoke(args=["users", "list", "--json"]).output

    assert created["createdAt"].endswith("Z")
    assert after_login == created
    assert changed["createdAt"] == before["createdAt"]
    assert changed["updatedAt"] > before["updatedAt"]
    assert field_codes(refused) == {"updatedAt": ["absence"]}
    assert listed.count('"createdAt": "20') == 2
    assert warnings(app) == []


@pytest.mark.both_databases
def test_files_of_users_have_the_times(serve, tmp_path):
    stamps = {"createdAt": "made", "updatedAt": "created"}
    api = serve({"customer": customer(mixins={"TimeStamp": stamps})})
    user, runner = api.register(), api.client.application.test_cli_runner()
    path = str(tmp_path / "users.csv")

    runner.invoke(args=["users", "export", path, "--with-password-hashes"])
    runner.invoke(args=["users", "delete", "ada@example.com", "--yes"])
    imported = runner.invoke(args=["users", "import", path])

    assert imported.exit_code == 0, imported.output
    assert api("GET", "/users/1", token=api.login()["id"]).json == user
    assert user["made"].endswith("Z")


# What a relation to or of users cannot have, each with its warning.
TAKEN = [
    ({"hasMany": "realm"}, {}, "company.json: relations.staff: is not served: realm of Customer"),
    ({"hasMany": "username"}, {}, "relations.staff: is not served: username of Customer holds"),
    ({"hasOne": "created"}, {}, "relations.staff: is not served: created of Customer holds no"),
    ({"hasMany": "passwordHash"}, {}, "staff: is not served: passwordHash of Customer holds no"),
    ({}, {"belongsTo": "realm"}, "customer.json: relations.own: is not served: realm of Custom"),
    ({}, {"belongsTo": "roles"}, "customer.json: relations.own: is not served: roles of Custom"),
    ({}, {"embedsOne": "realm"}, "customer.json: relations.own: is not served: realm of Custom"),
    ({}, {"embedsMany": "password"}, "relations.own: is not served: password of Customer holds"),
]


@pytest.mark.parametrize(("of_company", "of_users", "warning"), TAKEN)
def test_relations_do_not_take_what_users_have(serve, of_company, of_users, warning):
    def relations(name, model, given):
        [(kind, key)] = given.items() or [("hasMany", "companyId")]
        return {name: {"type": kind, "model": model, "foreignKey": key, "property": key}}

    company = {"name": "Company", "properties": {"name": "string"}, "acls": OPEN}
    company["relations"] = relations("staff", "Customer", of_company)
    api = serve(
        {"company": company, "customer": customer(relations=relations("own", "Company", of_users))}
    )
    token = api.logged_in()

    assert any(warning in each for each in warnings(api.client.application))
    api("POST", "/companies", {}, token=token)
    assert api("GET", "/companies/1", token=token).status_code == 200


@pytest.mark.both_databases
def test_a_foreign_key_of_users_may_have_the_name_of_a_column_of_the_service(serve):
    company = {"name": "Company", "properties": {"name": "string"}, "acls": OPEN}
    own = {"type": "belongsTo", "model": "Company", "foreignKey": "metadata"}
    key = {"type": "belongsTo", "model": "Company", "foreignKey": "usernameKey"}
    users = customer(
        relations={"own": own, "key": key}, acls=[rule("$owner", property="__get__own")]
    )
    api = serve({"company": company, "customer": users})
    token = api.logged_in()
    acme = api("POST", "/companies", {"name": "Acme"}, token=token).json

    changed = api("PATCH", "/users/1", {"metadata": 1, "usernameKey": 1}, token=token).json

    assert (changed["metadata"], changed["usernameKey"]) == (1, 1)
    assert api("GET", "/users/1/own", token=token).json == acme
    assert api("GET", "/users/1?filter[include]=key", token=token).json["key"] == acme


@pytest.mark.parametrize("name", ["email", "accessTokens", "identities", "verify"])
def test_a_relation_of_users_with_the_name_of_something_else_is_not_served(serve, name):
    relation = {"type": "hasMany", "model": "Company"}
    company = {"name": "Company", "acls": OPEN}
    app = serve({"company": company, "customer": customer(relations={name: relation})}).client

    reason = f"customer.json: relations.{name}: is not served: there is a property or a call"
    assert [each.startswith(reason) for each in warnings(app.application)] == [True]


@pytest.mark.parametrize(
    ("relation", "reason"),
    [
        ({"model": "User", "foreignKey": "realm"}, "realm of users holds other values"),
        ({"model": "User", "foreignKey": "passwordHash"}, "users has no password_hash"),
        ({"model": "User", "foreignKey": "email"}, "email of users holds other values"),
        ({"model": "Todo", "foreignKey": "title"}, "title of todos holds other values"),
        ({"model": "Todo", "foreignKey": "ownerId"}, "owner_id of todos holds other values"),
        ({"model": "Todo", "foreignKey": "noteId"}, "todos has no note_id"),
    ],
)
def test_a_foreign_key_of_a_model_in_python_must_hold_the_ids(serve, relation, reason):
    note = {"name": "Note", "relations": {"more": {"type": "hasMany", **relation}}, "acls": OPEN}
    api = serve({"note": note})

    assert warnings(api.client.application) == [
        f"note.json: relations.more: is not served: {reason}"
    ]


@pytest.mark.parametrize(
    ("declared", "problem"),
    [
        ({"roles": ["string"]}, "properties.roles: users have a property or a relation of this"),
        ({"metadata": "object"}, "properties.metadata: the column metadata is one of the service"),
    ],
)
def test_properties_that_users_cannot_have_are_said_with_their_file(
    make_app, write_models, declared, problem
):
    folder = write_models({"customer": customer(properties=declared)})
    with running_a_command(), pytest.raises(ConfigurationError) as raised:
        make_app(MODELS_FOLDER=folder)

    assert f"customer.json: {problem}" in str(raised.value)


STAFF = {"name": "Staff", "base": "User"}
NOTE = {"name": "Note", "properties": {"text": "string"}, "acls": OPEN}
OF_CUSTOMERS = {"user": {"type": "belongsTo", "model": "Customer", "foreignKey": "userId"}}
EVERY = {"Customer": {}, "Staff": {}}
# Models beside the two that extend User, `model-config.json`, and what says which one is the first.
CHOICES = {
    "access tokens": ({}, {**EVERY, "AccessToken": {"relations": OF_CUSTOMERS}}),
    "a model of tokens": (
        {"token": {"name": "Token", "base": "AccessToken", "relations": OF_CUSTOMERS}},
        None,
    ),
    "what is public": ({}, {**EVERY, "Staff": {"public": False}}),
    "relations": ({"note": {**NOTE, "relations": OF_CUSTOMERS}}, None),
}


@pytest.mark.parametrize("reason", CHOICES)
@pytest.mark.parametrize("name", ["a", "z"])
def test_of_two_models_that_extend_user_one_is_the_first(serve, reason, name):
    more, config = CHOICES[reason]
    api = serve({name: STAFF, "customer": customer(), **more}, config)
    found = json_models.of(api.client.application)

    assert found.users.name == "Customer"
    assert found.further_users.keys() == {"Staff"}


def test_two_models_that_extend_user_alike_stop_the_start(make_app, write_models):
    folder = write_models({"staff": STAFF, "customer": customer(), "note": NOTE})
    with running_a_command(), pytest.raises(ConfigurationError) as raised:
        make_app(MODELS_FOLDER=folder)

    assert str(raised.value).splitlines()[1:] == [
        "  customer.json: base: Customer and Staff extend User: the relation `user` of AccessToken,"
        " in model-config.json or in a model that extends AccessToken, says which one is the first"
    ]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("note_id", "note_id: the column note_id is that of noteId too"),
        ("noteId", "noteId: the column note_id is that of noteId, the key of a relation, too"),
    ],
)
def test_a_setting_and_the_key_of_a_relation_cannot_have_one_column(serve, name, said):
    account = {"base": "User", "relations": {"note": {"type": "belongsTo", "model": "Note"}}}
    models = {"account": {"name": "Account", **account}, "note": {"name": "Note", "methods": []}}

    with pytest.raises(ConfigurationError) as refused:
        serve(models, USER_PROPERTIES={name: "number"})

    assert str(refused.value) == f"USER_PROPERTIES cannot be used:\n  {said}"
