"""Aggregates of models in JSON: whom they are for, and what they must not show."""

import json

import pytest

from tests.support.answers import refusal
from tests.support.documents import blocks

from .library import OPEN, rule

N = {"rows": {"count": "*"}}
SALE = {
    "name": "Sale",
    "properties": {
        "shop": "string",
        "price": {"type": "decimal", "precision": 10, "scale": 2},
        "pieces": "integer",
        "weight": "number",
        "soldAt": "date",
        "soldOn": "dateonly",
        "margin": "number",
        "note": "object",
        "userId": "number",
    },
    "hidden": ["margin"],
    "relations": {"buyer": {"type": "belongsTo", "model": "User", "foreignKey": "userId"}},
    "acls": OPEN,
}


@pytest.fixture
def serve_sales(serve):
    """Return a function that serves sales with some of the declaration replaced, to two users."""

    def start(more=(), others=(), **declared):
        api = serve({"sale": {**SALE, **declared}, **dict(others)}, **dict(more))
        api.ada, api.bob = api.logged_in(), api.logged_in("bob@example.com")
        return api

    return start


def ask(api, token=None, path="/Sales/aggregate", **aggregate):
    return api("GET", path, token=token, query_string={"filter": json.dumps(aggregate)})


@pytest.mark.both_databases
def test_every_type_of_property_has_its_functions(serve_sales):
    api = serve_sales()
    for sale in (
        {"shop": "b", "price": "1.10", "pieces": 2**53 - 1, "weight": 0.5, "soldOn": "2026-01-04"},
        {"shop": "a", "price": "2.20", "pieces": 2**53 - 1, "soldAt": "2026-01-04T10:00:00Z"},
        {"shop": "a", "price": "0.01", "soldAt": "2026-01-05T10:00:00Z", "note": {"a": 1}},
    ):
        assert api("POST", "/Sales", sale, token=api.ada).status_code == 200

    found = ask(
        api,
        api.ada,
        groupBy=["shop", {"soldAt": "week"}],
        aggregate={
            "sum": {"sum": "price"},
            "pieces": {"sum": "pieces"},
            "notes": {"count": "note"},
        },
    )

    # On PostgreSQL, texts of this length are read in parts.
    texts = {"first": {"min": "shop"}, "last": {"max": "shop"}}
    assert ask(api, api.ada, groupBy="shop", aggregate=texts).json == [
        {"shop": name, "first": name, "last": name} for name in ("a", "b")
    ]
    first, second = (f"{day}T00:00:00.000Z" for day in ("2025-12-29", "2026-01-05"))
    assert found.json == [
        {"shop": "a", "soldAt": first, "sum": "2.20", "pieces": 2**53 - 1, "notes": 0},
        {"shop": "a", "soldAt": second, "sum": "0.01", "pieces": None, "notes": 1},
        {"shop": "b", "soldAt": None, "sum": "1.10", "pieces": 2**53 - 1, "notes": 0},
    ]
    total = ask(api, api.ada, aggregate={"pieces": {"sum": "pieces"}}).get_data(as_text=True)
    assert total.strip() == '[{"pieces":18014398509481982}]'


def test_hidden_properties_are_as_unknown_as_others(serve_sales):
    api = serve_sales()

    for given in (
        {"groupBy": "margin"},
        {"aggregate": {"x": {"max": "margin"}}},
        {"aggregate": {"x": {"count": "margin"}}},
        {"aggregate": N, "where": {"margin": 1}},
    ):
        answer = ask(api, api.ada, **given)
        assert answer.status_code == 400
        unknown = json.loads(json.dumps(given).replace("margin", "nothing"))
        message = ask(api, api.ada, **unknown).json["message"]
        assert answer.json["message"] == message.replace("nothing", "margin")


def test_functions_of_related_rows_and_of_undeclared_properties_are_refused_with_the_reason(
    serve_sales,
):
    api = serve_sales(strict=False)
    api("POST", "/Sales", {"extra": 1}, token=api.ada)

    related = ask(api, api.ada, aggregate={"x": {"max": "buyer.email"}})
    undeclared = ask(api, api.ada, aggregate={"x": {"sum": "extra"}})

    assert refusal(related) == refusal(undeclared) == (400, "INVALID_FILTER")
    assert "'buyer.email' is of a related row, by which groupBy" in related.json["message"]
    assert "'extra' is not declared, and has no type" in undeclared.json["message"]


