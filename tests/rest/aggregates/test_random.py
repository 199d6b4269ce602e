"""Random aggregates are what Python computes from the list that the same caller gets."""

import json
from random import Random

import pytest
from sqlalchemy import insert

from app.database.session import db
from tests.support.rows import make_admin

from .computed import expected
from .sales import Base, Sale, make_row, sales

ROWS, CASES = 120, 200
WORDS = ("count", "countDistinct", "sum", "avg", "min", "max")
NUMBERS, TEXTS = ("price", "pieces", "weight"), ("shop", "status")
TIMES = {"at": ("year", "month", "week", "day", "hour"), "day": ("year", "month", "week", "day")}
ORDERED = (*NUMBERS, *TEXTS, *TIMES)
ALL = (*ORDERED, "flag", "code")


@pytest.fixture
def call(serve, api, token):
    """Return a function that calls the sales as Ada, as Bob or as an admin."""
    tokens = [token, *map(api.logged_in, ("bob@example.com", "eva@example.com"))]
    app = serve(Base.metadata, sales)
    make_admin(app, 3)
    random = Random(1)
    with app.app_context(), db.engine.begin() as connection:
        connection.execute(insert(Sale), [make_row(random) for _ in range(ROWS)])
    client = app.test_client()

    def call(caller, path, filter_):
        response = client.get(
            f"/api{path}",
            query_string={"filter": json.dumps(filter_)},
            headers={"Authorization": tokens[caller]},
        )
        assert response.status_code == 200, (filter_, response.json)
        return response.json

    return call


def make_aggregate(random):
    groups = [
        {name: random.choice(TIMES[name])} if name in TIMES and random.random() < 0.7 else name
        for name in random.sample(ALL, random.randrange(4))
    ]
    functions = {"rows": {"count": "*"}}
    for number in range(random.randrange(1, 5)):
        word = random.choice(WORDS)
        names = {"sum": NUMBERS, "avg": NUMBERS, "min": ORDERED, "max": ORDERED}.get(word, ALL)
        functions[f"f{number}"] = {word: random.choice(names)}
    where = random.choice(
        [{}, {"flag": True}, {"shop": {"neq": "a"}}, {"or": [{"status": "open"}, {"price": None}]}]
    )
    aggregate = {"where": where, "groupBy": groups, "aggregate": functions}
    if random.random() < 0.5:
        aggregate["having"] = {"rows": {"gt": random.randrange(4)}}
    if random.random() < 0.5:
        aggregate["order"] = [random.choice(["rows DESC", "rows"])]
    return aggregate


@pytest.mark.both_databases
def test_random_aggregates_are_those_of_the_list_that_the_caller_gets(call):
    random, seen, lists = Random(7), 0, {}

    for _ in range(CASES):
        aggregate, caller = make_aggregate(random), random.randrange(3)
        listed = caller, str(aggregate["where"])
        if listed not in lists:
            lists[listed] = call(caller, "/sales", {"where": aggregate["where"]})
        found = call(caller, "/sales/aggregate", aggregate)
        assert found == expected(aggregate, lists[listed]), (caller, aggregate)
        seen += len(found)

    assert seen > CASES
