"""`where` selects the same rows as plain Python, on both databases."""

import re
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from app.errors import InvalidFilter
from app.rest.filters import kinds
from app.rest.filters.bounds import check_cost, check_size
from app.rest.filters.parser import parse_where
from app.rest.filters.tree import Filter

from .conftest import START, TEXTS

pytestmark = pytest.mark.both_databases

ATTRIBUTES = {"isComplete": "is_complete", "ownerId": "owner_id"}
KINDS = {
    "id": kinds.INTEGER,
    "title": kinds.TEXT,
    "desc": kinds.TEXT,
    "isComplete": kinds.BOOLEAN,
    "created": kinds.TIME,
    "ownerId": kinds.INTEGER,
}
TIMES = [START + timedelta(milliseconds=offset) for offset in range(-1, 12)]
VALUES = {
    "id": st.integers(-1, 45),
    "title": st.sampled_from(TEXTS),
    "desc": st.sampled_from(TEXTS),
    "isComplete": st.booleans(),
    "created": st.sampled_from(TIMES).map(lambda time: time.isoformat().replace("+00:00", "Z")),
    "ownerId": st.integers(0, 2),
}
TEXT = st.text("aAbBéÉ*?[]\\\n", max_size=2)
PATTERNS = st.text("aAbBéÉ%_*?[]\\\n", max_size=5)
PATTERNS |= TEXT.map("%{}%".format) | TEXT.map("%{}".format) | TEXT.map("{}%".format)


def conditions_on(name):
    values = VALUES[name]
    nullable = st.none() | values
    some = {"eq": nullable, "neq": nullable}, dict.fromkeys(("gt", "gte", "lt", "lte"), values)
    operators = [
        nullable,
        *(st.fixed_dictionaries({}, optional=words).filter(bool) for words in some),
        st.fixed_dictionaries({"between": st.lists(values, min_size=2, max_size=2)}),
        st.fixed_dictionaries({"inq": st.lists(nullable, max_size=4)}),
        st.fixed_dictionaries({"nin": st.lists(nullable, max_size=4)}),
    ]
    if name in ("title", "desc"):
        words = ("like", "nlike", "ilike", "nilike")
        operators.append(st.one_of([st.fixed_dictionaries({word: PATTERNS}) for word in words]))
    return st.one_of(operators)


plain = st.fixed_dictionaries({}, optional={name: conditions_on(name) for name in VALUES})
wheres = st.recursive(
    plain,
    lambda inner: st.fixed_dictionaries(
        {}, optional={"and": st.lists(inner, max_size=3), "or": st.lists(inner, max_size=3)}
    ),
    max_leaves=6,
)


def fulfils(row, where):
    return all(one(row, name, value) for name, value in where.items())


def one(row, name, value):
    if name == "and":
        return all(fulfils(row, each) for each in value)
    if name == "or":
        return any(fulfils(row, each) for each in value)
    stored = row[ATTRIBUTES.get(name, name)]
    value = value if isinstance(value, dict) else {"eq": value}
    return all(OPERATORS[word](stored, as_stored(each)) for word, each in value.items())


def as_stored(value):
    if isinstance(value, list):
        return [as_stored(each) for each in value]
    if isinstance(value, str) and value.startswith("2026-"):
        return datetime.fromisoformat(value).astimezone(UTC)
    return value


def matches(pattern, text, flags=0):
    pieces = re.findall(r"\\.|.", pattern, re.DOTALL)
    wild = {"%": ".*", "_": "."}
    expression = "".join(wild.get(piece) or re.escape(piece[-1]) for piece in pieces)
    return re.fullmatch(expression, text, re.DOTALL | flags) is not None


def like(stored, pattern):
    return stored is not None and matches(pattern, stored)


def ilike(stored, pattern):
    return stored is not None and matches(lower(pattern), lower(stored))


def lower(text):
    """Fold A to Z alone."""
    return re.sub("[A-Z]", lambda match: match[0].lower(), text)


def is_small(where):
    """Tell whether a filter is within the bounds, which are tested elsewhere."""
    parsed = Filter(where=parse_where(where, KINDS))
    try:
        check_size({"where": where})
        check_cost([parsed])
    except InvalidFilter:
        return False
    return True


OPERATORS = {
    "eq": lambda stored, value: stored == value,
    "neq": lambda stored, value: stored != value,
    "gt": lambda stored, value: stored is not None and stored > value,
    "gte": lambda stored, value: stored is not None and stored >= value,
    "lt": lambda stored, value: stored is not None and stored < value,
    "lte": lambda stored, value: stored is not None and stored <= value,
    "between": lambda stored, value: stored is not None and value[0] <= stored <= value[1],
    "inq": lambda stored, value: stored in value,
    "nin": lambda stored, value: stored not in value,
    "like": like,
    "nlike": lambda stored, value: not like(stored, value),
    "ilike": ilike,
    "nilike": lambda stored, value: not ilike(stored, value),
}


