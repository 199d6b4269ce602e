"""Changes of rows whose ids, and those of their owners, have each form."""

import pytest

from app.rest.collection import get_resource
from tests.batch.conftest import Caller
from tests.changes.conftest import ORDER, OWNERS
from tests.changes.test_pages import begin, read
from tests.conftest import Api
from tests.definitions.conftest import make_models, write_models  # noqa: F401 fixtures

OWNER = {"owner": ORDER["relations"]["owner"]}
pytestmark = pytest.mark.both_databases


def test_owners_see_their_rows_come_and_go(make_models, id_type, secrets):  # noqa: F811
    app = make_models({"order": {**ORDER, "relations": OWNER, "acls": OWNERS}}, ID_TYPE=id_type)
    api = Api(app.test_client(), secrets)
    tokens = [api.newcomer(f"{name}@example.com") for name in ("ada", "grace")]
    ada, grace = (Caller(app, token) for token in tokens)
    starts = begin(ada), begin(grace)

    order = ada("POST", "/orders", {"title": "Home"}).json
    created = read(ada, starts[0])
    with app.app_context():
        orders = get_resource("Orders")
        orders.update([orders.model.id == order["id"]], {"owner_id": None})

    assert [each["target"] for each in created["changes"]] == [order["id"]]
    assert read(grace, starts[1])["changes"] == []
    [removed] = read(ada, created["next"])["changes"]
    assert (removed["type"], removed["target"]) == ("remove", order["id"])
