"""Whoever follows changes knows what `find` answers: random rules, callers, filters and writes.

Nobody gets a row that `find` would not have answered, nor the id of one that it never did.
"""

import json
import random
from functools import partial

import pytest

from app.access.roles import grant
from app.changes import hub

from .conftest import ALL
from .test_pages import begin, read
from .test_roles import MEMBER, ROLE
from .test_streams import fast, listen  # noqa: F401 fixtures

pytestmark = pytest.mark.both_databases
SEEDS = 1
WRITES = 12


def rule(role, **given):
    return {"principalType": "ROLE", "principalId": role, "permission": "ALLOW", **given}


READERS = {
    "public": [rule("$everyone", accessType="READ")],
    "users": [rule("$authenticated", accessType="READ")],
    "owners": [rule("$owner", accessType="READ")],
    "members": [rule("member", accessType="READ")],
    "members and owners": [rule("member", accessType="READ"), rule("$owner", accessType="READ")],
    "clerks and owners": [rule("clerk", accessType="READ"), rule("$owner", accessType="READ")],
    "no clerks": [rule("clerk", accessType="READ", permission="DENY"), rule("$everyone")],
}
PROPERTIES = {"title": "string", "status": "string", "count": "number", "day": "date"}
WHERES = [
    {},
    {"status": "a"},
    {"status": {"neq": "a"}},
    {"status": None},
    {"status": {"nin": ["a", "b"]}},
    {"title": {"like": "%1%"}},
    {"count": {"gt": 2}},
    {"count": {"between": [1, 3]}},
    {"day": {"lt": "2026-06-01T00:00:00.000Z"}},
    {"ownerId": 1},
    {"or": [{"status": "b"}, {"ownerId": 2}]},
    {"and": [{"count": {"lte": 3}}, {"or": [{"title": "1"}, {"siteId": {"neq": 1}}]}]},
]


def make_models(chance, readers):
    """Return models whose orders are read by some, and written by clerks."""
    kept = chance.sample([*PROPERTIES], chance.randrange(5))
    order = {
        "name": "Order",
        "changes": {"keep": kept} if kept else True,
        "properties": {**PROPERTIES, "secret": "string"},
        "hidden": ["secret"],
        "relations": {
            "owner": {"type": "belongsTo", "model": "user", "foreignKey": "ownerId"},
            "site": {"type": "belongsTo", "model": "Site", "foreignKey": "siteId"},
        },
        "acls": [*READERS[readers], rule("writer")],
    }
    site = {"name": "Site", "properties": {"name": "string"}, "acls": ALL}
    return {"site": site, "member": MEMBER, "order": order}


class Reader:
    """A caller who follows the changes of the rows that a filter selects, by pages."""

    def __init__(self, shop, token, where, known):
        # `known` are the ids of the rows that the caller could find at some time.
        self.shop, self.token, self.where, self.known = shop, token, where, known
        self.query = f"&options={json.dumps({'Orders': {'where': where}})}"
        self.since = begin(shop, token=token)
        self.rows = {row["id"]: row for row in self.find(where)}

    def find(self, where):
        filter_ = json.dumps({"where": where})
        return self.shop("GET", f"/orders?filter={filter_}", token=self.token).json

    def look(self):
        """Note which rows the caller can find."""
        self.known |= {row["id"] for row in self.find({})}

    def follow(self):
        found = {row["id"]: row for row in self.find(self.where)}
        while True:
            page = read(self.shop, self.since, query=self.query, token=self.token)
            self.since = page["next"]
            assert "resync" not in page
            for change in page["changes"]:
                self.take(change, found)
            if not page["changes"]:
                return

    def take(self, change, found):
        if change["type"] == "remove":
            assert change["target"] in self.known
            self.rows.pop(change["target"], None)
        else:
            assert found is None or found[change["target"]] == change["data"]
            self.rows[change["target"]] = change["data"]

    def check(self):
        assert self.rows == {row["id"]: row for row in self.find(self.where)}