def test_owners_aggregate_their_own_rows(serve_sales):
    api = serve_sales(
        acls=[rule("$authenticated", property="create"), rule("$owner")],
        properties={**SALE["properties"], "userId": "number"},
    )
    api("POST", "/Sales", {"pieces": 1}, token=api.ada)
    api("POST", "/Sales", {"pieces": 2}, token=api.ada)
    api("POST", "/Sales", {"pieces": 10}, token=api.bob)
    total = {"aggregate": {"total": {"sum": "pieces"}}}

    assert ask(api, api.ada, aggregate=N).json == [{"rows": 2}]
    assert ask(api, api.ada, **total).json == [{"total": 3}]
    assert ask(api, api.bob, **total).json == [{"total": 10}]
    assert ask(api, **total).status_code == 401


DENIED_LIST = [rule("$everyone"), rule("$everyone", "DENY", property="find")]


def test_whoever_may_not_list_rows_may_not_aggregate_them(serve_sales):
    api = serve_sales(acls=DENIED_LIST)

    assert api("GET", "/Sales/count", token=api.ada).status_code == 200
    assert ask(api, api.ada, aggregate=N).status_code == 403


def test_a_rule_that_names_aggregates_permits_them_without_lists(serve_sales):
    api = serve_sales(acls=[*DENIED_LIST, rule("$authenticated", property="aggregate")])

    assert api("GET", "/Sales", token=api.ada).status_code == 403
    assert ask(api, api.ada, aggregate=N).json == [{"rows": 0}]


def test_a_rule_that_names_lists_permits_no_aggregates(serve_sales):
    api = serve_sales(acls=[rule("$authenticated", property="find")])

    assert api("GET", "/Sales", token=api.ada).status_code == 200
    assert ask(api, api.ada, aggregate=N).status_code == 403


def test_only_the_rows_that_lists_show_are_aggregated(serve_sales):
    """Everybody may read, but for lists, which have the owner's rows only."""
    listed = [rule("$everyone", "DENY", property="find"), rule("$owner", property="find")]
    api = serve_sales(acls=[rule("$authenticated"), *listed])
    api("POST", "/Sales", {"pieces": 1}, token=api.ada)
    api("POST", "/Sales", {"pieces": 10}, token=api.bob)

    assert ask(api, api.bob, aggregate={"total": {"sum": "pieces"}}).json == [{"total": 10}]


WORKERS = {
    "worker": {
        "name": "Worker",
        "properties": {"name": "string"},
        "relations": {
            "sales": {"type": "hasMany", "model": "Sale", "foreignKey": "workerId"},
            "big": {
                "type": "hasMany",
                "model": "Sale",
                "foreignKey": "workerId",
                "scope": {"where": {"pieces": {"gt": 5}}, "fields": ["id", "pieces"], "limit": 1},
            },
        },
        "acls": OPEN,
    }
}


def test_rows_of_a_relation_are_aggregated_within_its_scope(serve_sales):
    api = serve_sales(others=WORKERS, properties={**SALE["properties"], "workerId": "number"})
    for name in ("a", "b"):
        api("POST", "/Workers", {"name": name}, token=api.ada)
    for worker, pieces in ((1, 1), (1, 10), (1, 20), (2, 40)):
        sale = {"pieces": pieces, "workerId": worker, "shop": "x"}
        assert api("POST", "/Sales", sale, token=api.ada).status_code == 200
    total = {"aggregate": {"total": {"sum": "pieces"}}}

    assert ask(api, api.ada, "/Workers/1/sales/aggregate", **total).json == [{"total": 31}]
    assert ask(api, api.ada, "/Workers/1/big/aggregate", **total).json == [{"total": 30}]
    assert ask(api, api.ada, "/Workers/9/sales/aggregate", **total).status_code == 404
    hidden = ask(api, api.ada, "/Workers/1/big/aggregate", groupBy="shop")
    assert hidden.status_code == 400
    assert "there is no property 'shop'; there are id, pieces." in hidden.json["message"]


