"""Users with properties of the application's own: USER_PROPERTIES."""

import json
from contextlib import ExitStack
from dataclasses import replace

import click
import pytest
from openapi_spec_validator import validate
from sqlalchemy import create_engine, make_url, text

from app.access.rules import OWNER, allow
from app.database.metadata import all_metadata
from app.database.session import db
from app.errors import ValidationError
from app.problems import ConfigurationError
from app.rest.relations import belongs_to
from app.signals import email_verified, reset_password_request, verification_request
from app.testing.apps import close
from app.users import mailed, service
from app.users.accounts.registration import prepare_user_without_password
from app.users.extension import UsersExtension
from app.users.resource import declared_users, extended_users
from tests.conftest import PASSWORD, Api
from tests.support.answers import field_codes
from tests.support.apps import build
from tests.support.databases import Database
from tests.support.races import at_once

PROPERTIES = {
    "company": {"type": "string", "required": True, "length": 40},
    "plan": {"type": "string", "enum": ["free", "paid"], "default": "free"},
    "badgeNumber": {"type": "integer", "unique": True},
    "birthday": "dateonly",
    "balance": {"type": "decimal", "precision": 8, "scale": 2},
    "preferences": "object",
    "tags": ["string"],
    "isActive": {"type": "boolean", "default": True, "index": True},
    "secretNote": {"type": "string", "hidden": True},
    "favoriteId": "integer",
}
VALUES = {
    "company": "Acme",
    "plan": "paid",
    "badgeNumber": 7,
    "birthday": "1990-02-03",
    "balance": "12.50",
    "preferences": {"color": "red"},
    "tags": ["a", "b"],
    "isActive": False,
    "favoriteId": None,
}
USUAL = {"plan": "free", "isActive": True} | dict.fromkeys(
    ["badgeNumber", "birthday", "balance", "preferences", "tags", "favoriteId"]
)

# The same as text.
TEXTS = {
    "company": "Acme",
    "plan": "paid",
    "badgeNumber": "7",
    "birthday": "1990-02-03",
    "balance": "12.50",
    "preferences": '{"color": "red"}',
    "tags": '["a", "b"]',
    "isActive": "false",
}


def make_tables(url, folder):
    """Make the tables of an app with these properties, without the migrations."""
    # The app of a command, which starts without them.
    with click.Context(click.Command("db")):
        app = build(url, folder, USER_PROPERTIES=PROPERTIES)
    with app.app_context():
        all_metadata(app).create_all(db.engine)
    close(app)


@pytest.fixture(scope="module")
def sqlite_database(databases, tmp_path_factory):
    """A database whose users have the properties."""
    folder = tmp_path_factory.mktemp("properties")
    url = f"sqlite:///{folder}/ostiary.sqlite"
    make_tables(url, folder)
    return databases.setdefault(url, Database(url))


