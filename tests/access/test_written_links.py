"""A link by a permission for some rows leaves both sides within that permission."""

from dataclasses import replace

import pytest
from sqlalchemy import select

from app.access.rules import AUTHENTICATED, READ, allow
from app.database.session import db
from tests.support.answers import refusal
from tests.support.races import at_once

from .sites import COORDINATOR, Assignment, Site, Team

DENIED = (403, "ACCESS_DENIED")


def links(call):
    with call.app.app_context():
        chosen = select(Assignment.site_id, Assignment.team_id)
        return sorted(map(tuple, db.session.execute(chosen)))


@pytest.mark.both_databases
def test_a_link_leaves_the_rows_of_both_sides_as_the_caller_may_write_them(serve):
    call = serve()

    # A team at another site too would be hers no more.
    for verb, path in [("PUT", "/teams/1/sites/rel/2"), ("DELETE", "/teams/1/sites/rel/1")]:
        assert refusal(call(verb, path)) == DENIED, path
    assert refusal(call("DELETE", "/teams/1/sites")) == DENIED
    assert links(call) == [(1, 1)]
    assert call("PUT", "/teams/1/sites/rel/3").status_code == 204
    assert call("DELETE", "/teams/1/sites/rel/1").status_code == 204
    assert links(call) == [(3, 1)]


@pytest.mark.both_databases
def test_a_link_from_the_other_side_is_checked_alike(serve):
    # Who reads teams must coordinate all of their sites, too.
    call = serve(None, [allow(COORDINATOR)])

    assert refusal(call("PUT", "/sites/1/teams/rel/2")) == (404, "MODEL_NOT_FOUND")
    assert call("PUT", "/sites/3/teams/rel/1").status_code == 204
    assert links(call) == [(1, 1), (3, 1)]
    # Who sees a row by a link may end that.
    for site in (1, 3):
        assert call("DELETE", f"/sites/{site}/teams/rel/1").status_code == 204
    assert links(call) == []


def serve_staffed(serve):
    """Serve sites that everybody coordinates, as long as they have a team; teams are open."""
    staffed = select(Assignment.site_id).where(Assignment.site_id == Site.id).exists()

    def change(resource):
        if resource.name != "sites":
            return resource
        return replace(resource, roles={COORDINATOR: lambda _user_id: staffed})

    return serve(None, [allow(AUTHENTICATED)], change=change)


@pytest.mark.both_databases
def test_a_row_that_is_deleted_with_its_link_leaves_the_parent_as_the_caller_may_write_it(serve):
    call = serve_staffed(serve)

    assert refusal(call("DELETE", "/sites/1/teams/1")) == DENIED
    assert (call("GET", "/teams/count").json, links(call)) == ({"count": 2}, [(1, 1)])
    assert call("PUT", "/sites/1/teams/rel/2").status_code == 204
    assert call("DELETE", "/sites/1/teams/1").status_code == 204
    assert (call("GET", "/teams/count").json, links(call)) == ({"count": 1}, [(1, 2)])


@pytest.mark.both_databases
def test_a_row_that_is_created_with_its_link_is_checked_with_it(serve):
    call = serve(None, [allow(COORDINATOR)])

    created = call("POST", "/sites/1/teams", {"name": "n"})

    assert (created.status_code, created.json["name"]) == (200, "n")
    assert refusal(call("POST", "/teams", {"name": "n"})) == DENIED
    assert refusal(call("POST", "/sites/2/teams", {"name": "n"})) == (404, "MODEL_NOT_FOUND")
    assert links(call) == [(1, 1), (1, created.json["id"])]


@pytest.mark.both_databases
def test_a_target_that_a_link_would_hide_from_the_caller_is_not_linked(serve):
    loose = ~select(Assignment.team_id).where(Assignment.team_id == Team.id).exists()

    def change(resource):
        if resource.name != "teams":
            return resource
        roles = {"seer": lambda _user_id: loose}
        return replace(resource, rules=lambda _: [allow("seer", access=READ)], roles=roles)

    call = serve(change=change)

    assert refusal(call("PUT", "/sites/1/teams/rel/2")) == DENIED
    assert links(call) == [(1, 1)]


def delete_at_once(call, *paths):
    """Let Ada send these requests at the same time; return the answers."""
    headers = {"Authorization": call.tokens["ada"]}
    requests = [
        lambda client, path=path: client.delete(f"/api{path}", headers=headers) for path in paths
    ]
    return at_once(call.app, *requests)


@pytest.mark.both_databases
def test_concurrent_ends_of_links_leave_a_row_its_last_one(serve):
    call = serve()
    assert call("PUT", "/teams/1/sites/rel/3").status_code == 204

    answers = delete_at_once(call, "/teams/1/sites/rel/1", "/teams/1/sites/rel/3")

    assert sorted(answer.status_code for answer in answers) == [204, 403]
    assert len(links(call)) == 1


@pytest.mark.both_databases
def test_concurrent_deletions_of_rows_with_their_links_leave_the_parent_its_last_one(serve):
    call = serve_staffed(serve)
    assert call("PUT", "/sites/1/teams/rel/2").status_code == 204

    answers = delete_at_once(call, "/sites/1/teams/1", "/sites/1/teams/2")

    assert sorted(answer.status_code for answer in answers) == [204, 403]
    assert len(links(call)) == call("GET", "/teams/count").json["count"] == 1
