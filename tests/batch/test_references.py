"""References whose value cannot be filled in, or could change more than its place."""

import pytest

from .conftest import call

HOME = {"title": "Home", "count": 2.5, "address": {"city": "Rome", "list": [1], "zip": None}}
FIRST = call("POST", "/orders", HOME, id="a")
LONG = "x" * 9_900


def refusal(response):
    error = response.json["error"]
    return response.status_code, error["code"], error["details"]["request"]


@pytest.mark.parametrize(
    "reference",
    [
        "a.nothing",
        # Hidden.
        "a.secret",
        "a.title.length",
        "a.address.nothing",
        "a.address.list.0",
        "a.__class__",
        # Answers that are no objects.
        "list.id",
        "list.0",
        "gone.id",
    ],
)
def test_a_property_that_is_missing_or_hidden_is_refused_and_nothing_is_stored(shop, reference):
    before = (
        FIRST,
        call("GET", "/orders", id="list"),
        call("DELETE", "/orders/{a.id}/lines", id="gone"),
    )
    body = {"sku": "lamp", "extra": {"x": {"$result": reference}}}

    in_body = shop.batch(*before, call("POST", "/lines", body))
    in_path = shop.batch(*before, call("GET", f"/orders/{{{reference}}}"))

    assert refusal(in_body) == refusal(in_path) == (400, "INVALID_BATCH", 3)
    assert shop.count("orders") == shop.count("lines") == 0


@pytest.mark.parametrize(
    "reference", ["a.count", "a.margin", "a.address", "a.address.list", "a.address.zip"]
)
def test_only_text_and_integers_are_filled_into_paths(shop, reference):
    response = shop.batch(FIRST, call("GET", f"/orders/{{{reference}}}"))

    assert refusal(response) == (400, "INVALID_BATCH", 1)


@pytest.mark.parametrize(
    "title",
    [
        "../orders",
        "..",
        "1/lines",
        "1%2Flines",
        "1?filter={}",
        "1#x",
        "count",
        "findOne",
        "\r\nX: y",
        "{a.id}",
        "%00",
        "batch",
        "é ü",
    ],
)
def test_a_value_is_one_segment_of_the_path_whatever_it_is(shop, title):
    response = shop.batch({**FIRST, "body": {"title": title}}, call("GET", "/orders/{a.title}"))

    assert refusal(response) == (404, "MODEL_NOT_FOUND", 1)
    assert f'"Order" id "{title}"' in response.json["message"]


def test_text_in_a_query_is_never_a_reference(shop):
    where = '/orders/count?where={"title": "{a.title}"}'

    response = shop.batch({**FIRST, "body": {"title": '"}, {"'}}, call("GET", where))

    assert response.json["responses"][1]["body"] == {"count": 0}


def test_a_value_that_looks_like_a_reference_is_stored_as_it_is(shop):
    address = {"inner": [{"$result": "b.id"}]}

    stored = shop("POST", "/orders", {"title": "x", "address": address}).json["id"]
    response = shop.batch(
        call("GET", f"/orders/{stored}", id="a"),
        call("POST", "/orders", {"title": "y", "address": {"$result": "a.address"}}),
    )

    assert response.json["responses"][1]["body"]["address"] == address


def test_references_stand_for_at_most_as_much_as_a_body_may_have(shop):
    line = call("POST", "/lines", {"sku": "lamp", "note": LONG}, id="a")
    copy = call("POST", "/lines", {"sku": "lamp", "note": {"$result": "a.note"}})

    fits = shop.batch(line, *[copy] * 9)
    many = shop.batch(line, *[copy] * 11)

    assert fits.status_code == 200, fits.json
    assert refusal(many) == (400, "INVALID_BATCH", 11)
    assert shop.count("lines") == 10


def test_properties_that_a_batch_may_not_set_are_not_set_by_references(shop):
    order = {**FIRST, "body": {"title": "x", "address": {"email": "new@example.com"}}}

    response = shop.batch(order, call("PATCH", "/users/1", {"$result": "a.address"}))

    assert refusal(response) == (400, "INVALID_BATCH", 1)
    assert shop("GET", "/users/1").json["email"] == "ada@example.com"
