"""Declarations of several models of users."""

import pytest

from app.problems import ConfigurationError
from tests.definitions.conftest import running_a_command
from tests.definitions.library import rule

from .shop import CONFIG, CUSTOMER, MODELS, STAFF, STAFF_PATH, Person


def problems(make_app, folder):
    with running_a_command(), pytest.raises(ConfigurationError) as raised:
        make_app(MODELS_FOLDER=folder)
    return str(raised.value)


def test_a_column_of_a_further_model_has_a_name_that_databases_take(make_app, write_models):
    long = "x" * 60
    staff = {**STAFF, "properties": {long: "string"}}
    folder = write_models({**MODELS, "staff": staff}, CONFIG)

    said = f"staff.json: properties.{long}: its column staff_{long} has over 63 characters"
    assert said in problems(make_app, folder)


@pytest.mark.parametrize(("path", "taken"), [("Customers", "Ostiary's users"), ("Shops", "Staff")])
def test_the_paths_of_models_of_users_are_their_own(make_app, write_models, path, taken):
    staff = {**STAFF, "http": {"path": path}}
    folder = write_models({**MODELS, "staff": staff}, CONFIG)

    assert f"{path} is taken by {taken}; set another" in problems(make_app, folder)


def test_a_model_without_a_data_source_is_no_model_of_users(serve):
    config = {**CONFIG, "Staff": {"dataSource": None, "public": False}}
    models = {"customer": {**CUSTOMER, "relations": {}, "acls": []}, "staff": STAFF}
    api = serve(models, {name: config[name] for name in ("Customer", "Staff", "AccessToken")})

    assert api("POST", "/staff/login", {}).status_code == 404
    created = api("POST", "/Customers", {"email": "ada@example.com", "password": "a long harbour"})
    assert "principalType" not in created.json


def single_user(kind, permission):
    return {"principalType": kind, "principalId": "1", "permission": permission}


@pytest.mark.parametrize("kind", ["USER", "Staff"])
def test_a_rule_for_a_single_user_permits_nothing(serve, kind, caplog):
    shop = {**MODELS["shop"], "acls": [rule("$everyone", "DENY"), single_user(kind, "ALLOW")]}

    api = serve({**MODELS, "shop": shop}, CONFIG)

    person = Person(api, STAFF_PATH, "ada@example.com")
    assert person.id == 1
    assert api("GET", "/Shops", token=person.token).status_code == 403
    assert "there are several models of users: give the user a role" in caplog.text


@pytest.mark.parametrize("kind", ["USER", "Staff"])
def test_a_rule_that_denies_calls_to_a_single_user_lets_no_service_start(
    make_app, write_models, kind
):
    shop = {**MODELS["shop"], "acls": [single_user(kind, "DENY")]}
    folder = write_models({**MODELS, "shop": shop}, CONFIG)

    assert "shop.json: acls[0]: a single user of one of several" in problems(make_app, folder)


@pytest.mark.parametrize(
    ("own", "is_said"),
    [({}, True), ({"owner": "customer"}, False), ({"ownerRelations": ["customer"]}, False)],
)
def test_a_relation_whose_users_own_no_rows_is_named(serve, caplog, own, is_said):
    ticket = {**MODELS["ticket"], "acls": [rule("$owner")]}
    del ticket["owner"]

    serve({**MODELS, "ticket": {**ticket, **own}}, CONFIG)

    said = "ticket.json: relations.staff: its users own no rows: $owner is the user to whom"
    assert (said in caplog.text) == is_said
