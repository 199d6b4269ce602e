"""Rows that say who has a dynamic role for rows, theirs included: nobody gets it by a write."""

from dataclasses import replace

import pytest
from sqlalchemy import delete, exists, insert, select
from sqlalchemy.orm import aliased

from app.access.rules import AUTHENTICATED, READ, allow
from app.database.session import db
from app.rest.relations import has_many, has_many_through
from tests.support.answers import refusal

from .sites import (
    Badge,
    Membership,
    Site,
    is_member_of_site_of,
    memberships,
    resources,
)

pytestmark = pytest.mark.both_databases

DENIED = (403, "ACCESS_DENIED")
Other = aliased(Membership)


def by_alias(user_id):
    return exists().where(Other.site_id == Membership.site_id, Other.user_id == user_id)


def by_join(user_id):
    own = select(Site.id).join(Membership, Membership.site_id == Site.id)
    return Membership.site_id.in_(own.where(Membership.user_id == user_id).correlate(None))


def by_subquery(user_id):
    own = select(Membership.site_id, Site.name).where(
        Site.id == Membership.site_id, Membership.user_id == user_id
    )
    return Membership.site_id.in_(select(own.subquery().c.site_id))


def by_site(user_id):
    """Return a condition that reads the table two levels below."""
    own = select(Membership.site_id).where(Membership.user_id == user_id)
    return exists().where(Site.id == Membership.site_id, Site.id.in_(own))


ROLES = [is_member_of_site_of, by_alias, by_join, by_subquery, by_site]


@pytest.fixture
def serve(make_served, api, token):
    """Serve the members: Ada, who is 1, and Eve are members of the site 1, and Bob is of 2."""

    def serve(*resources):
        app = make_served(*resources)
        with app.app_context():
            db.session.execute(insert(Site), [{"name": name} for name in "ab"])
            users = {1: 1, 2: 2, 3: 1}
            rows = [{"site_id": site, "user_id": user} for user, site in users.items()]
            db.session.execute(insert(Membership), rows)
            db.session.commit()
        headers = {"Authorization": token}

        def call(verb, path, body=None):
            return app.test_client().open(f"/api{path}", method=verb, json=body, headers=headers)

        call.app = app
        return call

    return serve


def stored(call):
    with call.app.app_context():
        chosen = select(Membership.site_id, Membership.user_id).order_by(Membership.id)
        return [tuple(row) for row in db.session.execute(chosen)]


STORED = [(1, 1), (2, 2), (1, 3)]
# By which the caller would become a member of the site 2.
JOINING = [
    ("POST", "/memberships", {"siteId": 2, "userId": 1}),
    ("POST", "/memberships", [{"siteId": 1, "userId": 9}, {"siteId": 2, "userId": 1}]),
    ("PUT", "/memberships", {"siteId": 2, "userId": 1}),
    ("PATCH", "/memberships/1", {"siteId": 2}),
    ("PATCH", "/memberships/3", {"siteId": 2, "userId": 1}),
    ("PUT", "/memberships/1", {"siteId": 2, "userId": 1}),
    ("POST", '/memberships/update?where={"id":1}', {"siteId": 2}),
    ("POST", "/memberships/update?where={}", {"siteId": 2}),
]


@pytest.mark.parametrize("role", ROLES)
def test_nobody_becomes_a_member_by_the_row_that_says_so(serve, role):
    call = serve(resources()[0], memberships(role), *resources()[1:])

    for verb, path, body in JOINING:
        assert refusal(call(verb, path, body)) == DENIED, (verb, path)
        assert stored(call) == STORED, (verb, path)


@pytest.mark.parametrize("role", ROLES)
def test_members_write_what_is_of_their_site(serve, role):
    call = serve(resources()[0], memberships(role), *resources()[1:])

    for verb, path, body in [
        ("POST", "/memberships", [{"siteId": 1, "userId": 8}, {"siteId": 1, "userId": 9}]),
        ("PATCH", "/memberships/1", {"note": "x"}),
        ("PATCH", "/memberships/1", {"siteId": 1}),
        ("PUT", "/memberships/3", {"siteId": 1, "userId": 7}),
        ("POST", "/memberships/update?where={}", {"note": "y"}),
    ]:
        assert call(verb, path, body).status_code == 200, (verb, path)
    assert stored(call) == [(1, 1), (2, 2), (1, 7), (1, 8), (1, 9)]
    # Her own: afterwards she is none.
    assert refusal(call("PATCH", "/memberships/1", {"userId": 9})) == DENIED
    assert call("DELETE", "/memberships/1").status_code == 200
    assert refusal(call("POST", "/memberships", {"siteId": 1, "userId": 1})) == DENIED


def test_what_a_hook_proposes_is_checked_in_advance_too(serve):
    made = memberships()
    made.before_save.connect(lambda resource, event: event.values.update(site_id=2, user_id=1))
    call = serve(resources()[0], made, *resources()[1:])

    for verb, path, body in [
        ("POST", "/memberships", {"siteId": 1, "userId": 9}),
        ("PATCH", "/memberships/3", {"note": "x"}),
    ]:
        assert refusal(call(verb, path, body)) == DENIED, path
        assert stored(call) == STORED


def test_nor_by_a_row_that_is_created_with_a_link_to_another(serve):
    [sites, *others] = resources()
    badges = has_many_through("memberships", Badge, "site_id", "membership_id")
    sites = replace(sites, relations={"badges": badges}, rules=lambda _: [allow(AUTHENTICATED)])
    call = serve(sites, memberships(), *[each for each in others if each.name == "shifts"])

    joining = {"siteId": 2, "userId": 1}
    for body in (joining, [{"siteId": 1, "userId": 8}, joining]):
        assert refusal(call("POST", "/sites/1/badges", body)) == DENIED
        assert stored(call) == STORED
    assert call("POST", "/sites/1/badges", {"siteId": 1, "userId": 8}).status_code == 200
    assert call("GET", "/sites/1/badges/count").json == {"count": 1}


def test_a_relation_makes_nobody_a_member_either(serve):
    """Where the rules of members alone would permit it."""

    def site(user_id):
        own = select(Membership.site_id).where(Membership.user_id == user_id)
        return Site.id.in_(own)

    [sites, *others] = resources()
    sites = replace(
        sites,
        rules=lambda _: [allow("member"), allow(AUTHENTICATED, access=READ)],
        roles={"member": site},
        relations={"memberships": has_many("memberships", "site_id")},
    )
    others = [each for each in others if each.name == "shifts"]
    call = serve(sites, memberships(rules=[allow(AUTHENTICATED)]), *others)

    for verb, path, body in [
        ("PUT", "/sites/1/memberships/1", {"siteId": 2}),
        ("POST", "/sites/2/memberships", {"userId": 1}),
    ]:
        assert refusal(call(verb, path, body))[0] in (403, 404), path
        assert stored(call) == STORED
    assert call("POST", "/sites/1/memberships", {"userId": 9}).status_code == 200
    with call.app.app_context():
        db.session.execute(delete(Membership).where(Membership.user_id == 1))
        db.session.commit()
    assert refusal(call("POST", "/sites/1/memberships", {"userId": 1})) == (404, "MODEL_NOT_FOUND")