@pytest.mark.parametrize(
    ("of_workers", "of_sales", "status"),
    [
        ([], [], 200),
        ([rule("$everyone", "DENY", property="__get__sales")], [], 403),
        ([rule("$everyone", "DENY", property="__aggregate__sales")], [], 403),
        ([], [rule("$everyone", "DENY", property="find")], 403),
        ([], [rule("$everyone", "DENY", property="aggregate")], 403),
    ],
)
def test_the_rules_of_both_sides_of_a_relation_apply(serve_sales, of_workers, of_sales, status):
    worker = {**WORKERS["worker"], "acls": [*OPEN, *of_workers]}
    api = serve_sales(
        others={"worker": worker},
        properties={**SALE["properties"], "workerId": "number"},
        acls=[*OPEN, *of_sales],
    )
    api("POST", "/Workers", {"name": "a"}, token=api.ada)

    answer = ask(api, api.ada, "/Workers/1/sales/aggregate", aggregate=N)

    assert answer.status_code == status


def test_personal_tokens_need_a_scope_for_aggregates_and_for_lists(serve_sales):
    api = serve_sales(more={"PERSONAL_TOKENS": {}, "EMAIL_VERIFICATION": None})
    values = {}
    for scopes in (["*"], ["READ"], ["aggregate"], ["find"], ["aggregate", "find"]):
        body = {"name": "x", "scopes": {"Sales": scopes}}
        answer = api("POST", "/users/1/personalTokens", body, token=api.ada)
        assert answer.status_code == 200, answer.json
        values[tuple(scopes)] = answer.json["token"]

    statuses = {
        scopes: ask(api, value, aggregate=N).status_code for scopes, value in values.items()
    }

    assert statuses == {
        ("*",): 200,
        ("READ",): 200,
        ("aggregate",): 403,
        ("find",): 403,
        ("aggregate", "find"): 200,
    }


OWN = """
from ostiary.rules import READ


def extend(sales):
    @sales.endpoint("{method}", READ, "GET /{path}", answer={{}})
    def own():
        return {{"own": True}}
"""


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        # Rules that name the method are about the own one.
        ("aggregate", "aggregate", 404),
        ("aggregate", "totals", 404),
        ("totals", "aggregate", 200),
    ],
)
def test_an_own_endpoint_replaces_aggregates(serve_sales, method, path, status):
    api = serve_sales(
        others=WORKERS,
        more={"code": {"sale": OWN.format(method=method, path=path)}},
        properties={**SALE["properties"], "workerId": "number"},
    )
    api("POST", "/Workers", {"name": "a"}, token=api.ada)

    assert api("GET", f"/Sales/{path}", token=api.ada).json == {"own": True}
    assert ask(api, api.ada, "/Workers/1/sales/aggregate", aggregate=N).status_code == status
    paths = api("GET", "/openapi.json").json["paths"]
    assert paths[f"/sales/{path}"]["get"]["operationId"] == f"Sales.{method}"


LOADED = """
def extend(sales):
    @sales.loaded.connect
    def hide(resource, event):
        event.values.pop("price")
"""


def test_values_that_a_receiver_of_loaded_may_hide_are_not_aggregated(serve_sales):
    api = serve_sales(more={"code": {"sale": LOADED}})

    refused = ask(api, api.ada, aggregate={"total": {"sum": "price"}})

    assert refused.status_code == 400
    assert "only rows are counted" in refused.json["message"]
    assert ask(api, api.ada, groupBy="price").status_code == 400
    schemas = api("GET", "/openapi.json").json["components"]["schemas"]
    functions = schemas["SaleAggregate"]["properties"]["aggregate"]["additionalProperties"]
    assert functions["properties"] == {"count": {"enum": ["*"]}}
    assert ask(api, api.ada, aggregate=N).json == [{"rows": 0}]


def test_aggregates_that_are_switched_on_by_name_have_the_stored_values(serve_sales):
    api = serve_sales(
        more={"code": {"sale": LOADED}},
        options={"remoting": {"sharedMethods": {"aggregate": True}}},
    )

    assert ask(api, api.ada, aggregate={"total": {"sum": "price"}}).json == [{"total": None}]


@pytest.mark.both_databases
def test_the_aggregates_of_the_document_have_the_printed_answers(serve):
    order, customer, customers, rows, *printed = map(
        json.loads, blocks("docs/aggregates.md", "json")
    )
    api = serve({"order": order, "customer": customer})
    token = api.logged_in()
    assert api("POST", "/Customers", customers, token=token).status_code == 200
    assert api("POST", "/Orders", rows, token=token).status_code == 200

    for given, expected in zip(printed[::2], printed[1::2], strict=True):
        assert ask(api, token, "/Orders/aggregate", **given).json == expected