class Listener(Reader):
    """A caller who follows them by an event stream, to the end."""

    def __init__(self, shop, token, where, known, listen):  # noqa: F811
        super().__init__(shop, token, where, known)
        path = f"/orders/change-stream?options={json.dumps({'where': where})}"
        self.events = listen(shop, path, token=token)

    def follow(self):
        """Do nothing: the events wait."""

    def check(self):
        for _, change in self.events.take_all():
            self.take(change, None)
        super().check()


def values_of(chance):
    given = {
        "title": chance.choice("123"),
        "status": chance.choice(["a", "b", "c", None]),
        "count": chance.randrange(5),
        "day": chance.choice(["2026-01-01T00:00:00.000Z", "2026-12-01T00:00:00.000Z", None]),
        "ownerId": chance.choice([1, 2, None]),
        "siteId": chance.choice([1, 2, 3, None]),
        "secret": chance.choice("xy"),
    }
    names = chance.sample([*given], chance.randrange(1, len(given) + 1))
    return {name: given[name] for name in names}


def write(chance, shop, token):
    """Change some rows."""
    values, row = partial(values_of, chance), chance.randrange(1, 12)
    where = json.dumps(chance.choice(WHERES[1:]))
    batch = [{"method": "POST", "path": "/orders", "body": values()} for _ in range(3)]
    calls = [
        ("POST", "/orders", values()),
        ("POST", "/orders", values()),
        ("PATCH", f"/orders/{row}", values()),
        ("PATCH", f"/orders/{row}", values()),
        ("PUT", f"/orders/{row}", values()),
        ("DELETE", f"/orders/{row}", None),
        ("POST", f"/orders/update?where={where}", values()),
        ("POST", "/batch", {"requests": batch}),
        # Its orders are of no site any more.
        ("DELETE", f"/sites/{chance.randrange(1, 4)}", None),
    ]
    response = shop(*chance.choice(calls), token=token)
    assert response.status_code in {200, 404, 422}, response.json


def make_followers(chance, shop, tokens, listen):  # noqa: F811
    """Return followers for each caller who may read orders, two for each; refuse the others."""
    followers = []
    for token in tokens:
        status = shop("GET", "/orders", token=token).status_code
        if status == 200:
            known, (first, second) = set(), chance.sample(WHERES, 2)
            followers.append(Reader(shop, token, first, known))
            followers.append(Listener(shop, token, second, known, listen))
        else:
            path = "/changes?models=Orders"
            assert shop("GET", path, token=token).status_code == status
    return followers


@pytest.mark.parametrize("readers", READERS)
@pytest.mark.parametrize("seed", range(SEEDS))
def test_who_follows_changes_knows_what_find_answers(
    make_shop,
    api,
    listen,  # noqa: F811
    monkeypatch,
    seed,
    readers,
):
    monkeypatch.setattr(hub, "PING_INTERVAL", 0.03)
    chance = random.Random(f"{readers}{seed}")
    shop = make_shop(make_models(chance, readers), {"order": ROLE})
    other, clerk, writer = (api.logged_in(f"{name}@example.com") for name in ("bo", "cy", "di"))
    with shop.app.app_context():
        grant(3, "clerk")
        grant(4, "writer")
        # To whom it gives orders is checked.
        grant(4, "admin")
    for number in (1, 2, 3):
        shop("POST", "/sites", {"name": f"{number}"})
    for site, user in [(1, 1), (2, 2), (3, 1), (3, 2)]:
        shop("POST", "/members", {"siteId": site, "userId": user})
    for _ in range(5):
        write(chance, shop, writer)
    followers = make_followers(chance, shop, (None, shop.token, other, clerk), listen)

    for _ in range(WRITES):
        for follower in followers[::2]:
            follower.look()
        write(chance, shop, writer)
        chance.choice(followers).follow()

    for follower in followers:
        follower.look()
        follower.follow()
        follower.check()
