"""Aggregates by properties of related rows: the answers, bounds and permissions."""

from datetime import UTC, datetime

import pytest

from tests.support.answers import refusal
from tests.support.rows import make_admin, statements

from .library import OPEN, rule
from .sites import ask, belongs_to, has_many

N = {"n": {"count": "*"}}
REGION = {
    "name": "Region",
    "properties": {"name": "string"},
    "relations": {"land": belongs_to("Region", "landId")},
    "acls": OPEN,
}
SHOP = {
    "name": "Shop",
    "properties": {
        "name": {"type": "string", "length": 50},
        "opened": "date",
        "share": {"type": "decimal", "precision": 6, "scale": 2},
        "pin": "string",
        "debt": "number",
        "address": "object",
    },
    "hidden": ["pin"],
    "protected": ["debt", "secret"],
    "relations": {
        "region": belongs_to("Region", "regionId"),
        "secret": belongs_to("Region", "regionId"),
        "sales": has_many("Sale", "shopId"),
        "owner": belongs_to("user", "ownerId"),
    },
    "acls": [rule("$authenticated", property="create"), rule("$owner"), rule("admin")],
}
SALE = {
    "name": "Sale",
    "properties": {"pieces": "integer", "sold": "date", "at": "geopoint"},
    "relations": {
        "shop": belongs_to("Shop", "shopId"),
        "bare": belongs_to("Shop", "shopId", scope={"fields": ["id", "name"]}),
        "any": {"type": "belongsTo", "polymorphic": True},
    },
    "acls": OPEN,
}
SALES = (
    {"pieces": 1, "shopId": 1},
    {"pieces": 2, "shopId": 1},
    {"pieces": 10, "shopId": 2},
    {"pieces": 20, "shopId": 3},
    {"pieces": 40},
)


@pytest.fixture
def serve_shops(serve):
    """Return a function that serves sales of two shops of Ada's and one of Bob's."""

    def start(others=(), **options):
        models = {"region": REGION, "shop": SHOP, "sale": SALE}
        api = serve({**models, **dict(others)}, **options)
        api.ada, api.bob = api.logged_in(), api.logged_in("bob@example.com")
        root = api.logged_in("root@example.com")
        make_admin(api.client.application, 3)
        for token, path, values in (
            (api.ada, "/regions", {"name": "north"}),
            (api.ada, "/regions", {"name": "city", "landId": 1}),
            (api.ada, "/shops", shop("a", "2026-02-03T10:00:00Z", 2)),
            (api.ada, "/shops", shop("b", None, 1)),
            (api.bob, "/shops", shop("c", "2025-12-31T23:00:00Z", None)),
            *((root, "/sales", sale) for sale in SALES),
        ):
            response = api("POST", path, values, token=token)
            assert response.status_code == 200, response.json
        return api

    return start


def shop(name, opened, region):
    return {"name": name, "opened": opened, "share": "1.50", "regionId": region}


def aggregate(api, token, path="/sales/aggregate", **given):
    response = ask(api, path, token, filter={"aggregate": N, **given})
    assert response.status_code == 200, response.json
    return response.json


@pytest.mark.both_databases
def test_rows_are_grouped_by_a_property_of_a_relation_to_one(serve_shops):
    api = serve_shops()
    total = {"total": {"sum": "pieces"}}

    # Bob's shop is as if it did not exist.
    assert aggregate(api, api.ada, groupBy="shop.name", aggregate=total) == [
        {"shop.name": None, "total": 60},
        {"shop.name": "a", "total": 3},
        {"shop.name": "b", "total": 10},
    ]
    assert aggregate(api, api.bob, groupBy=["shop.name"]) == [
        {"shop.name": None, "n": 4},
        {"shop.name": "c", "n": 1},
    ]
    assert aggregate(api, api.bob, groupBy={"shop.opened": "year"}) == [
        {"shop.opened": None, "n": 4},
        {"shop.opened": "2025-01-01T00:00:00.000Z", "n": 1},
    ]
    groups = ["shop.share", {"shop.opened": "month"}]
    assert aggregate(api, api.ada, groupBy=groups, having={"n": {"gt": 1}}) == [
        {"shop.share": None, "shop.opened": None, "n": 2},
        {"shop.share": "1.50", "shop.opened": "2026-02-01T00:00:00.000Z", "n": 2},
    ]