def test_random_filters_select_the_same_rows_as_python(find, rows):
    @settings(
        max_examples=150,
        deadline=None,
        database=None,
        suppress_health_check=[HealthCheck.too_slow],
    )
    @given(wheres)
    def check(where):
        assume(is_small(where))
        response = find({"where": where})

        assert response.status_code == 200, response.json
        expected = [row["id"] for row in rows if fulfils(row, where)]
        assert [each["id"] for each in response.json] == expected
        # By a statement that is compiled in advance.
        assert find({"where": where}).json == response.json

    check()


@given(order=st.permutations(["title", "desc", "isComplete", "created", "id"]), data=st.data())
@settings(
    max_examples=40,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_the_order_is_the_same_on_every_database(find, rows, order, data):
    directions = [data.draw(st.sampled_from(["ASC", "DESC"])) for _ in order]
    expected = list(rows)
    for name, direction in reversed(list(zip(order, directions, strict=True))):
        attribute = ATTRIBUTES.get(name, name)
        expected.sort(
            key=lambda row: (row[attribute] is not None, row[attribute]),
            reverse=direction == "DESC",
        )

    terms = [f"{name} {direction}" for name, direction in zip(order, directions, strict=True)]
    response = find({"order": terms})

    assert [each["id"] for each in response.json] == [row["id"] for row in expected]


@pytest.mark.parametrize(
    ("query", "ids"),
    [
        ("filter[where][id]=3", [3]),
        ("filter[where][id][inq][]=3&filter[where][id][inq][]=4", [3, 4]),
        ("filter[where][id][inq]=3&filter[where][id][inq]=4", [3, 4]),
        ("filter[where][id][between][0]=3&filter[where][id][between][1]=5", [3, 4, 5]),
        ("filter[where][or][0][id]=3&filter[where][or][1][id]=9", [3, 9]),
        ("filter[where][isComplete]=true&filter[where][id][lt]=5", [2, 4]),
        ("filter[where][id][lt]=4&filter[order]=id%20DESC", [3, 2, 1]),
        ("filter[where][id][lt]=4&filter[order][0]=isComplete&filter[order][1]=id", [1, 3, 2]),
        ("filter[limit]=2&filter[skip]=3", [4, 5]),
        ("filter[limit]=2&filter[offset]=3", [4, 5]),
        ("filter=%20&x=y", list(range(1, 40))),
        ("filter=null", list(range(1, 40))),
        ("filter[where][id][inq][1]=3&filter[where][id][inq][0]=4", [3, 4]),
        ("filter[where][id][inq][7]=3", [3]),
        ("filter[where][id][nin][9]=1&filter[where][id][nin][4]=2&filter[limit]=1", [3]),
        ("filter[where][id][between][4]=5&filter[where][id][between][2]=3", [3, 4, 5]),
        ("filter[where][or][0][id]=3&filter[where][or][2][id]=9", [3, 9]),
        ("filter[where][and][3][id][gt]=3&filter[where][and][1][id][lt]=6", [4, 5]),
        ("filter[where][id][lt]=4&filter[order][2]=id&filter[order][1]=isComplete", [1, 3, 2]),
        ('filter={"where":{"id":{"inq":{"0":3,"1":4}}}}', [3, 4]),
        ("filter[where][id][inq][9999999999]=3&filter[where][id][inq][10]=4", [3, 4]),
    ],
)
def test_a_filter_in_brackets_selects_the_same_rows_as_in_json(api, token, rows, query, ids):
    response = api("GET", "/todos", token=token, query_string=query)

    assert [each["id"] for each in response.json] == ids


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("filter[fields][1]=title&filter[fields][0]=id", {"id", "title"}),
        ("filter[fields][5]=title", {"title"}),
        ("filter[fields][0]=id&filter[include][3]=owner", {"id", "owner"}),
    ],
)
def test_lists_of_names_in_brackets_may_have_gaps(api, token, rows, query, names):
    response = api("GET", "/todos", token=token, query_string=query)

    assert response.json[0].keys() == names


@pytest.mark.parametrize("index", ["01", "-1", "a", "1.0", "99999999999", "٣"])
def test_what_is_no_index_makes_no_list(api, token, index):
    query = {f"filter[where][id][inq][{index}]": 3}

    response = api("GET", "/todos", token=token, query_string=query)

    assert response.status_code == 400
    assert response.json["message"] == "id.inq must be a list."


def test_count_and_find_agree(api, token, rows):
    query = {"where": '{"isComplete": true}'}

    response = api("GET", "/todos/count", token=token, query_string=query)

    assert response.json == {"count": 19}
