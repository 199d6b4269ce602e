"""Declarations of several models of users."""

import pytest

from app.config import ConfigurationError
from tests.definitions.conftest import running_a_command

from .shop import CONFIG, CUSTOMER, MODELS, STAFF


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
