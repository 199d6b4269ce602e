"""Generated conditions on related rows: what a filter selects is what an include shows."""

from random import Random

import pytest

from tests.support.answers import refusal

from .sites import CALLERS, CODE, MODELS, RELATIONS, as_include, ask, fill

PROPERTIES = {"name": ("a", "b", "B", "c", None), "level": (0, 1, 2, 3, None)}
COMPARED = {
    "eq": lambda value, given: value == given,
    "neq": lambda value, given: value != given,
    "gt": lambda value, given: value is not None and value > given,
    "lte": lambda value, given: value is not None and value <= given,
    "inq": lambda value, given: value in given,
    "nin": lambda value, given: value not in given,
    "exists": lambda value, given: (value is not None) == given,
}


class Generator:
    """Makes filters of at most four relations, two one after the other."""

    def __init__(self, random):
        # What a condition may still have.
        self._random, self._relations, self._groups, self._used = random, 0, 0, set()

    def where(self, collection, relations):
        """Return a condition with at least one relation."""
        self._relations, self._groups, self._used = relations, 2, set()
        return self._where(collection, 2, needs_relation=True)

    def order(self, collection):
        """Return a term of an order by a property of a relation to one; empty if there is none."""
        path, target = [], collection
        for _ in range(self._random.choice((1, 1, 2))):
            ones = [name for name, (_, many) in RELATIONS[target].items() if not many]
            if ones:
                path.append(self._random.choice(ones))
                target = RELATIONS[target][path[-1]][0]
        if not path:
            return ""
        direction = self._random.choice(("", " DESC"))
        return ".".join([*path, self._random.choice(list(PROPERTIES))]) + direction

    def _where(self, collection, steps, needs_relation=False):
        pick = self._random.random()
        if pick < 0.25 and self._groups:
            self._groups -= 1
            word = self._random.choice(("and", "or"))
            parts = [self._where(collection, steps, needs_relation) for _ in range(2)]
            return {word: parts}
        names = [name for name in RELATIONS[collection] if name not in self._used]
        can_relate = steps and self._relations and names
        if can_relate and (needs_relation or pick < 0.6):
            self._relations -= 1
            name = self._random.choice(names)
            # A filter has one relation by an array of ids.
            self._used |= {name} & {"favourites"}
            return {name: self._related(*RELATIONS[collection][name], steps - 1)}
        return self._comparison()

    def _related(self, target, many, steps):
        word = self._random.choice(("some", "none", "every", "exists", None))
        if word == "exists":
            return {"exists": self._random.choice((True, False))}
        inner = self._where(target, steps)
        return {word: inner} if many and word else inner

    def _comparison(self):
        name, values = self._random.choice(list(PROPERTIES.items()))
        word = self._random.choice(list(COMPARED))
        known = [value for value in values if value is not None]
        if name == "name" and word in ("gt", "lte"):
            known = ["A", "a", "b"]
        given = {
            "inq": self._random.sample(values, 2),
            "nin": self._random.sample(values, 2),
            "exists": self._random.choice((True, False)),
            "eq": self._random.choice(values),
            "neq": self._random.choice(values),
        }.get(word, self._random.choice(known))
        return {name: {word: given}}


def meets(row, where, collection):
    """Return True if a row, as an include shows it, meets a condition."""
    return all(_meets(row, name, value, collection) for name, value in where.items())


def _meets(row, name, value, collection):
    if name in ("and", "or"):
        return (all if name == "and" else any)(meets(row, part, collection) for part in value)
    if name not in RELATIONS[collection]:
        return all(COMPARED[word](row[name], given) for word, given in value.items())
    target, many = RELATIONS[collection][name]
    rows = row.get(name) or []
    rows = rows if many else [rows] if rows else []
    if value.keys() <= {"some", "none", "every", "exists"}:
        return all(_quantified(rows, word, inner, target) for word, inner in value.items())
    return any(meets(each, value, target) for each in rows)


def _quantified(rows, word, inner, target):
    if word == "exists":
        return bool(rows) == inner
    met = [meets(row, inner, target) for row in rows]
    return {"some": any(met), "none": not any(met), "every": all(met)}[word]


def included(where, collection):
    """Return the relations of a condition as an include."""
    found = {}
    for name, value in where.items():
        if name in ("and", "or"):
            for part in value:
                _merge(found, included(part, collection))
        elif name in RELATIONS[collection]:
            inner = found.setdefault(name, {})
            target = RELATIONS[collection][name][0]
            quantified = value.keys() <= {"some", "none", "every", "exists"}
            for part in value.values() if quantified else [value]:
                if isinstance(part, dict):
                    _merge(inner, included(part, target))
    return found


def _merge(into, other):
    for name, inner in other.items():
        _merge(into.setdefault(name, {}), inner)


def at_path(row, path):
    """Return the value that an order by a path compares: None if a row is missing."""
    for name in path:
        row = (row or {}).get(name)
    return row


def check(api, token, collection, generator):
    """Compare a generated filter with the same over what an include shows.

    Return True if it selects some of the rows.
    """
    term = generator.order(collection)
    path = term.split(" ")[0].split(".") if term else []
    where = generator.where(collection, 4 - len(path[:-1]))
    tree = included(where, collection)
    inner = tree
    for name in path[:-1]:
        inner = inner.setdefault(name, {})
    filter_ = {"where": where, "order": term} if term else {"where": where}
    found = ask(api, f"/{collection}", token, filter=filter_)
    shown = ask(api, f"/{collection}", token, filter={"include": as_include(tree)})
    counted = ask(api, f"/{collection}/count", token, where=where)
    if shown.status_code != 200:
        assert refusal(found) == refusal(shown), filter_
        relation = found.json["error"].get("details", {}).get("relation")
        assert relation is None or relation.split(".")[0] in tree, filter_
        return False
    assert found.status_code == 200, (filter_, found.json)
    expected = [row for row in shown.json if meets(row, where, collection)]
    expected.sort(key=lambda row: rank(row, path), reverse=term.endswith(" DESC"))
    assert [row["id"] for row in found.json] == [row["id"] for row in expected], filter_
    assert counted.json == {"count": len(expected)}, filter_
    return 0 < len(expected) < len(shown.json)


def rank(row, path):
    """Return what rows are sorted by: those without a value come first."""
    value = at_path(row, path) if path else None
    return () if value is None else (value,)


def run(api, cases, seed):
    random = Random(seed)
    tokens, generator = fill(api, random), Generator(random)
    selective = 0
    for _ in range(cases):
        caller = random.choice(CALLERS)
        collection = random.choice([name for name in RELATIONS if RELATIONS[name]])
        selective += check(api, tokens[caller], collection, generator)
    # Many of the filters select some of the rows, and not all.
    assert selective > cases / 8


def test_generated_filters_select_what_includes_show(serve):
    run(serve(MODELS, code=CODE), 150, seed=40)


@pytest.mark.live
@pytest.mark.both_databases
@pytest.mark.parametrize("seed", range(2))
def test_many_generated_filters_select_what_includes_show(serve, seed):
    run(serve(MODELS, code=CODE), 500, seed)
