"""One call of a batch may search: as long as a request may take, a batch may take, too."""

import pytest

from tests.definitions.library import OPEN

from .conftest import call

LIKE = '{"title": {"like": "a%"}}'
LINES_LIKE = '{"relation": "lines", "scope": {"where": {"sku": {"like": "a%"}}}}'
FIRST = call("POST", "/orders", {"title": "x"})
SEARCHES = [
    call("GET", f'/orders?filter={{"where": {LIKE}}}'),
    call("GET", "/orders?filter[where][title][like]=a%25"),
    call("GET", f'/orders/findOne?filter={{"where": {LIKE}}}'),
    call("GET", f"/orders/count?where={LIKE}"),
    call("GET", '/orders?filter={"where": {"address.city": "x"}}'),
    call("GET", '/orders?filter={"order": "address.city"}'),
    call("GET", '/orders?filter={"where": {"lines": {"some": {"sku": "a"}}}}'),
    call("GET", '/lines?filter={"order": "order.title"}'),
    call("GET", f'/orders?filter={{"include": {LINES_LIKE}}}'),
    call("GET", f'/orders/1?filter={{"include": {LINES_LIKE}}}'),
    call("GET", '/orders/1/lines?filter={"where": {"sku": {"like": "a%"}}}'),
    call("GET", '/orders/1/lines/count?where={"sku": {"like": "a%"}}'),
    call("GET", '/orders/aggregate?filter={"aggregate": {"n": {"count": "*"}}}'),
    call("POST", f"/orders/update?where={LIKE}", {"title": "b"}),
    call("POST", f"/orders/upsertWithWhere?where={LIKE}", {"title": "b"}),
]


@pytest.mark.parametrize("search", SEARCHES, ids=lambda search: search["path"])
def test_one_call_of_a_batch_may_search(shop, search):
    shop("POST", "/orders", {"title": "a"})

    allowed = shop.batch(search)
    # Also if the filter was parsed for an earlier request.
    refused = shop.batch(FIRST, search, {**search, "id": "again"})

    assert allowed.status_code == 200
    error = refused.json["error"]
    assert (refused.status_code, error["code"]) == (400, "INVALID_FILTER")
    assert error["details"] == {"request": 2, "id": "again"}
    assert shop.count("orders") == 1
    assert shop(search["method"], search["path"], search.get("body")).status_code == 200


def test_calls_with_plain_conditions_are_not_counted(shop):
    shop.batch(*[call("POST", "/stock", {"sku": f"s{n}", "left": 1}) for n in range(24)])
    taken = [
        call("POST", f'/stock/update?where={{"sku": "s{n}", "left": {{"gte": 1}}}}', {"left": 0})
        for n in range(24)
    ]
    reads = [
        call("GET", '/stock?filter={"order": "sku", "limit": 1}'),
        call("GET", "/stock/1"),
    ] * 12

    response = shop.batch(*taken, *reads, call("GET", '/stock/count?where={"sku": {"like": "s%"}}'))

    answers = [answer["body"] for answer in response.json["responses"]]
    assert answers[:24] == [{"count": 1}] * 24
    assert answers[-1] == {"count": 24}


def test_conditions_of_a_model_itself_are_not_counted(make_shop):
    order = {"name": "Order", "properties": {"title": "string", "address": "object"}}
    scope = {"where": {"address.city": "Berlin"}, "order": "address.city"}
    shop = make_shop(models={"order": {**order, "scope": scope, "acls": OPEN}})

    created = [call("POST", "/orders", {"title": "a", "address": {"city": "Berlin"}})] * 2
    response = shop.batch(*created, call("GET", "/orders/1"), call("GET", "/orders/2"))

    assert response.status_code == 200
