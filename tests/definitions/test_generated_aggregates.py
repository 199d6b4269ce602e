"""Generated aggregates by properties of related rows are those of what an include shows."""

from random import Random

import pytest

from tests.rest.aggregates.computed import expected
from tests.support.answers import refusal

from .sites import CALLERS, CODE, MODELS, RELATIONS, as_include, ask, fill

UNITS = ("year", "month", "week", "day", "hour")
# The relations by which rows are grouped; those of sites lead to people of different permissions.
ONES = {
    collection: {name: target for name, (target, many) in relations.items() if not many}
    for collection, relations in RELATIONS.items()
}
WHERES = {
    "tasks": [{}, {"done": True}, {"site": {"level": {"gt": 1}}}],
    "contacts": [{}, {"site": {"organization": {"exists": True}}}],
    "sites": [{}, {"level": {"gt": 1}}, {"tasks": {"some": {"done": False}}}],
}


def make_groups(random, collection):
    """Return one or two groups, with four relations at most, and the tree of these."""
    groups, tree = {}, {}
    for _ in range(random.choice((1, 1, 2))):
        path, target, inner = [], collection, tree
        for _ in range(random.choice((1, 1, 2))):
            if ONES[target]:
                path.append(random.choice(list(ONES[target])))
                target = ONES[target][path[-1]]
                inner = inner.setdefault(path[-1], {})
        name = random.choice(("name", "level", "opened" if target == "sites" else "id"))
        key = ".".join([*path, name])
        is_cut = name == "opened" and random.random() < 0.7
        groups[key] = {key: random.choice(UNITS)} if is_cut else key
    return list(groups.values()), tree


def make_aggregate(random, collection):
    groups, tree = make_groups(random, collection)
    functions = {
        "rows": {"count": "*"},
        "f": {random.choice(("count", "countDistinct", "min", "max")): "name"},
        "g": {random.choice(("sum", "avg")): "level"},
    }
    used = sum(
        next(iter(group)).count(".") if isinstance(group, dict) else group.count(".")
        for group in groups
    )
    wheres = WHERES[collection] if used <= 2 else [{}]
    aggregate = {"where": random.choice(wheres), "groupBy": groups, "aggregate": functions}
    if random.random() < 0.5:
        aggregate["having"] = {"rows": {"gt": random.randrange(3)}}
    if random.random() < 0.5:
        aggregate["order"] = [random.choice(("rows DESC", "rows"))]
    return aggregate, tree


def check(api, token, random):
    """Compare a generated aggregate with Python; return the number of its objects."""
    collection = random.choice(list(WHERES))
    aggregate, tree = make_aggregate(random, collection)
    found = ask(api, f"/{collection}/aggregate", token, filter=aggregate)
    filter_ = {"where": aggregate["where"], "include": as_include(tree)}
    shown = ask(api, f"/{collection}", token, filter=filter_)
    if shown.status_code != 200:
        assert refusal(found) == refusal(shown), aggregate
        return 0
    assert found.status_code == 200, (aggregate, found.json)
    assert found.json == expected(aggregate, shown.json), aggregate
    return len(found.json)


def run(api, cases, seed):
    random = Random(seed)
    tokens = fill(api, random)
    objects = sum(check(api, tokens[random.choice(CALLERS)], random) for _ in range(cases))
    assert objects > cases


@pytest.mark.both_databases
def test_generated_aggregates_by_related_rows_are_those_of_the_list_with_an_include(serve):
    run(serve(MODELS, code=CODE), 150, seed=41)


@pytest.mark.live
@pytest.mark.both_databases
def test_many_generated_aggregates_by_related_rows_are_those_of_the_list_with_an_include(serve):
    run(serve(MODELS, code=CODE), 1000, seed=42)
