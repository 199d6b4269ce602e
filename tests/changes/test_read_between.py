"""Clients that read rows while changes of them wait to be read, and clients of an old epoch."""

import json

import pytest

from app.changes import hub

from .conftest import ORDER, OWNERS, SHOP
from .test_pages import JSON, begin, read, types

pytestmark = pytest.mark.both_databases


def test_a_row_that_was_created_and_deleted_meanwhile_is_removed(shop):
    start = begin(shop)
    shop("POST", "/orders", {"title": "Home"})
    # A client may have found it now, before it reads the changes.
    shop("DELETE", "/orders/1")

    assert types(read(shop, start)) == [("remove", 1)]


def test_a_row_that_a_filter_selected_only_meanwhile_is_removed(shop):
    shop("POST", "/orders", {"title": "Home", "status": "new"})
    start = begin(shop)
    shop("PATCH", "/orders/1", {"status": "open"})
    shop("PATCH", "/orders/1", {"status": "done"})

    def seen(status):
        where = json.dumps({"Orders": {"where": {"status": status}}})
        return types(read(shop, start, query=f"&options={where}"))

    assert seen("open") == [("remove", 1)]
    assert seen("sent") == []


def test_others_are_not_told_of_a_row_that_they_could_not_see(make_shop, api):
    shop = make_shop({**SHOP, "order": {**ORDER, "acls": OWNERS}})
    token = api.logged_in("grace@example.com")
    start = begin(shop)
    shop("POST", "/orders", {"title": "Home"})
    shop("DELETE", "/orders/1")

    assert types(read(shop, start)) == [("remove", 1)]
    assert types(read(shop, start, token=token)) == []


def test_a_long_poll_ends_with_a_resync_once_the_epoch_ends(shop, monkeypatch):
    monkeypatch.setattr(hub, "LOOK_INTERVAL", 0.05)
    path = f"/changes?models=Orders&wait=20&since={begin(shop)}"
    response = shop("GET", path, headers=JSON, buffered=False)
    parts = iter(response.response)
    next(parts)

    shop.app.test_cli_runner().invoke(args=["changes", "new-epoch"])

    page = json.loads(b"".join(parts))
    assert (page["changes"], page["resync"]) == ([], True)
    assert "resync" not in read(shop, page["next"])


def test_a_long_poll_whose_token_ends_is_answered_by_an_empty_page(shop, monkeypatch):
    monkeypatch.setattr(hub, "LOOK_INTERVAL", 0.05)
    path = f"/changes?models=Orders&wait=20&since={begin(shop)}"
    response = shop("GET", path, headers=JSON, buffered=False)
    parts = iter(response.response)
    next(parts)

    assert shop("POST", "/users/logout").status_code == 204
    shop("POST", "/orders", {"title": "Home"}, token=None)

    assert json.loads(b"".join(parts))["changes"] == []
