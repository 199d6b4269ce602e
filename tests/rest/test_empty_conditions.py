"""A condition without an operator, which every row would fulfil, is refused wherever it stands."""

import json

import pytest

from tests.support.answers import refusal

# What JavaScript makes of `{inq: undefined}`; and an option that is for no operator.
EMPTY = [
    {"id": {}},
    {"title": {"options": "i"}},
    {"title": "a", "ownerId": {}},
    {"or": [{"title": "a"}, {"created": {}}]},
    {"and": [{"or": [{"isComplete": {}}]}]},
]


@pytest.mark.parametrize("where", EMPTY, ids=json.dumps)
def test_a_condition_without_an_operator_is_refused_and_changes_nothing(api, token, rows, where):
    wheres = {"where": json.dumps(where)}
    filters = {"filter": json.dumps({"where": where})}
    scope = {"relation": "todos", "scope": {"where": where}}

    for verb, path, query, body in [
        ("POST", "/todos/update", wheres, {"title": "changed"}),
        ("POST", "/todos/upsertWithWhere", wheres, {"title": "changed"}),
        ("GET", "/todos", filters, None),
        ("GET", "/todos/findOne", filters, None),
        ("GET", "/todos/1", filters, None),
        ("GET", "/todos/count", wheres, None),
        ("GET", "/users/1/todos", filters, None),
        ("GET", "/users/1/todos/count", wheres, None),
        ("GET", "/users/1", {"filter": json.dumps({"include": scope})}, None),
        ("GET", "/users/1/audit", {"filter": '{"where":{"action":{}}}'}, None),
    ]:
        response = api(verb, path, body, token=token, query_string=query)

        assert refusal(response) == (400, "INVALID_FILTER"), (verb, path)
        assert "must be a value, or an object with an operator" in response.json["message"]
    kept = api("GET", "/todos", token=token).json
    assert [each["title"] for each in kept] == [row["title"] for row in rows]


@pytest.mark.parametrize("given", ["filter[where]=", 'filter={"where":[]}', 'filter={"where":0}'])
def test_a_where_that_is_no_object_is_refused(api, token, given):
    response = api("GET", f"/todos?{given}", token=token)

    assert refusal(response) == (400, "INVALID_FILTER")
