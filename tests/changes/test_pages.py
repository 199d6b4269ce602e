"""Pages of changes: what a caller gets of them, compared with what the caller can find."""

import random

import pytest

from app.changes import log
from app.changes.cursors import write
from app.changes.log import Position, Snapshot, epoch
from app.rest.collection import get_resource

from .conftest import ALL, ORDER, OWNERS, SHOP

pytestmark = pytest.mark.both_databases
OWNED = {**SHOP, "order": {**ORDER, "acls": OWNERS}}


JSON = {"Accept": "application/json"}


def begin(caller, models="Orders", **options):
    return caller("GET", f"/changes?models={models}", headers=JSON, **options).json["next"]


def read(caller, since, models="Orders", query="", **options):
    response = caller(
        "GET", f"/changes?models={models}&since={since}{query}", headers=JSON, **options
    )
    assert response.status_code == 200, response.json
    return response.json


def types(page):
    return [(each["type"], each["target"]) for each in page["changes"]]


def test_a_page_has_the_rows_as_they_are_now_and_those_that_are_gone(shop):
    start = begin(shop, "Orders,Lines")
    for title in ("Home", "Work", "Gone"):
        shop("POST", "/orders", {"title": title, "secret": "x"})
    middle = read(shop, start, "Orders,Lines")
    shop("PATCH", "/orders/1", {"title": "Garden"})
    shop("DELETE", "/orders/3")
    shop("POST", "/lines", {"sku": "lamp", "orderId": 1})

    page = read(shop, middle["next"], "Orders,Lines")

    assert types(middle) == [("create", 1), ("create", 2), ("create", 3)]
    assert page["changes"][0] == {
        "model": "Orders",
        "target": 1,
        "where": {"id": 1},
        "data": shop("GET", "/orders/1").json,
        "type": "update",
    }
    assert "secret" not in page["changes"][0]["data"]
    assert page["changes"][1:] == [
        {"model": "Orders", "target": 3, "where": {"id": 3}, "type": "remove"},
        {
            "model": "Lines",
            "target": 1,
            "where": {"id": 1},
            "data": {"id": 1, "sku": "lamp", "orderId": 1},
            "type": "create",
        },
    ]
    assert read(shop, page["next"], "Orders,Lines")["changes"] == []


def test_rows_that_enter_and_leave_the_filter(shop):
    where = '&options={"Orders": {"where": {"status": "open"}}}'
    start = begin(shop)
    shop("POST", "/orders", {"status": "open"})
    shop("POST", "/orders", {"status": "done"})
    first = read(shop, start, query=where)
    shop("PATCH", "/orders/1", {"status": "done"})
    shop("PATCH", "/orders/2", {"title": "Never selected"})

    second = read(shop, first["next"], query=where)

    assert types(first) == [("create", 1)]
    assert types(second) == [("remove", 1)]


def test_a_row_that_changes_hands_is_removed_for_one_and_new_for_the_other(make_shop, api):
    shop = make_shop(OWNED)
    other = api.logged_in("grace@example.com")
    mine = shop("POST", "/orders", {"title": "Mine"}).json
    starts = begin(shop), begin(shop, token=other)
    with shop.app.app_context():
        orders = get_resource("Orders")
        orders.update([orders.model.id == mine["id"]], {"owner_id": 2})

    assert types(read(shop, starts[0])) == [("remove", 1)]
    assert types(read(shop, starts[1], token=other)) == [("update", 1)]


def test_a_row_that_was_sent_before_the_change_that_showed_it_is_removed(shop, monkeypatch):
    where = '&options={"Orders": {"where": {"status": "open"}}}'
    start = begin(shop)
    shop("POST", "/orders", {"status": "new"})
    with shop.app.app_context():
        early = log.snapshot()
    shop("PATCH", "/orders/1", {"status": "open"})
    with monkeypatch.context() as patched:
        patched.setattr(log, "snapshot", lambda: early)
        first = read(shop, start, query=where)
    shop("PATCH", "/orders/1", {"status": "done"})

    second = read(shop, first["next"], query=where)

    assert types(first) == [("create", 1)]
    assert types(second) == [("remove", 1)]


def test_a_row_of_others_is_never_seen(make_shop, api):
    shop = make_shop(OWNED)
    other = api.logged_in("grace@example.com")
    start = begin(shop, token=other)
    shop("POST", "/orders", {"title": "Mine"})
    middle = read(shop, start, token=other)
    shop("PATCH", "/orders/1", {"title": "Still mine"})
    later = read(shop, middle["next"], token=other)
    shop("DELETE", "/orders/1")

    assert middle["changes"] == later["changes"] == []
    assert read(shop, later["next"], token=other)["changes"] == []
    assert types(read(shop, later["next"])) == [("remove", 1)]


