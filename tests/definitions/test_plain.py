"""Models in JSON without rows, which have own endpoints."""

import pytest

from app.database.metadata import app_metadata
from tests.support.answers import field_codes

from .library import rule

CODE = """
from ostiary.rules import EXECUTE


def extend(quotes):
    @quotes.endpoint("price", EXECUTE, "POST /price", body=quotes.schema, answer={"type": "object"})
    def price(body):
        return {"total": body["stars"] * 2}
"""
BY_ID = CODE.replace("POST /price", "POST /<id>/price")
QUOTE = {
    "name": "Quote",
    "properties": {"stars": {"type": "integer", "required": True}, "to": "Address"},
    "acls": [rule("$everyone", "DENY"), rule("$authenticated", property="price")],
}
ADDRESS = {"name": "Address", "base": "TransientModel", "properties": {"city": "string"}}


@pytest.mark.parametrize(
    ("base", "data_source"),
    [("Model", "transient"), ("TransientModel", "transient"), ("Model", None)],
)
def test_a_model_without_rows_has_its_own_endpoints_and_no_others(serve, base, data_source):
    models = {"quote": {**QUOTE, "base": base}, "address": ADDRESS}
    config = {name: {"dataSource": data_source} for name in ("Quote", "Address")}
    api = serve(models, config, {"quote": CODE})
    token = api.logged_in()

    given = {"stars": 2, "to": {"city": "Rome"}}
    assert api("POST", "/quotes/price", given, token).json == {"total": 4}
    assert field_codes(api("POST", "/quotes/price", {}, token)) == {"stars": ["presence"]}
    assert api("POST", "/quotes/price", given).status_code == 401
    assert [api("GET", path, token=token).status_code for path in ("/quotes", "/addresses")] == [
        404,
        404,
    ]
    document = api("GET", "/openapi.json").json
    assert [path for path in document["paths"] if "quote" in path] == ["/quotes/price"]
    app = api.client.application
    assert not app_metadata.of(app).tables
    assert "no rows" in app.test_cli_runner().invoke(args=["models", "show", "Quote"]).output


def test_a_model_without_rows_has_no_endpoint_about_a_row(serve):
    with pytest.raises(Exception, match="price has <id> in its path, and the model has no rows"):
        serve({"quote": {**QUOTE, "base": "Model"}}, code={"quote": BY_ID})
