"""Ids of users, of each form, that are the ids of the rows that belong to them."""

import pytest

from tests.definitions.conftest import make_models, serve, write_models  # noqa: F401 fixtures
from tests.definitions.test_keys_that_are_ids import DEPT, MODELS
from tests.support.answers import refusal


@pytest.mark.both_databases
def test_a_row_with_the_id_of_a_user_belongs_to_the_user(serve, id_type):  # noqa: F811
    kind = "number" if id_type == "integer" else "string"
    properties = {"userId": {"type": kind, "id": True}, "name": "string"}
    api = serve({**MODELS, "dept": {**DEPT, "properties": properties}}, ID_TYPE=id_type)
    ada, bob = api.newcomer(), api.newcomer("bob@example.com")

    created = api("POST", "/depts", {"name": "a"}, token=ada).json

    path = f"/depts/{created['userId']}"
    assert api("GET", f"{path}/user", token=ada).json["id"] == created["userId"]
    assert api("GET", f"/users/{created['userId']}/dept", token=ada).json == created
    assert refusal(api("GET", path, token=bob)) == (404, "MODEL_NOT_FOUND")