@pytest.mark.parametrize(
    ("query", "status", "code"),
    [
        ("", 400, "INVALID_CHANGE_STREAM"),
        ("models=Notes", 400, "INVALID_CHANGE_STREAM"),
        ("models=users", 400, "INVALID_CHANGE_STREAM"),
        ('models=Orders&options={"Lines": {}}', 400, "INVALID_CHANGE_STREAM"),
        ('models=Orders&options={"Orders": {"limit": 1}}', 400, "INVALID_FILTER"),
        ('models=Orders&options={"Orders": {"where": {"secret": "x"}}}', 400, "INVALID_FILTER"),
        ('models=Orders&options={"Orders": {"where": {"lines.sku": "x"}}}', 400, "INVALID_FILTER"),
        ('models=Orders&options={"Orders": 7}', 400, "INVALID_FILTER"),
    ],
)
def test_a_wrong_request_is_an_error(shop, query, status, code):
    response = shop("GET", f"/changes?{query}", headers=JSON)

    assert (response.status_code, response.json["error"]["code"]) == (status, code)


def test_a_caller_needs_the_permissions_of_both_methods(make_shop):
    only_find = [{**OWNERS[0], "property": ["find"]}, ALL[0] | {"property": ["createChangeStream"]}]
    shop = make_shop({**SHOP, "order": {**ORDER, "acls": only_find}})

    assert shop("GET", "/changes?models=Orders", headers=JSON).status_code == 200
    assert shop("GET", "/changes?models=Orders", token=None).status_code == 401


FORGED = ["x", "é", "a" * 9000, "AAAA", "Li4u", "LTEuLTEuLTEuLTE", "MS4yLjMuNC41LjYuNw"]


@pytest.mark.parametrize("cursor", FORGED)
def test_an_unknown_cursor_asks_for_a_resync_and_begins_now(shop, cursor):
    shop("POST", "/orders", {"title": "Home"})

    page = read(shop, cursor)

    assert (page["changes"], page["resync"]) == ([], True)
    assert "resync" not in read(shop, page["next"])


def test_a_forged_cursor_only_selects_a_position(make_shop, api):
    shop = make_shop(OWNED)
    other = api.logged_in("grace@example.com")
    shop("POST", "/orders", {"title": "Mine"})
    shop("DELETE", "/orders/1")
    big = 2**63 - 1
    with shop.app.app_context():
        name = epoch()
        positions = [
            Position(Snapshot(0)),
            Position(Snapshot(0), Snapshot(big, (3, 5)), 0),
            Position(Snapshot(big)),
            Position(Snapshot(5, (9, -4)), None, big),
        ]
        forged = [write(name, position) for position in positions]

    for cursor in forged:
        page = read(shop, cursor, token=other)
        assert page["changes"] == []


def test_cursors_of_another_epoch_and_old_ones_are_unknown(shop):
    start = begin(shop)
    shop.app.config["CHANGES_RETENTION"] = -10
    expired = read(shop, start)
    shop.app.config["CHANGES_RETENTION"] = 60
    assert "resync" not in read(shop, start)

    shop.app.test_cli_runner().invoke(args=["changes", "new-epoch"])

    assert expired["resync"] is read(shop, start)["resync"] is True


class Mirror:
    """What a client knows of the rows by the changes that it has read."""

    def __init__(self, caller, token, where):
        self.caller, self.token, self.where = caller, token, where
        self.query = f'&options={{"Orders": {{"where": {where}}}}}'
        self.since = begin(caller, token=token)
        self.rows = {row["id"]: row for row in self.find()}

    def find(self):
        return self.caller(
            "GET", f'/orders?filter={{"where": {self.where}}}', token=self.token
        ).json

    def follow(self):
        while True:
            page = read(self.caller, self.since, query=self.query, token=self.token)
            self.since = page["next"]
            for change in page["changes"]:
                if change["type"] == "remove":
                    self.rows.pop(change["target"], None)
                else:
                    self.rows[change["target"]] = change["data"]
            if not page["changes"]:
                return


@pytest.mark.parametrize("seed", range(3))
def test_following_changes_is_the_same_as_polling(make_shop, api, seed):
    chance = random.Random(seed)
    everyone = {"principalType": "ROLE", "principalId": "$everyone"}
    acls = chance.choice([ALL, OWNERS, [ALL[0], {**everyone, "permission": "DENY"}, *OWNERS]])
    shop = make_shop({**SHOP, "order": {**ORDER, "acls": acls}})
    callers = [shop.token, api.logged_in("grace@example.com")]
    wheres = ['{"status": "a"}', "{}", '{"or": [{"status": "b"}, {"ownerId": 1}]}']
    with shop.app.app_context():
        orders = get_resource("Orders")
    mirrors = [Mirror(shop, token, where) for token in callers for where in wheres]
    for _ in range(12):
        with shop.app.app_context():
            for _ in range(chance.randrange(1, 4)):
                values = {
                    "status": chance.choice(["a", "b", None]),
                    "owner_id": chance.choice([1, 2, None]),
                }
                row = orders.model.id == chance.randrange(1, 8)
                match chance.randrange(4):
                    case 0 | 1:
                        orders.insert([values])
                    case 2:
                        orders.update([row], values)
                    case 3:
                        orders.delete([row])
        for mirror in chance.sample(mirrors, 3):
            mirror.follow()
    for mirror in mirrors:
        mirror.follow()
        assert mirror.rows == {row["id"]: row for row in mirror.find()}
