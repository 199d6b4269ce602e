"""Responses of own endpoints: how they are declared, and what a view may return."""

import pytest
from marshmallow import fields as marshmallow_fields
from marshmallow import post_dump
from sqlalchemy import text
from werkzeug.exceptions import NotFound

from app.access.rules import EVERYONE, READ, allow
from app.database.session import db
from app.fields import base as fields
from app.rest.resource import Resource
from app.rest.views.registration import register_resource
from app.todos.models import Todo
from app.todos.schemas import TodoSchema
from tests.support.answers import refusal


class PointSchema(fields.Schema):
    """A point."""

    x = fields.Number(allow_none=True)


ONE, TWO = {"x": 1}, {"x": 2}
CSV = {"answer_type": "text/csv"}


def make_resource():
    return Resource(
        name="reports",
        singular="report",
        model=Todo,
        schema=TodoSchema,
        rules=lambda _settings: [allow(EVERYONE)],
    )


@pytest.fixture
def call(make_app):
    """Call an endpoint that is declared so, and whose view returns a value; return the answer."""

    def get(value, path="/api/reports/point", **declared):
        reports = make_resource()
        view = value if callable(value) else lambda: value
        reports.endpoint("point", READ, "GET /point", **declared)(view)
        app = make_app()
        register_resource(app, reports)
        # As a server does.
        app.config["PROPAGATE_EXCEPTIONS"] = False
        return app.test_client().get(path)

    return get


@pytest.mark.parametrize("value", [[ONE, TWO], (ONE, TWO), lambda: iter([ONE, TWO])])
def test_a_list_of_objects_is_declared_as_a_list(call, value):
    answer = call(value, answer=[PointSchema])

    assert (answer.status_code, answer.json) == (200, [ONE, TWO])


@pytest.mark.parametrize(
    ("declared", "value", "message"),
    [
        (
            PointSchema,
            [ONE],
            "reports.point returned a value of the type list in place of one PointSchema; declare"
            " answer=[PointSchema]",
        ),
        (PointSchema, None, "reports.point returned None in place of one PointSchema"),
        (PointSchema, "x", "reports.point returned a value of the type str in place of one"),
        (PointSchema, (ONE, 201), "reports.point returned a value of the type tuple in place of"),
        ([PointSchema], ONE, "reports.point returned a value of the type dict in place of a list"),
        ([PointSchema], None, "reports.point returned None in place of a list of PointSchema"),
        ([PointSchema], [ONE, 2], "reports.point returned a list with a value of the type int in"),
        (TodoSchema, [], "reports.point returned a value of the type list in place of one Todo"),
        (
            PointSchema,
            {"y": 1},
            "reports.point returned a value of the type dict that has no field",
        ),
        ([PointSchema], [ONE, object()], "reports.point returned a value of the type object that"),
        (TodoSchema, {"y": 1}, "reports.point returned a value of the type dict that has no field"),
        ([TodoSchema], "ab", "reports.point returned a value of the type str in place of a list"),
    ],
)
def test_a_value_that_does_not_fit_is_500_and_the_log_names_the_method(
    call, caplog, declared, value, message
):
    answer = call(value, answer=declared)

    assert answer.status_code == 500
    assert "reports" not in answer.text
    assert message in caplog.text


class BriefSchema(PointSchema):
    """A point without nulls."""

    @post_dump
    def leave_out(self, dumped, **_options):
        return {name: value for name, value in dumped.items() if value is not None}


@pytest.mark.parametrize("value", [{}, {"x": None}, {"x": None, "y": 1}])
def test_an_object_may_be_empty_if_it_fits(call, value):
    assert call(value, answer=BriefSchema).json == {}


@pytest.mark.parametrize(
    "value", ["a,b\n", b"a,b\n", ["a,", "b\n"], lambda: (part for part in ("a,", "b\n"))]
)
def test_text_of_another_type_is_sent_as_it_is_and_is_in_the_document(call, value):
    answer = call(value, **CSV)
    document = call(value, "/api/openapi.json", **CSV).json

    assert (answer.status_code, answer.text) == (200, "a,b\n")
    assert answer.headers["Content-Type"] == "text/csv; charset=utf-8"
    responses = document["paths"]["/reports/point"]["get"]["responses"]
    assert responses["200"]["content"] == {"text/csv": {"schema": {"type": "string"}}}
    assert "204" not in responses


@pytest.mark.both_databases
def test_parts_may_be_read_from_the_database_while_they_are_sent(call):
    def numbers():
        for number in db.session.scalars(text("SELECT 1 UNION SELECT 2 ORDER BY 1")):
            yield f"{number},"
        yield str(db.session.scalar(text("SELECT 3")))

    assert call(numbers, **CSV).text == "1,2,3"


def test_an_error_before_the_first_part_is_answered_like_one_of_the_view(call):
    def nothing():
        raise NotFound("There is nothing.")
        yield "a"

    answer = call(nothing, errors=(NotFound(),), **CSV)

    assert refusal(answer) == (404, "NOT_FOUND")
    assert answer.json["message"] == "There is nothing."
    assert call(lambda: iter([]), **CSV).text == ""


def test_a_part_that_is_no_text_ends_the_response(call):
    with pytest.raises(
        TypeError, match=r"reports.point returned a value of the type int as a part"
    ):
        call(lambda: iter(["a", 1]), **CSV).get_data()


@pytest.mark.parametrize("value", [None, 7, {"x": 1}, ("a", 201), bytearray(b"a"), [1]], ids=str)
def test_what_is_no_text_is_500_and_the_log_names_the_method(call, caplog, value):
    assert call(value, **CSV).status_code == 500
    assert "reports.point returned " in caplog.text


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        (
            {"answer": PointSchema(many=True)},
            r"answer must be the class PointSchema, or \[PointSchema\] for a list, and not an",
        ),
        ({"answer": [PointSchema()]}, "answer must be the class PointSchema, or"),
        ({"answer": [PointSchema, TodoSchema]}, "answer must have one schema"),
        ({"answer": []}, "answer must have one schema"),
        ({"answer": Todo}, "answer must be a schema or a JSON schema, and is <class"),
        ({"answer": marshmallow_fields.Integer()}, "answer must be a schema or a JSON schema"),
        ({"answer": PointSchema, **CSV}, "answer must not be set with the answer_type text/csv"),
        ({"answer_type": "csv"}, "answer_type must be a type such as text/csv, not 'csv'"),
        ({"body": PointSchema()}, "body must be the class PointSchema, and not an instance"),
    ],
)
def test_what_cannot_be_declared_is_an_error_where_it_is_declared(declared, message):
    declare = make_resource().endpoint("point", READ, "GET /point", **declared)

    with pytest.raises(TypeError, match=message):
        declare(lambda: None)


def test_without_an_answer_there_is_no_content(call):
    assert call(None).status_code == 204
