"""Streams by dynamic roles: what the kept keys decide, and what they cannot decide."""

import random

import pytest

from .conftest import ALL
from .test_pages import Mirror, begin, read, types

pytestmark = pytest.mark.both_databases
SITE = {"name": "Site", "properties": {"name": "string"}, "acls": ALL}
MEMBER = {
    "name": "Member",
    "properties": {"siteId": "number", "userId": "number"},
    "acls": ALL,
}
MEMBERS_ONLY = [
    {"principalType": "ROLE", "principalId": "member", "permission": "ALLOW", "accessType": "READ"},
    {"principalType": "ROLE", "principalId": "$everyone", "permission": "ALLOW"}
    | {"accessType": "WRITE"},
]
ORDER = {
    "name": "Order",
    "changes": True,
    "properties": {"title": "string", "siteId": "number"},
    "acls": MEMBERS_ONLY,
}
MODELS = {"site": SITE, "member": MEMBER, "order": ORDER}
ROLE = """
from sqlalchemy import select
from ostiary.resources import get_resource


def extend(orders):
    def member(user_id):
        member = get_resource("Members").model
        sites = select(member.site_id).where(member.user_id == user_id)
        return orders.model.site_id.in_(sites)

    orders.roles["member"] = member
"""
# A role by another row of the same table.
SIBLING = """
from sqlalchemy import select


def extend(orders):
    def member(user_id):
        model = orders.model
        sites = select(model.site_id).where(model.title == str(user_id))
        return model.site_id.in_(sites)

    orders.roles["member"] = member
"""
# One in SQL, whose columns are not known.
IN_TEXT = """
from sqlalchemy import text


def extend(orders):
    orders.roles["member"] = lambda user_id: text("site_id = 1")
"""


def test_a_row_that_leaves_the_sites_of_a_member_is_removed(make_shop, api):
    shop = make_shop(MODELS, {"order": ROLE})
    other = api.logged_in("grace@example.com")
    shop("POST", "/members", {"siteId": 1, "userId": 1})
    shop("POST", "/members", {"siteId": 2, "userId": 2})
    starts = begin(shop), begin(shop, token=other)
    shop("POST", "/orders", {"title": "Home", "siteId": 1})
    mine, hers = read(shop, starts[0]), read(shop, starts[1], token=other)
    assert (types(mine), types(hers)) == ([("create", 1)], [])
    shop("POST", "/orders/update?where={}", {"siteId": 2})

    assert types(read(shop, mine["next"])) == [("remove", 1)]
    assert types(read(shop, hers["next"], token=other)) == [("update", 1)]


@pytest.mark.parametrize("role", [SIBLING, IN_TEXT])
def test_a_role_that_the_keys_cannot_decide_gets_a_resync(make_shop, role):
    shop = make_shop(MODELS, {"order": role})
    shop("POST", "/orders", {"title": "1", "siteId": 1})
    start = begin(shop)
    shop("POST", "/orders", {"title": "Home", "siteId": 1})
    seen = read(shop, start)
    shop("POST", '/orders/update?where={"title": "Home"}', {"siteId": 3})

    page = read(shop, seen["next"])

    assert types(seen) == [("create", 2)]
    assert (page["changes"], page["resync"]) == ([], ["Orders"])


def test_a_membership_that_ends_narrows_the_stream(make_shop):
    shop = make_shop(MODELS, {"order": ROLE})
    shop("POST", "/members", {"siteId": 1, "userId": 1})
    start = begin(shop)
    shop("DELETE", "/members/1")
    shop("POST", "/orders", {"title": "Home", "siteId": 1})

    assert read(shop, start)["changes"] == []


@pytest.mark.parametrize("seed", range(2))
def test_following_by_roles_is_the_same_as_polling(make_shop, api, seed):
    chance = random.Random(seed)
    shop = make_shop(MODELS, {"order": ROLE})
    tokens = [shop.token, api.logged_in("grace@example.com")]
    for site, user in [(1, 1), (2, 2), (3, 1), (3, 2)]:
        shop("POST", "/members", {"siteId": site, "userId": user})
    mirrors = [Mirror(shop, token, "{}") for token in tokens]
    for _ in range(25):
        site = {"siteId": chance.randrange(1, 5)}
        where = f'where={{"title": "{chance.randrange(6)}"}}'
        match chance.randrange(3):
            case 0:
                shop("POST", "/orders", {"title": f"{chance.randrange(6)}", **site})
            case 1:
                shop("POST", f"/orders/update?{where}", site)
            case 2:
                shop("DELETE", f"/orders?{where}")
        chance.choice(mirrors).follow()
    for mirror in mirrors:
        mirror.follow()
        assert mirror.rows == {row["id"]: row for row in mirror.find()}
        assert mirror.rows
