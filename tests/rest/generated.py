"""Generated requests to the shop: bodies and filters, most of them nearly right."""

import json

from hypothesis import strategies as st

COLLECTIONS = {
    "products": ("id", "sku", "name", "price", "status", "releasedOn", "tags", "size", "size.h"),
    "categories": ("id", "name"),
    "orders": ("id", "status", "created", "customerId"),
    "order-items": ("id", "quantity", "orderId", "productId", "customerId"),
    "shipments": ("id", "dueOn", "address", "address.city", "place", "orderId", "customerId"),
    "reviews": ("id", "stars", "text", "created", "productId", "customerId"),
}
RELATIONS = ("customer", "items", "products", "shipment", "order", "product", "categories")
RELATIONS += ("reviews", "nowhere")
# Values of the right type for each property, and of the wrong one for others.
TEXTS = [
    "",
    "Lamp",
    "lamp",
    "LAMP-1",
    "LAMP-9",
    "a_b%",
    "\\",
    "é",
    "new",
    "draft",
    "on sale",
    "open",
]
TEXTS += [
    "Berlin",
    "2026-03-01",
    "2026-01-02T03:04:05.678Z",
    "12.50",
    "7e3",
    "nan",
    "a\0b",
    "\ud800",
]
NUMBERS = [0, 1, 2, 3, 5, 9, 12.5, -1, 0.001, 2**31, 2**53, 2**63, 10**30, 1e308, float("nan")]
OBJECTS = [{}, {"h": 30}, {"city": "Berlin", "zip": 10115}, {"lat": 52.5, "lng": 13.4}, {"a": [{}]}]
VALUES = [None, True, False, *TEXTS, *NUMBERS, *OBJECTS, [], ["new"], [1, "a"], [[]]]
OPERATORS = ["eq", "neq", "gt", "gte", "lt", "lte", "inq", "nin", "between", "like", "nlike"]
OPERATORS += ["ilike", "nilike", "regexp", "exists", "near"]
OPERATORS += ["maxDistance", "unit", "options", "and", "$ne"]
LIMITS = [0, 1, 2, 3, 1000, 1001, -1, 1.5, "2", "x", None, True, 10**30]

values = st.sampled_from(VALUES) | st.text(max_size=5) | st.floats() | st.integers()
operands = values | st.lists(values, max_size=3)


def conditions(names):
    """Return the values of a `where`."""
    condition = operands | st.dictionaries(st.sampled_from(OPERATORS), operands, max_size=2)
    plain = st.dictionaries(st.sampled_from(names), condition, max_size=2)
    return st.recursive(
        plain,
        lambda inner: st.fixed_dictionaries(
            {}, optional={"and": st.lists(inner, max_size=2), "or": st.lists(inner, max_size=2)}
        ),
        max_leaves=3,
    )


def filters(collection):
    """Return filters of a collection."""
    names = (*COLLECTIONS[collection], "nothing")
    name = st.sampled_from(names)
    direction = st.sampled_from(["", " ASC", " DESC", " desc", " UP"])
    order = st.builds("{}{}".format, name, direction)
    included = st.sampled_from(RELATIONS)
    limit = st.sampled_from(LIMITS)
    scope = st.fixed_dictionaries({}, optional={"limit": limit, "include": included})
    nested = st.fixed_dictionaries({"relation": included}, optional={"scope": scope})
    keys = {
        "where": conditions(names),
        "order": order | st.lists(order, max_size=2),
        "fields": st.lists(name, max_size=3) | st.dictionaries(name, st.booleans(), max_size=2),
        "include": included | st.lists(included | nested, max_size=2),
        "limit": limit,
        "skip": limit,
    }
    return st.fixed_dictionaries({}, optional=keys) | values


FUNCTIONS = ["count", "countDistinct", "sum", "avg", "min", "max", "median"]


