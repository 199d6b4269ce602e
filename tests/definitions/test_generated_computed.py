"""Generated computed properties: each is the function in Python of what an include shows."""

from copy import deepcopy
from random import Random

import pytest

from .sites import CALLERS, CODE, MODELS, RELATIONS, ask, fill
from .test_generated_related import COMPARED, meets

FUNCTIONS = {
    "count": len,
    "sum": lambda values: sum(values) if values else None,
    "min": lambda values: min(values, default=None),
    "max": lambda values: max(values, default=None),
}
WHERES = ({}, {"level": {"gt": 1}}, {"name": {"inq": ["a", None]}}, {"level": {"neq": 2}})
COLLECTIONS = {f"{name}s": name for name in MODELS}
# A relation by an array of ids has no computed properties.
USABLE = {
    collection: [name for name in relations if name != "favourites"]
    for collection, relations in RELATIONS.items()
}


def generate(random):
    """Return the models with computed properties, and these by collection and name."""
    models, made = deepcopy(MODELS), {}
    for collection, relations in USABLE.items():
        properties = models[COLLECTIONS[collection]].setdefault("properties", {})
        made[collection] = {}
        for relation in relations:
            for number in range(2):
                word = random.choice([*FUNCTIONS])
                argument = "name" if word in ("min", "max") and random.random() < 0.5 else "level"
                computed = {
                    word: relation if word == "count" else f"{relation}.{argument}",
                    "where": random.choice(WHERES),
                    "visibleToCaller": random.random() < 0.6,
                }
                name = f"{relation}{number}"
                properties[name] = {"computed": computed}
                made[collection][name] = (relation, word, argument, computed)
    return models, made


def expected(shown, of_admin, declared):
    """Return the value of a computed property for a row with included relations."""
    relation, word, argument, computed = declared
    row = shown if computed["visibleToCaller"] else of_admin
    related = row.get(relation) or []
    related = related if isinstance(related, list) else [related]
    counted = [each for each in related if meets(each, computed["where"], "images")]
    values = [each[argument] for each in counted if each[argument] is not None]
    return FUNCTIONS[word](counted if word == "count" else values)


def with_related(api, token, collection):
    """Return the rows that a caller may read by id, with the related rows that they may read."""
    found = {}
    for relation in USABLE[collection]:
        shown = ask(api, f"/{collection}", token, filter={"include": relation})
        if shown.status_code in (401, 403):
            # The include is refused: the caller may read none of the rows.
            shown = ask(api, f"/{collection}", token)
        if shown.status_code in (401, 403):
            return {}
        assert shown.status_code == 200
        for row in shown.json:
            found.setdefault(row["id"], {}).update(row)
    return found


def check(api, tokens, collection, declared, random):
    """Compare computed properties, filters and orders by them for each caller."""
    of_admin = with_related(api, tokens["root"], collection)
    compared = 0
    for caller in CALLERS:
        token = tokens[caller]
        rows = with_related(api, token, collection)
        values = {
            row_id: {name: expected(row, of_admin[row_id], each) for name, each in declared.items()}
            for row_id, row in rows.items()
        }
        for row_id, row in rows.items():
            assert {name: row[name] for name in declared} == values[row_id], (caller, row_id)
        if not rows:
            continue
        for name in random.sample([*declared], 2):
            given = random.choice([value[name] for value in values.values()])
            word = random.choice(("eq", "neq", "gt", "lte") if given is not None else ("eq", "neq"))
            filter_ = {"where": {name: {word: given}}, "order": [f"{name} DESC", "id"]}
            found = ask(api, f"/{collection}", token, filter=filter_)
            ids = [
                row_id for row_id in sorted(values) if COMPARED[word](values[row_id][name], given)
            ]
            ids.sort(key=lambda row_id: rank(values[row_id][name]), reverse=True)
            assert [row["id"] for row in found.json] == ids, (caller, filter_)
            compared += 1
    return compared


def rank(value):
    return () if value is None else (value,)


def run(serve, seed):
    random = Random(seed)
    models, declared = generate(random)
    api = serve(models, code=CODE)
    tokens = fill(api, random)
    compared = sum(
        check(api, tokens, collection, each, random)
        for collection, each in declared.items()
        if each
    )
    assert compared > 30


@pytest.mark.both_databases
def test_generated_computed_properties_are_functions_of_what_includes_show(serve):
    run(serve, seed=42)