@pytest.mark.both_databases
def test_groups_may_be_two_relations_away_and_are_named_in_the_order(serve_shops):
    api = serve_shops()

    found = aggregate(
        *(api, api.ada),
        groupBy=["shop.region.name"],
        order=["shop.region.name DESC", "n"],
        where={"shop": {"exists": True}},
    )

    assert found == [{"shop.region.name": "north", "n": 1}, {"shop.region.name": "city", "n": 2}]
    page = {"groupBy": "shop.name", "order": "shop.name DESC", "limit": 1, "skip": 1}
    assert aggregate(api, api.ada, **page) == [{"shop.name": "a", "n": 2}]


@pytest.mark.both_databases
def test_rows_of_a_relation_are_grouped_by_related_rows(serve_shops):
    api = serve_shops()

    # An empty realm is stored for null.
    groups = ["shop.owner.email", "shop.owner.realm"]
    by_owner = aggregate(api, api.ada, "/shops/1/sales/aggregate", groupBy=groups)

    assert by_owner == [{"shop.owner.email": "ada@example.com", "shop.owner.realm": None, "n": 2}]


REFUSED = [
    ("shop.pin", "groupBy.shop: there is no property 'pin'; there are"),
    ("shop.debt", "groupBy.shop: there is no property 'debt'; there are"),
    ("shop.secret.name", "groupBy.shop: there is no property 'secret.name'; there are"),
    ("shop.nothing", "groupBy.shop: there is no property 'nothing'; there are"),
    ("shop.", "groupBy.shop: there is no property ''; there are"),
    ("shop", "groupBy: there is no property 'shop'; there are"),
    ("nothing.name", "groupBy: there is no property 'nothing.name'; there are"),
    ("bare.share", "groupBy.bare: there is no property 'share'; there are id, name."),
    ("shop.address", "groupBy: shop.address cannot be grouped by."),
    ("shop.address.city", "groupBy.shop: 'address.city' is a path, and its values have no"),
    ("shop.sales.pieces", "groupBy.shop: sales leads to many rows, which have no single"),
    ("shop.region.land.name", "groupBy.shop.region: shop.region.land: conditions, orders and"),
    ("any.name", "groupBy: any leads to rows of several models"),
    ({"shop.name": "day"}, "groupBy.shop.name is no time"),
    ({"shop.opened": "minute"}, "groupBy.shop.opened must be one of year, month"),
    (["shop.name", "shop.name"], "'shop.name' would be twice"),
    (
        ["shop.name", "shop.share", "shop.opened", "bare.name", "bare.id"],
        "The conditions, orders and groups of a filter have at most 4 relations",
    ),
]


def test_groups_that_are_not_possible_are_refused_with_the_reason(serve_shops):
    api = serve_shops()

    for given, message in REFUSED:
        refused = ask(api, "/sales/aggregate", api.ada, filter={"groupBy": given})
        assert refusal(refused) == (400, "INVALID_FILTER"), given
        assert refused.json["message"].startswith(message)


def test_relations_of_where_and_groups_are_counted_together(serve_shops):
    api = serve_shops()
    where = {"shop": {"region": {"name": "city"}}}

    assert aggregate(api, api.ada, where=where, groupBy="shop.region.name") == [
        {"shop.region.name": "city", "n": 2}
    ]
    groups = ["shop.region.name", "shop.name"]
    refused = ask(api, "/sales/aggregate", api.ada, filter={"where": where, "groupBy": groups})
    assert refusal(refused) == (400, "INVALID_FILTER")
    assert "at most 4 relations" in refused.json["message"]
    four = ["shop.name", "shop.share", "shop.opened", "shop.id"]
    assert len(aggregate(api, api.ada, groupBy=four, order=[f"{name} DESC" for name in four])) == 3


