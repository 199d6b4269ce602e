"""Aggregates that are refused, with an error that says what is wrong and where."""

from datetime import UTC, datetime, timedelta

import pytest

N = {"n": {"count": "*"}}
REFUSED = [
    ({}, "An aggregate needs groupBy, or a function in aggregate."),
    ({"aggregate": {}}, "An aggregate needs groupBy"),
    ({"fields": ["id"], "aggregate": N}, "An aggregate has no 'fields'; it has aggregate, groupBy"),
    ({"aggregate": []}, "aggregate must be an object"),
    ({"aggregate": {"n": "count"}}, 'aggregate.n must be an object like {"sum": "price"}'),
    ({"aggregate": {"n": {"sum": "price", "avg": "price"}}}, "aggregate.n must be an object"),
    (
        {"aggregate": {"n": {"median": "price"}}},
        "aggregate.n: there is no function 'median'; there",
    ),
    ({"aggregate": {"n": {"sum": "*"}}}, "aggregate.n.sum: there is no property '*'"),
    ({"aggregate": {"n": {"sum": 1}}}, "aggregate.n.sum: a property is named by text"),
    ({"aggregate": {"n": {"sum": ["price"]}}}, "aggregate.n.sum: a property is named by text"),
    ({"aggregate": {"n": {"sum": "text"}}}, "aggregate.n: text has no sum; it has count"),
    ({"aggregate": {"n": {"avg": "at"}}}, "aggregate.n: at has no avg"),
    ({"aggregate": {"n": {"max": "flag"}}}, "aggregate.n: flag has no max"),
    ({"aggregate": {"n": {"max": "code"}}}, "aggregate.n: code has no max"),
    ({"aggregate": {"n": {"countDistinct": "tags"}}}, "aggregate.n: tags has no countDistinct"),
    ({"aggregate": {"n": {"min": "place"}}}, "aggregate.n: place has no min; it has count."),
    ({"aggregate": {"1a": {"count": "*"}}}, "aggregate: '1a' is no name"),
    ({"aggregate": {"a b": {"count": "*"}}}, "aggregate: 'a b' is no name"),
    ({"aggregate": {"x" * 65: {"count": "*"}}}, "is no name"),
    ({"aggregate": {"or": {"count": "*"}}}, "aggregate: 'or' is no name"),
    (
        {"aggregate": {f"n{number}": {"count": "*"} for number in range(11)}},
        "aggregate must not have more than 10 functions.",
    ),
    (
        {"groupBy": ["text", "count", "flag", "at", "price", "id"]},
        "groupBy must not have more than 5",
    ),
    ({"groupBy": "nothing"}, "groupBy: there is no property 'nothing'; there are id, text"),
    ({"groupBy": "address.city"}, "groupBy: 'address.city' is a path"),
    ({"groupBy": "address"}, "groupBy: address cannot be grouped by."),
    ({"groupBy": ["tags"]}, "groupBy: tags cannot be grouped by."),
    ({"groupBy": [None]}, "groupBy: a property is named by text"),
    ({"groupBy": {"at": "minute"}}, "groupBy.at must be one of year, month, week, day, hour."),
    ({"groupBy": {"at": None}}, "groupBy.at must be one of year"),
    ({"groupBy": {"dueOn": "hour"}}, "groupBy.dueOn must be one of year, month, week, day."),
    ({"groupBy": {"text": "day"}}, "groupBy.text is no time"),
    ({"groupBy": {"at": "day", "dueOn": "day"}}, "groupBy must be properties, or like"),
    ({"groupBy": ["flag", "flag"]}, "'flag' would be twice in an object of the answer."),
    ({"groupBy": [{"at": "day"}, {"at": "month"}]}, "'at' would be twice"),
    ({"groupBy": "flag", "aggregate": {"flag": {"count": "*"}}}, "'flag' would be twice"),
    ({"aggregate": N, "having": []}, "having: it must be an object."),
    ({"aggregate": N, "having": {"flag": True}}, "having: There is no property 'flag'"),
    ({"groupBy": "flag", "aggregate": N, "having": {"flag": True}}, "having: There is no property"),
    ({"aggregate": N, "having": {"n": {}}}, "having: n must be a value"),
    ({"aggregate": N, "having": {"n": "many"}}, "having: n.eq must be a whole number."),
    ({"aggregate": N, "having": {"n": {"like": "1%"}}}, "having: n.like must compare text"),
    (
        {"aggregate": {"total": {"sum": "price"}}, "having": {"total": "1.005"}},
        "having: total.eq has more than 2 decimals.",
    ),
    (
        {"aggregate": {"total": {"sum": "count"}}, "having": {"total": 10**29}},
        "having: total.eq has more than 28 digits before the point.",
    ),
    ({"aggregate": {"total": {"sum": "count"}}, "having": {"total": 0.5}}, "having: total.eq has"),
    ({"aggregate": N, "order": "flag"}, "There is no property 'flag'; there are n."),
    ({"aggregate": N, "order": "n UP"}, 'The order "n UP" has invalid direction'),
    ({"aggregate": N, "limit": -1}, 'The limit parameter "-1" is not valid'),
    ({"aggregate": N, "where": {"nothing": 1}}, "There is no property 'nothing'"),
    ({"aggregate": N, "where": []}, "where must be an object."),
    ({"aggregate": N, "having": {"n": {"inq": list(range(1001))}}}, "more than 1000 list items"),
    (
        {
            "aggregate": {"t": {"max": "text"}},
            "where": {"text": {"like": "%a_a_a_a_a_a%"}},
            "having": {"t": {"like": "%a_a_a_a_a_a%"}},
        },
        "may have 20 characters after their first %",
    ),
]


def test_what_is_not_understood_is_refused(ask):
    for given, message in REFUSED:
        refused = ask(**given)
        assert refused.status_code == 400, given
        assert refused.json["error"]["code"] == "INVALID_FILTER"
        assert message in refused.json["message"]


@pytest.mark.both_databases
def test_more_groups_than_an_answer_has_need_a_limit(store, ask):
    start = datetime(2026, 1, 1, tzinfo=UTC)
    store(*({"at": start + timedelta(hours=hour)} for hour in range(1001)))

    all_, many = ask(groupBy="at"), ask(groupBy="at", limit=5000)
    some, rest = ask(groupBy="at", limit=1000), ask(groupBy="at", limit=1000, skip=1000)
    days, left = ask(groupBy={"at": "day"}), ask(groupBy="at", skip=1)

    assert ask(groupBy="at", limit=1000.0).json == some.json == ask(groupBy="at", limit="1000").json
    assert (
        all_.status_code == many.status_code == ask(groupBy="at", limit=10**30).status_code == 400
    )
    assert "There are more than 1,000 groups" in all_.json["message"]
    assert [len(each.json) for each in (some, rest, days, left)] == [1000, 1, 42, 1000]


@pytest.mark.both_databases
def test_groups_of_long_texts_have_a_maximum_size(store, ask):
    store(*({"text": f"{number:04}" + "é" * 96, "count": number} for number in range(1000)))
    longest = {f"t{number}": {"max": "text"} for number in range(10)}

    refused = ask(groupBy="count", aggregate=longest)
    some = ask(groupBy="count", aggregate=longest, limit=100)

    assert refused.status_code == 400
    assert "more than 2,000,000 bytes" in refused.json["message"]
    assert len(some.json) == 100
