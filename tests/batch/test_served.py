"""Whether batches are served, and how large they may be."""

import logging

import pytest

from .conftest import SHOP, Caller, call

WIDE = {
    "name": "Wide",
    "plural": "wide",
    "properties": {f"p{number}": {"type": "number"} for number in range(20)},
    "acls": SHOP["order"]["acls"],
}


def test_without_the_setting_there_is_no_batch(make_app):
    app = make_app(BATCH_ENABLED=False)

    response = app.test_client().post("/api/batch", json={"requests": [call("GET", "/todos")]})

    assert response.status_code == 404
    assert "/batch" not in app.test_client().get("/api/openapi.json").json["paths"]


@pytest.mark.parametrize(
    "names", [{"name": "Batch", "plural": "batch"}, {"http": {"path": "Batch"}}]
)
def test_a_model_of_the_project_keeps_the_path_and_the_log_says_so(make_shop, caplog, names):
    with caplog.at_level(logging.WARNING):
        shop = make_shop(models={"order": SHOP["order"] | {"relations": {}} | names})

    made = shop("POST", "/batch", {"title": "Home"})

    assert (made.status_code, made.json["title"]) == (200, "Home")
    told = "batches are not served: the project has a model batch, or /api/batch"
    assert caplog.messages.count(told) == 1


def test_arrays_of_a_batch_create_no_more_rows_than_one_request(make_shop):
    shop = make_shop(models={"wide": WIDE})
    rows = [call("POST", "/wide", [{}] * 60)]

    fits, too_many = shop.batch(*rows * 2), shop.batch(*rows * 4)

    assert fits.status_code == 200
    assert too_many.json["error"]["code"] == "INVALID_BATCH"
    assert too_many.json["error"]["details"]["request"] >= 2
    assert shop.count("wide") == 120


def test_the_answers_of_a_batch_are_no_larger_than_that_of_one_request(make_shop):
    shop = make_shop()
    for _ in range(3):
        line = [{"sku": "lamp", "note": "x" * 9_000}] * 10
        assert shop("POST", "/lines", line).status_code == 200
    listed = call("GET", "/lines")

    fits, too_large = shop.batch(*[listed] * 5), shop.batch(*[listed] * 9)

    assert fits.status_code == 200
    assert (too_large.status_code, too_large.json["error"]["code"]) == (400, "INVALID_BATCH")


def test_the_answers_of_a_batch_have_a_bounded_number_of_objects(make_shop):
    shop = make_shop()
    for _ in range(5):
        lines = [{"sku": "{", "extra": {"a": {"b": '{"' * 20}}}] * 200
        assert shop("POST", "/lines", lines).status_code == 200
    listed, ids = call("GET", "/lines"), call("GET", '/lines?filter={"fields": ["id"]}')

    fits, too_many = shop.batch(*[ids] * 5), shop.batch(*[ids] * 6)

    assert fits.status_code == 200
    assert (too_many.status_code, too_many.json["error"]["code"]) == (400, "INVALID_BATCH")
    # Each has three, and a text that ends as one begins.
    assert shop.batch(listed).status_code == 200
    assert shop.batch(listed, listed).json["error"]["details"] == {"request": 1, "id": None}


def test_calls_are_answered_as_compatibility_says(make_app, token):
    todos = Caller(make_app(COMPATIBILITY="loopback3"), token)
    new = {"title": 1.5, "unknown": True}

    created = todos.batch(call("POST", "/todos", new, id="a"), call("GET", "/todos/{a.id}/exists"))
    denied = todos.batch(call("GET", "/todos/99"))

    assert [answer["status"] for answer in created.json["responses"]] == [200, 200]
    assert created.json["responses"][0]["body"]["title"] == "1.5"
    assert (denied.status_code, denied.json["error"]["details"]["request"]) == (401, 0)


def test_the_calls_that_a_model_has_switched_off_do_not_exist(make_shop):
    off = SHOP["order"] | {"options": {"remoting": {"sharedMethods": {"create": False}}}}
    shop = make_shop(models=SHOP | {"order": off})

    response = shop.batch(call("POST", "/orders", {"title": "x"}))

    assert response.status_code == 404
    assert "There is no method to handle POST /orders" in response.json["message"]