def test_who_may_not_read_related_rows_gets_the_error_of_an_include_before_any_sql(serve_shops):
    closed = {**SHOP, "acls": [rule("$authenticated", property="create"), rule("admin")]}
    api = serve_shops({"shop": closed})

    with statements(api.client.application) as sent:
        refused = ask(api, "/sales/aggregate", api.ada, filter={"groupBy": "shop.name"})
    included = ask(api, "/sales", api.ada, filter={"include": "shop"})

    assert refusal(refused) == refusal(included) == (403, "ACCESS_DENIED")
    assert refused.json["error"]["details"] == {"relation": "shop"}
    assert not [statement for statement in sent if "sale" in statement]
    # As does a group without a row, and one whose where selects none.
    none = {"where": {"id": 0}, "groupBy": ["shop.name"]}
    assert ask(api, "/sales/aggregate", api.ada, filter=none).status_code == 403


def test_a_personal_token_needs_a_scope_for_related_groups(serve_shops):
    api = serve_shops(PERSONAL_TOKENS={}, EMAIL_VERIFICATION=None)
    body = {"name": "x", "scopes": {"Sale": ["READ"]}}
    personal = api("POST", "/users/1/personalTokens", body, token=api.ada).json["token"]

    refused = ask(api, "/sales/aggregate", personal, filter={"groupBy": "shop.name"})

    assert aggregate(api, personal) == [{"n": 5}]
    assert refusal(refused) == (403, "INSUFFICIENT_SCOPE")


@pytest.mark.both_databases
def test_a_row_that_the_caller_may_not_read_changes_neither_groups_nor_statements(serve_shops):
    api = serve_shops()
    filters = [
        {"groupBy": ["shop.name", "shop.region.name"], "aggregate": N},
        {"groupBy": {"shop.opened": "week"}, "aggregate": N, "order": "shop.opened DESC"},
    ]

    def answers():
        with statements(api.client.application) as sent:
            found = [ask(api, "/sales/aggregate", api.ada, filter=each).data for each in filters]
        return found, sent

    before = answers()
    change = {"name": "other", "opened": datetime.now(UTC).isoformat(), "regionId": 1}
    assert api("PATCH", "/shops/3", change, token=api.bob).status_code == 200
    assert answers() == before
    assert api("DELETE", "/shops/3", token=api.bob).status_code == 200
    assert answers() == before


LOADED = """
def extend(shops):
    @shops.loaded.connect
    def hide(resource, event):
        event.values.pop("name")
"""


def test_values_that_a_receiver_of_loaded_may_hide_are_no_related_groups(serve_shops):
    api = serve_shops(code={"shop": LOADED})

    refused = ask(api, "/sales/aggregate", api.ada, filter={"groupBy": "shop.name"})

    assert refusal(refused) == (400, "INVALID_FILTER")
    assert "groupBy.shop: what is shown of the values" in refused.json["message"]
    schemas = api("GET", "/openapi.json").json["components"]["schemas"]
    assert "shop.name" not in str(schemas["SaleAggregate"])


def test_the_document_describes_related_groups(serve_shops):
    api = serve_shops()

    schemas = api("GET", "/openapi.json").json["components"]["schemas"]
    [name, path, unit] = schemas["SaleAggregate"]["properties"]["groupBy"]["anyOf"][0]["anyOf"]

    assert {"pieces", "shop.name", "bare.name"} <= {*name["enum"]}
    assert not {"shop.pin", "shop.debt", "shop.address", "bare.share"} & {*name["enum"]}
    assert path["pattern"] == r"^(shop\.region\.|shop\.owner\.|bare\.region\.|bare\.owner\.)[^.]+$"
    assert unit["properties"]["shop.opened"] == {"enum": ["year", "month", "week", "day", "hour"]}
