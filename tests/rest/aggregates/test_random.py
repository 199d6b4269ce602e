"""Random aggregates are what Python computes from the list that the same caller gets."""

import json
from datetime import datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
from random import Random

import pytest
from sqlalchemy import insert

from app.database.session import db
from tests.support.rows import make_admin

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


def start_of(name, unit, text):
    """Return the start of a unit as JSON has it, from the JSON of a time or a date."""
    if text is None:
        return None
    time = datetime.fromisoformat(text)
    if unit == "week":
        time -= timedelta(days=time.weekday())
    at = {"year": {"month": 1, "day": 1}, "month": {"day": 1}}.get(unit, {})
    hour = time.hour if unit == "hour" else 0
    time = time.replace(hour=hour, minute=0, second=0, microsecond=0, **at)
    return time.date().isoformat() if name == "day" else f"{time:%Y-%m-%dT%H}:00:00.000Z"


def key_of(row, groups):
    return tuple(
        row[group] if isinstance(group, str) else start_of(*next(iter(group.items())), row[name])
        for group in groups
        for name in [group if isinstance(group, str) else next(iter(group))]
    )


def sort_key(values):
    """Null first, then by value; decimals by their number, texts by code point."""

    def one(value):
        try:
            return Decimal(value)
        except (ArithmeticError, TypeError, ValueError):
            return value

    return [(value is not None, 0 if value is None else one(value)) for value in values]


def compute(word, name, rows):
    if name == "*":
        return len(rows)
    values = [row[name] for row in rows if row[name] is not None]
    if word in ("count", "countDistinct"):
        return len(values if word == "count" else set(values))
    if not values:
        return None
    if name == "price":
        return compute_price(word, list(map(Decimal, values)))
    if word == "avg":
        return float(sum(values)) / len(values)
    return {"sum": sum, "min": min, "max": max}[word](values)


def compute_price(word, values):
    if word == "avg":
        mean = sum(values) / len(values)
        return f"{mean.quantize(Decimal('1E-7'), ROUND_HALF_UP):f}"
    return f"{ {'sum': sum, 'min': min, 'max': max}[word](values):f}"


def expected(aggregate, rows):
    """Return the objects of an aggregate of rows in JSON, which has no limit."""
    groups = aggregate["groupBy"]
    names = [group if isinstance(group, str) else next(iter(group)) for group in groups]
    found = {} if groups else {(): []}
    for row in rows:
        found.setdefault(key_of(row, groups), []).append(row)
    objects = [
        dict(zip(names, key, strict=True))
        | {
            name: compute(*next(iter(function.items())), of_group)
            for name, function in aggregate["aggregate"].items()
        }
        for key, of_group in sorted(found.items(), key=lambda item: sort_key(item[0]))
    ]
    if "having" in aggregate:
        least = aggregate["having"]["rows"]["gt"]
        objects = [each for each in objects if each["rows"] > least]
    if "order" in aggregate:
        objects.sort(key=lambda each: each["rows"], reverse="DESC" in aggregate["order"][0])
    return objects


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
