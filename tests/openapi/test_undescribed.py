"""What the OpenAPI document cannot describe: it is named, and the rest is described."""

import pytest
from marshmallow import fields as marshmallow_fields

from app.access.rules import EVERYONE, READ, allow
from app.errors import AccessDenied
from app.fields import base as fields
from app.rest.resource import Resource
from app.rest.views.registration import register_resource
from app.todos.models import Todo
from app.todos.schemas import TodoSchema


class BrokenField(marshmallow_fields.String):
    """A field that does not say what its values are."""

    def json_schema(self, settings):
        raise KeyError("colour")


class OddField(marshmallow_fields.String):
    """A field that says it with a value that JSON does not have."""

    def json_schema(self, settings):
        return {"type": "string", "examples": [object()]}


class BrokenSchema(fields.Schema):
    """It cannot be described."""

    broken = BrokenField()


class OddSchema(fields.Schema):
    """It cannot be written."""

    odd = OddField()


class LostSchema(fields.Schema):
    """It has a schema that does not exist."""

    lost = marshmallow_fields.Nested("NowhereSchema")


class BrokenTodoSchema(TodoSchema):
    """To-dos with a property that cannot be described."""

    broken = BrokenField(attribute="desc", dump_only=True)


@pytest.fixture
def app(make_app):
    reports = Resource(
        name="reports",
        singular="report",
        model=Todo,
        schema=BrokenTodoSchema,
        rules=lambda _settings: [allow(EVERYONE)],
    )
    for name, answer in {"broken": BrokenSchema, "odd": OddSchema, "lost": [LostSchema]}.items():
        reports.endpoint(name, READ, f"GET /{name}", answer=answer)(dict)
    bodies = ({"in": "query", "name": "x", "schema": {"default": object()}},)
    reports.endpoint("wide", READ, "GET /wide", parameters=bodies)(lambda: None)
    odd = AccessDenied()
    odd.details = {"odd": object()}
    reports.endpoint("refused", READ, "GET /refused", errors=(odd,))(lambda: None)
    app = make_app()
    register_resource(app, reports)
    return app


NAMED = {
    "reports": "KeyError: 'colour'",
    "Broken": "KeyError: 'colour'",
    "Odd": "TypeError: ",
    "Lost": "RegistryError: ",
    "reports.wide": "TypeError: ",
    "reports.refused": "TypeError: ",
}


def test_the_document_describes_the_rest_and_the_log_names_what_is_missing(app, caplog):
    answer = app.test_client().get("/api/openapi.json")

    assert answer.status_code == 200
    paths = answer.json["paths"]
    content = paths["/reports/odd"]["get"]["responses"]["200"]["content"]
    assert content == {"application/json": {"schema": {"$ref": "#/components/schemas/Odd"}}}
    schemas = answer.json["components"]["schemas"]
    assert schemas["Odd"]["additionalProperties"] is True
    assert "get" not in paths.get("/reports/wide", {})
    assert schemas["User"]["properties"]["email"]["type"] == "string"
    for name, reason in NAMED.items():
        assert f"OpenAPI document: {name} cannot be described: {reason}" in caplog.text


def test_the_check_of_models_names_it_too(app, caplog):
    result = app.test_cli_runner().invoke(args=["models", "check", "--strict"])

    assert result.exit_code == 1, result.output
    for name in NAMED:
        assert f"OpenAPI document: {name} cannot be described: " in caplog.text