@st.composite
def aggregates(draw):
    """Return a caller, a path and the query of an aggregate of a collection."""
    collection = draw(st.sampled_from(sorted(COLLECTIONS)))
    name = st.sampled_from((*COLLECTIONS[collection], "*", "nothing", "customer.email"))
    unit = st.sampled_from(["year", "month", "week", "day", "hour", "minute", None])
    group = name | st.dictionaries(name, unit, min_size=1, max_size=1)
    function = st.dictionaries(st.sampled_from(FUNCTIONS), name, min_size=1, max_size=1)
    named = st.sampled_from(["n", "total", "status", "a b"])
    keys = {
        "where": conditions(COLLECTIONS[collection]),
        "groupBy": group | st.lists(group, max_size=3),
        "having": conditions(("n", "total")),
        "order": st.builds("{}{}".format, named, st.sampled_from(["", " DESC"])),
        "limit": st.sampled_from(LIMITS),
        "skip": st.sampled_from(LIMITS),
    }
    functions = st.dictionaries(named, function, min_size=1, max_size=3)
    filter_ = draw(st.fixed_dictionaries({"aggregate": functions}, optional=keys))
    caller = draw(st.sampled_from(["ada", "bob", "clerk", None]))
    return caller, f"/{collection}/aggregate", {"filter": json.dumps(filter_)}


@st.composite
def reads(draw):
    """Return the caller, path and query of a call that reads."""
    collection = draw(st.sampled_from(list(COLLECTIONS)))
    row = draw(st.sampled_from(["1", "2", "3", "9", "x", str(2**63)]))
    relation = draw(st.sampled_from(RELATIONS))
    below = draw(
        st.sampled_from(["", "", "", "/count", "/findOne", f"/{row}", f"/{row}/{relation}"])
    )
    wanted = draw(filters(collection))
    if below == "/count":
        query = {"where": wanted.get("where") if isinstance(wanted, dict) else wanted}
    else:
        query = {"filter": wanted}
    return (
        draw(st.sampled_from([None, "ada", "bob", "clerk"])),
        f"/{collection}{below}",
        {name: json.dumps(value) for name, value in query.items()},
    )


@st.composite
def writes(draw):
    """Return the caller, verb, path, query and body of a call that writes."""
    collection = draw(st.sampled_from(list(COLLECTIONS)))
    names = [each for each in COLLECTIONS[collection] if "." not in each]
    known = {name: st.sampled_from(GOOD[name]) for name in names if name in GOOD}
    body = draw(
        st.fixed_dictionaries(known)
        | st.fixed_dictionaries({}, optional=known)
        | st.fixed_dictionaries({}, optional=known | dict.fromkeys([*names, "x"], values))
    )
    row = draw(st.sampled_from(["1", "2", "3", "9"]))
    verb, below = draw(
        st.sampled_from(
            [
                *(("POST", ""), ("PATCH", f"/{row}"), ("PUT", f"/{row}"), ("DELETE", f"/{row}")),
                *(("PATCH", ""), ("PUT", ""), ("POST", "/update"), ("POST", "/upsertWithWhere")),
                ("POST", f"/{row}/{draw(st.sampled_from(RELATIONS))}"),
                ("PUT", f"/{row}/{draw(st.sampled_from(RELATIONS))}"),
                ("PUT", f"/{row}/products/rel/{draw(st.sampled_from('123'))}"),
                ("DELETE", f"/{row}/{draw(st.sampled_from(RELATIONS))}"),
            ]
        )
    )
    caller = draw(st.sampled_from(["ada", "bob", "clerk"]))
    where = json.dumps(draw(conditions(names)))
    many = verb == "POST" and not below and draw(st.booleans())
    return caller, verb, f"/{collection}{below}", {"where": where}, [body, body] if many else body


# Values that are accepted, so that many bodies are.
GOOD = {
    "sku": ["LAMP-1", "LAMP-8", "LAMP-9"],
    "name": ["Lamp", "Light"],
    "price": ["12.50", 9, "99999.99"],
    "status": ["draft", "open", "on sale"],
    "releasedOn": [None, "2026-03-01"],
    "tags": [[], ["new", "é"]],
    "size": [None, {"h": 30.5}],
    "quantity": [1, 1000],
    "orderId": [1, 2, 3, 9],
    "productId": [1, 2, 3, 9],
    "stars": [1, 5],
    "text": [None, "So\nso"],
    "dueOn": [None, "2026-03-01"],
    "address": [{"city": "Berlin"}, {}],
    "place": [None, {"lat": 52.52, "lng": 13.405}],
}
