"""Several calls in one transaction: their answers, and what each sees of those before it."""

import pytest

from .conftest import call

pytestmark = pytest.mark.both_databases


def test_calls_are_made_in_order_and_each_is_answered_as_if_it_were_sent_alone(todos):
    response = todos.batch(
        call("POST", "/todos", {"title": "Plan"}, id="plan"),
        call("PATCH", "/todos/{plan.id}", {"desc": "Soon"}),
        call("GET", "/todos/count"),
    )

    created, changed, counted = response.json["responses"]
    alone = todos("GET", f"/todos/{created['body']['id']}")
    assert response.status_code == 200
    assert (created["id"], created["status"], created["body"]["title"]) == ("plan", 200, "Plan")
    assert changed == {"id": None, "status": 200, "etag": alone.headers["ETag"], "body": alone.json}
    assert counted == {"id": None, "status": 200, "etag": None, "body": {"count": 1}}


def test_an_order_with_lines_and_a_conditional_change_of_the_stock_is_one_batch(shop):
    stored = shop("POST", "/stock", {"sku": "lamp", "left": 7})
    path = f"/stock/{stored.json['id']}"

    response = shop.batch(
        call("POST", "/orders", {"title": "Home"}, id="order"),
        call("POST", "/orders/{order.id}/lines", {"sku": "lamp"}),
        call("POST", "/Orders/{order.id}/lines", [{"sku": "bulb"}, {"sku": "cord"}]),
        call("PATCH", path, {"left": 6}, ifMatch=stored.headers["ETag"]),
        call("GET", '/orders/{order.id}/lines?filter={"order": "sku DESC", "fields": ["sku"]}'),
        call("DELETE", "/stock/{left.id}") | {"path": path},
    )

    order, line, lines, left, listed, deleted = response.json["responses"]
    assert response.status_code == 200, response.json
    assert line["body"]["orderId"] == order["body"]["id"]
    assert [each["orderId"] for each in lines["body"]] == [order["body"]["id"]] * 2
    assert left["body"]["left"] == 6
    assert left["etag"] != stored.headers["ETag"]
    assert listed["body"] == [{"sku": "lamp"}, {"sku": "cord"}, {"sku": "bulb"}]
    assert deleted["body"] == {"count": 1}
    assert (shop.count("orders"), shop.count("lines"), shop.count("stock")) == (1, 3, 0)


def test_a_body_refers_to_answers_at_any_depth_and_to_inner_properties(shop):
    home = {"title": "Home", "count": 2.5, "address": {"city": {"name": "Rome"}, "zip": None}}
    extra = {
        "list": [{"$result": "a.id"}, {"deep": {"$result": "a.address.city"}}],
        "name": {"$result": "a.address.city.name"},
        "nothing": {"$result": "a.address.zip"},
        "number": {"$result": "a.count"},
        "plain": {"$result": "text", "other": 1},
    }

    response = shop.batch(
        call("POST", "/orders", home, id="a"),
        call("POST", "/lines", {"sku": {"$result": "a.title"}, "extra": extra}),
        call("GET", "/orders/{a.id}/lines/count"),
    )

    order, line, counted = (each["body"] for each in response.json["responses"])
    assert line["sku"] == "Home"
    assert line["extra"] == {
        "list": [order["id"], {"deep": {"name": "Rome"}}],
        "name": "Rome",
        "nothing": None,
        "number": 2.5,
        "plain": {"$result": "text", "other": 1},
    }
    assert counted == {"count": 0}


def test_calls_without_content_answer_null(shop):
    order = shop("POST", "/orders", {"title": "Home"}).json["id"]
    line = shop("POST", f"/orders/{order}/lines", {"sku": "lamp"}).json["id"]

    response = shop.batch(call("DELETE", f"/orders/{order}/lines/{line}", id="gone"))

    answer = {"id": "gone", "status": 204, "etag": None, "body": None}
    assert response.json == {"responses": [answer]}


@pytest.mark.parametrize("path", ["/orders/{}", "/ORDERS/{}/", "//orders/{}", "/orders//{}"])
def test_paths_are_routed_as_those_of_requests(shop, path):
    order = shop("POST", "/orders", {"title": "Home"})
    alone = shop("GET", path.format(order.json["id"]))

    response = shop.batch(
        call("GET", f"/orders/{order.json['id']}", id="a"), call("GET", path.format("{a.id}"))
    )

    assert response.json["responses"][1]["body"] == alone.json == order.json
