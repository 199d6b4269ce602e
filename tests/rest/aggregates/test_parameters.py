"""Aggregates come as filters do: as JSON, in brackets or in a header."""

import json

import pytest

AGGREGATE = {"groupBy": ["flag"], "aggregate": {"n": {"count": "*"}}, "having": {"n": {"gt": 1}}}
BRACKETS = {
    "filter[groupBy][]": "flag",
    "filter[aggregate][n][count]": "*",
    "filter[having][n][gt]": "1",
}


@pytest.mark.parametrize(
    "sent",
    [
        {"query_string": {"filter": json.dumps(AGGREGATE)}},
        {"query_string": BRACKETS},
        {"headers": {"filter": json.dumps(AGGREGATE)}},
    ],
    ids=["json", "brackets", "header"],
)
def test_an_aggregate_is_read_as_a_filter_is(app, store, sent):
    store({"flag": True}, {"flag": True}, {"flag": False})

    answer = app.test_client().get("/api/samples/aggregate", **sent)

    assert answer.json == [{"flag": True, "n": 2}]


@pytest.mark.parametrize(
    "filter_", ["{", "[]", '"text"', '{"groupBy":' + "[" * 20 + "]" * 20 + "}"]
)
def test_what_is_no_object_is_refused(app, filter_):
    answer = app.test_client().get("/api/samples/aggregate", query_string={"filter": filter_})

    assert answer.status_code == 400


def test_the_last_segment_is_no_id(app, store):
    store({"flag": True})

    assert app.test_client().get("/api/samples/aggregate").status_code == 400
    assert app.test_client().get("/api/samples/1").status_code == 200