@pytest.fixture(scope="module")
def postgres_database(postgres_database, databases, tmp_path_factory):
    """Another database on the server."""
    name = f"properties_{make_url(postgres_database.url).database}"
    server = create_engine(postgres_database.url, isolation_level="AUTOCOMMIT")
    with server.connect() as connection:
        connection.execute(text(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)"))
        connection.execute(text(f"CREATE DATABASE {name}"))
    server.dispose()
    url = make_url(postgres_database.url).set(database=name).render_as_string(False)
    make_tables(url, tmp_path_factory.mktemp("properties"))
    return databases.setdefault(url, Database(url))


@pytest.fixture
def app(shared_app):
    return shared_app(USER_PROPERTIES=PROPERTIES, EMAIL_VERIFICATION="optional")


@pytest.fixture
def ada(api):
    """A registered user with a value for every property."""
    return api.register(**VALUES, secretNote="quiet")


@pytest.fixture
def admin(api, ada, runner):
    token = api.login()["id"]
    runner.invoke(args=["roles", "grant", "ada@example.com", "admin"])
    return token


@pytest.fixture
def define(monkeypatch, make_app, api):
    """Call the API of an app whose models in JSON say this of users."""

    def use(extension, *rules):
        prepare = mailed.init_app

        def prepare_with(app):
            prepare(app)
            users = extended_users(app, extension)
            declared_users.set(
                app, replace(users, rules=lambda settings: [*users.rules(settings), *rules])
            )

        monkeypatch.setattr("app.users.mailed.init_app", prepare_with)
        api.client = make_app(USER_PROPERTIES=PROPERTIES).test_client()

    return use


def own(user):
    """Return the values that a user has of the properties."""
    return {name: user[name] for name in user.keys() & {*PROPERTIES}}


@pytest.mark.both_databases
def test_a_registration_stores_the_properties_and_every_answer_shows_them(api, ada):
    answer = api("POST", "/users/login?include=user", {"email": ada["email"], "password": PASSWORD})
    api.secrets.append(token := answer.json["id"])
    todo = api("POST", "/todos", {"title": "Hers"}, token=token).json
    included = api("GET", f"/todos/{todo['id']}?filter[include]=owner", token=token).json["owner"]

    assert own(ada) == VALUES
    assert list(ada)[:2] == ["id", "email"]
    assert answer.json["user"] == ada
    assert included == ada
    assert api("GET", f"/todos/{todo['id']}/owner", token=token).json == ada
    assert api("GET", "/users/1", token=token).json == ada


def test_properties_that_are_not_sent_have_their_defaults(api):
    assert own(api.register(company="Acme")) == {**USUAL, "company": "Acme"}


@pytest.mark.parametrize(
    ("change", "codes"),
    [
        ({"company": None}, {"company": ["presence"]}),
        ({"company": " "}, {"company": ["presence"]}),
        ({"company": "x" * 41}, {"company": ["invalid"]}),
        ({"plan": "gold"}, {"plan": ["invalid"]}),
        ({"badgeNumber": 2**63}, {"badgeNumber": ["invalid"]}),
        ({"birthday": "yesterday"}, {"birthday": ["invalid"]}),
        ({"balance": "0.001", "tags": "a"}, {"balance": ["invalid"], "tags": ["invalid"]}),
        ({"preferences": []}, {"preferences": ["invalid"]}),
        ({"isActive": "perhaps"}, {"isActive": ["invalid"]}),
        ({"Company": "Acme"}, {"Company": ["unknown"]}),
        ({"badge_number": 1}, {"badge_number": ["unknown"]}),
    ],
)
def test_invalid_and_undeclared_properties_are_422_wherever_they_are_sent(
    api, admin, change, codes
):
    new = {"email": "bob@example.com", "password": PASSWORD, "company": "Acme"}
    where = {"where": '{"id": 1}'}
    refused = [
        api("POST", "/users", {**new, **change}),
        api("PATCH", "/users/1", change, token=admin),
        api("PUT", "/users/1", {"email": "ada@example.com", "company": "A", **change}, token=admin),
        api("POST", "/users/update", change, token=admin, query_string=where),
        api("PATCH", "/users", {"id": 1, **change}, token=admin),
        api("POST", "/users/upsertWithWhere", change, token=admin, query_string=where),
    ]

    assert [(answer.status_code, field_codes(answer)) for answer in refused] == [(422, codes)] * 6
    many = api("POST", "/users", [new, {**new, **change}])
    assert field_codes(many) == {f"1.{name}": code for name, code in codes.items()}
    assert api("GET", "/users/count", token=admin).json == {"count": 1}


@pytest.mark.both_databases
def test_properties_are_changed_and_replaced(api, ada, admin):
    patched = api("PATCH", "/users/1", {"plan": "free", "tags": []}, token=admin)
    replaced = api("PUT", "/users/1", {"email": ada["email"], "company": "New"}, token=admin)
    missing = api("PUT", "/users/1", {"email": ada["email"]}, token=admin)
    changed = {"badgeNumber": 9, "balance": 3}
    where = {"where": '{"company": "New"}'}
    counted = api("POST", "/users/update", changed, token=admin, query_string=where)

    assert own(patched.json) == {**VALUES, "plan": "free", "tags": []}
    assert own(replaced.json) == {**USUAL, "company": "New"}
    assert field_codes(missing) == {"company": ["presence"]}
    assert counted.json == {"count": 1}
    stored = api("GET", "/users/1", token=admin).json
    assert own(stored) == {**USUAL, "company": "New", "badgeNumber": 9, "balance": "3.00"}


@pytest.mark.both_databases
def test_several_users_are_created_at_once(api, ada, admin):
    new = [
        {"email": f"{name}@example.com", "password": PASSWORD, "company": name, "badgeNumber": 20}
        for name in ("bob", "eve")
    ]

    refused = api("POST", "/users", new, token=admin)
    new[1]["badgeNumber"] = 21
    created = api("POST", "/users", new, token=admin)

    assert (refused.status_code, field_codes(refused)) == (422, {"badgeNumber": ["uniqueness"]})
    assert [own(user)["company"] for user in created.json] == ["bob", "eve"]


@pytest.mark.parametrize(
    ("where", "found"),
    [
        ({"company": "Acme"}, True),
        ({"badgeNumber": {"gt": 6}}, True),
        ({"birthday": {"lt": "1990-02-03"}}, False),
        ({"balance": {"between": ["12.5", "13"]}}, True),
        ({"preferences.color": "red"}, True),
        ({"tags": "b"}, True),
        ({"isActive": {"neq": False}}, False),
        ({"email": "Ada@Example.com"}, True),
        ({"email": {"nin": ["ADA@example.com"]}}, False),
        ({"email": {"like": "%ADA%"}}, True),
        ({"email": {"regexp": "^A[A-Z]a@"}}, True),
    ],
)
def test_an_admin_filters_by_the_properties(api, admin, where, found):
    query = {"filter": json.dumps({"where": where, "order": "badgeNumber DESC"})}

    listed = api("GET", "/users", token=admin, query_string=query).json
    counted = api("GET", "/users/count", token=admin, query_string={"where": json.dumps(where)})

    assert ([item["id"] for item in listed], counted.json) == ([1] * found, {"count": int(found)})


@pytest.mark.both_databases
def test_an_admin_orders_by_the_properties(api, admin):
    for name, number in (("bob", 3), ("eve", 11)):
        api.register(f"{name}@example.com", company=name, badgeNumber=number)

    query = {"filter": json.dumps({"order": "badgeNumber DESC", "fields": ["badgeNumber"]})}
    listed = api("GET", "/users", token=admin, query_string=query).json

    assert [item["badgeNumber"] for item in listed] == [11, 7, 3]


@pytest.mark.both_databases
def test_of_concurrent_registrations_with_a_unique_value_one_wins(app, api):
    def register(number):
        body = {"email": f"user{number}@example.com", "password": PASSWORD, **VALUES}
        return lambda client: client.post("/api/users", json=body)

    answers = at_once(app, *map(register, range(6)))

    refused = [answer for answer in answers if answer.status_code != 200]
    assert len(refused) == 5
    assert [field_codes(answer) for answer in refused] == [{"badgeNumber": ["uniqueness"]}] * 5


@pytest.mark.both_databases
def test_of_concurrent_changes_to_a_unique_value_one_wins(app, api, ada, admin):
    for number in range(2, 6):
        api.register(f"user{number}@example.com", company="Acme")

    def change(number):
        headers = {"Authorization": admin}
        return lambda client: client.patch(
            f"/api/users/{number}", json={"badgeNumber": 99}, headers=headers
        )

    answers = at_once(app, *map(change, range(2, 6)))

    refused = [answer for answer in answers if answer.status_code != 200]
    assert [field_codes(answer) for answer in refused] == [{"badgeNumber": ["uniqueness"]}] * 3


@pytest.mark.both_databases
def test_a_unique_value_cannot_be_given_to_several_users(api, ada, admin):
    api.register("bob@example.com", company="Acme")

    query = {"where": '{"company": "Acme"}'}
    several = api("POST", "/users/update", {"badgeNumber": 1}, token=admin, query_string=query)
    taken = api("PATCH", "/users/2", {"badgeNumber": 7, "company": "New"}, token=admin)
    same = api("PATCH", "/users/1", {"badgeNumber": 7}, token=admin)

    for refused in (several, taken):
        assert field_codes(refused) == {"badgeNumber": ["uniqueness"]}
    assert api("GET", "/users/2", token=admin).json["company"] == "Acme"
    assert same.status_code == 200


@pytest.mark.both_databases
def test_the_users_of_events_have_the_properties(app, api, secrets):
    seen = []

    def note(sender, info):
        secrets.extend([info["accessToken"].id] if "accessToken" in info else [])
        seen.append(info)

    signals = (verification_request, email_verified, reset_password_request)
    with ExitStack() as receivers:
        for signal in signals:
            receivers.enter_context(signal.connected_to(note, sender=app))
        api.register(**VALUES)
        api("POST", "/users/reset", {"email": "ada@example.com"})
        query = {"uid": 1, "token": seen[0]["accessToken"].id}
        assert api("GET", "/users/confirm", query_string=query).status_code == 204

    assert [info["user"].company for info in seen] == ["Acme"] * 3
    assert [info["user"].email_verified for info in seen] == [False, False, True]


def test_a_user_without_required_properties_is_not_created_by_code_or_a_provider(app):
    refused = []
    with app.app_context():
        for create, *names in (
            (service.create_user, "bob@example.com", PASSWORD),
            (prepare_user_without_password, "bob@example.com", "", True),
        ):
            with pytest.raises(ValidationError) as error:
                create(*names)
            refused.append(error.value.details["codes"])
        user = service.create_user("bob@example.com", PASSWORD, company="Acme")

    assert refused == [{"company": ["presence"]}] * 2
    assert (user.company, user.plan, user.is_active) == ("Acme", "free", True)


def test_a_deleted_disabled_and_enabled_user_is_that_of_the_app(api, admin, runner):
    api.register("bob@example.com", company="Acme")

    for command in ("disable", "enable"):
        assert runner.invoke(args=["users", command, "bob@example.com"]).exit_code == 0
    api.login("bob@example.com")
    assert api("DELETE", "/users/2", token=admin).json == {"count": 1}
    assert api("GET", "/users/count", token=admin).json == {"count": 1}


@pytest.mark.both_databases
def test_commands_create_list_export_and_import_the_properties(app, api, runner, tmp_path, secrets):
    def run(*arguments):
        return runner.invoke(args=["users", *arguments], input=f"{PASSWORD}\n")

    create = ("create", "ada@example.com", "--password-stdin")
    missing = run(*create)
    unknown = run(*create, "--property", "compny=Acme")
    given = [f"{name}={text}" for name, text in TEXTS.items()]
    made = run(*create, *(word for option in given for word in ("--property", option)))
    listed = json.loads(run("list", "--json").output)
    exported = run("export", str(tmp_path / "users.csv"), "--with-password-hashes")
    taken = run("import", str(tmp_path / "users.csv"))
    run("delete", "ada@example.com", "--yes")
    imported = run("import", str(tmp_path / "users.csv"))

    assert missing.output == "Error: `company` can't be blank.\n"
    assert unknown.output.startswith("Error: --property compny=Acme is not NAME=VALUE; the names")
    assert (made.exit_code, made.output) == (0, "Created user 1, ada@example.com.\n")
    assert own(listed[0]) == VALUES
    assert exported.exit_code == 0
    assert "line 2: `badgeNumber` already exists" in taken.output
    assert imported.output == f"Imported 1 users from {tmp_path / 'users.csv'}.\n"
    token = api.login()["id"]
    assert own(api("GET", "/users/1", token=token).json) == VALUES


@pytest.mark.both_databases
def test_problems_of_properties_in_a_file_are_listed(runner, tmp_path):
    path = tmp_path / "users.csv"
    rows = ["a@example.com,Acme,5,", "b@example.com,,x,[1]", "c@example.com,Acme,5,"]
    lines = ["email,company,badgeNumber,tags,password"]
    path.write_text("\n".join([*lines, *(f"{row},{PASSWORD}" for row in rows)]))

    output = runner.invoke(args=["users", "import", str(path)]).output

    assert "line 3: " in output
    assert "`company`" in output
    assert "`tags` must be an array of texts" in output
    assert "line 4: `badgeNumber` is that of line 2 too" in output


@pytest.mark.both_databases
def test_relations_and_rules_of_a_definition_are_those_of_users(define, api, ada, secrets):
    define(
        UsersExtension(
            relations={"favorite": belongs_to("todos", "favorite_id")},
            hidden=frozenset({"username", "created", "plan"}),
            singular="Account",
        ),
        allow(OWNER, "__get__favorite"),
    )
    token = api.login()["id"]
    other = api.newcomer("bob@example.com", company="Acme")
    todo = api("POST", "/todos", {"title": "Hers"}, token=token).json
    foreign = api("POST", "/todos", {"title": "His"}, token=other).json

    refused = api("PATCH", "/users/1", {"favoriteId": foreign["id"]}, token=token)
    missing = api("PATCH", "/users/1", {"favoriteId": 999}, token=token)
    done = api("PATCH", "/users/1", {"favoriteId": todo["id"]}, token=token)
    included = api("GET", "/users/1?filter[include]=favorite", token=token)

    assert refused.json == missing.json
    assert field_codes(refused) == {"favoriteId": ["invalid"]}
    assert done.status_code == 200
    assert not {"username", "created", "plan"} & done.json.keys()
    assert included.json["favorite"] == todo
    assert api("GET", "/users/1/favorite", token=token).json == todo
    assert api("GET", "/users/1/favorite", token=other).status_code == 403
    assert api("GET", "/users/2/favorite", token=other).status_code == 404


def test_the_document_describes_the_properties(client):
    document = client.get("/api/openapi.json").json
    validate(document)

    schemas = document["components"]["schemas"]
    new, user = schemas["NewUser"], schemas["User"]
    assert new["required"] == ["company", "email", "password"]
    assert new["properties"]["company"]["maxLength"] == 40
    assert new["properties"]["plan"]["enum"] == ["free", "paid", None]
    assert new["properties"]["secretNote"]["writeOnly"] is True
    # Users from before the property was declared have none.
    assert user["properties"]["company"]["type"] == ["string", "null"]
    assert "secretNote" not in user["properties"]
    assert "secretNote" not in schemas["UserWhere"]["properties"]
    assert schemas["Login"]["properties"]["user"] == {"$ref": "#/components/schemas/User"}
    assert client.post("/api/users", json=new["examples"][0]).status_code == 200


@pytest.mark.parametrize(
    ("declared", "said"),
    [
        ({"email": "string"}, "email: users have a property or a relation of this name"),
        ({"roles": ["string"]}, "roles: users have a property or a relation of this name"),
        ({"todos": "object"}, "todos: users have a property or a relation of this name"),
        ({"passwordHash": "string"}, "passwordHash: users have"),
        ({"password_hash": "string"}, "password_hash: the column password_hash is one of"),
        ({"metadata": "object"}, "metadata: the column metadata is one of the service's own"),
        ({"aB": "string", "a_b": "string"}, "a_b: the column a_b is that of aB too"),
        ({"age": {"type": "intger"}}, "age.type: there is no type 'intger'; did you mean"),
        ({"age": {"type": "integer", "requird": True}}, "age.requird: there is no such key"),
    ],
)
def test_properties_that_cannot_be_used_stop_the_start(make_app, declared, said):
    with pytest.raises(ConfigurationError) as refused:
        make_app(USER_PROPERTIES=declared)

    assert str(refused.value).startswith("USER_PROPERTIES cannot be used:")
    assert said in str(refused.value)


def test_an_app_without_properties_is_as_usual_beside_one_with_them(app, make_app, api, ada):
    usual = Api(make_app().test_client(), api.secrets)
    token = usual.login()["id"]

    shown = usual("GET", "/users/1", token=token).json
    assert shown.keys() == ada.keys() - PROPERTIES.keys()
    assert field_codes(usual("PATCH", "/users/1", {"company": "A"}, token=token)) == {
        "company": ["unknown"]
    }
    assert api("GET", "/users/1", token=token).json == ada


def test_a_hidden_property_is_stored_and_never_shown(app, api, ada, admin, runner):
    assert "secretNote" not in ada
    patched = api("PATCH", "/users/1", {"secretNote": "other"}, token=admin)
    assert (patched.status_code, "secretNote" in patched.json) == (200, False)
    for filter_ in (
        {"where": {"secretNote": "other"}},
        {"order": "secretNote"},
        {"fields": ["secretNote"]},
    ):
        for path in ("/users", "/users/1"):
            query = {"filter": json.dumps(filter_)}
            answer = api("GET", path, token=admin, query_string=query)
            assert "other" not in answer.text
            assert answer.status_code == 400 or answer.json in ([{}], {})
    scope = {"include": {"relation": "owner", "scope": {"where": {"secretNote": "other"}}}}
    api("POST", "/todos", {"title": "Hers"}, token=admin)
    query = {"filter": json.dumps(scope)}
    assert api("GET", "/todos", token=admin, query_string=query).status_code == 400
    assert "secretNote" not in runner.invoke(args=["users", "list", "--json"]).output
    with app.app_context():
        stored = db.session.execute(text("SELECT secret_note FROM users")).scalar()
    assert stored == "other"
