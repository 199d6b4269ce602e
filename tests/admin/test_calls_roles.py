"""Roles: created, granted, listed with their members, revoked and deleted, with records."""

import json

import pytest
from sqlalchemy import select

from app.audit.models import AuditRecord
from app.database.session import db
from tests.support.answers import field_codes, refusal

from .conftest import has_role


def records(app):
    with app.app_context():
        columns = AuditRecord.action, AuditRecord.actor_id, AuditRecord.user_id, AuditRecord.details
        return [tuple(row) for row in db.session.execute(select(*columns).order_by(AuditRecord.id))]


def test_a_role_is_created_granted_revoked_and_deleted(app, admin, user):
    clerk = {"role": "clerk"}

    assert admin("POST", "/admin/roles", {"name": "clerk"}).json == {"name": "clerk", "members": 0}
    assert admin("PUT", "/admin/users/2/roles/clerk").status_code == 204
    assert admin("PUT", "/admin/users/2/roles/clerk").status_code == 204
    assert admin.get("/admin/users/2/roles") == [{"name": "clerk"}]
    assert admin.get("/admin/roles") == [
        {"name": "admin", "members": 1},
        {"name": "clerk", "members": 1},
    ]
    assert admin("DELETE", "/admin/users/2/roles/clerk").status_code == 204
    assert refusal(admin("DELETE", "/admin/users/2/roles/clerk")) == (404, "MODEL_NOT_FOUND")
    assert admin("DELETE", "/admin/roles/clerk").status_code == 204
    assert refusal(admin("DELETE", "/admin/roles/clerk")) == (404, "MODEL_NOT_FOUND")
    assert records(app) == [
        ("role-created", 1, None, clerk),
        ("role-granted", 1, 2, clerk),
        ("role-revoked", 1, 2, clerk),
        ("role-deleted", 1, None, {**clerk, "members": 0}),
    ]


@pytest.mark.both_databases
def test_a_granted_role_acts_at_once_and_a_deleted_one_too(admin, user):
    assert user("GET", "/admin/roles").status_code == 403
    assert admin("PUT", "/admin/users/2/roles/admin").status_code == 204
    assert user("GET", "/admin/roles").status_code == 200
    assert user("DELETE", "/admin/users/1/roles/admin").status_code == 204
    assert admin("GET", "/admin/roles").status_code == 403


@pytest.mark.both_databases
def test_deleting_a_role_takes_it_from_its_members(app, admin, user):
    has_role(app, 1, "clerk")
    has_role(app, 2, "clerk")

    assert admin("DELETE", "/admin/roles/clerk").status_code == 204

    assert admin.get("/admin/users/2/roles") == []
    assert records(app)[-1][3] == {"role": "clerk", "members": 2}


def test_the_role_of_admins_is_not_deleted(admin, user):
    assert field_codes(admin("DELETE", "/admin/roles/admin")) == {"name": ["invalid"]}
    assert admin.get("/admin/roles") == [{"name": "admin", "members": 1}]


def test_members_are_listed_in_pages(app, api, admin, user):
    for user_id in (1, 2):
        has_role(app, user_id, "a/b")

    path = "/admin/roles/a%2Fb/members"
    assert [each["id"] for each in admin.get(path)] == [1, 2]
    assert admin.get(f"{path}?limit=1&skip=1") == [
        {"id": 2, "email": "bob@example.com", "username": None, "realm": None}
    ]
    assert refusal(admin("GET", f"{path}?limit=-1")) == (400, "INVALID_FILTER")
    assert refusal(admin("GET", f"{path}?skip=x")) == (400, "INVALID_FILTER")
    assert refusal(admin("GET", "/admin/roles/gone/members")) == (404, "MODEL_NOT_FOUND")


def test_names_that_no_role_can_have_are_refused(admin, user):
    assert field_codes(admin("POST", "/admin/roles", {"name": "admin"})) == {"name": ["uniqueness"]}
    for name in ("$owner", " ", "a;b", "x" * 256):
        assert field_codes(admin("POST", "/admin/roles", {"name": name})) == {"name": ["invalid"]}
    assert field_codes(admin("POST", "/admin/roles", {})) == {"name": ["presence"]}
    assert field_codes(admin("PUT", "/admin/users/2/roles/$owner")) == {"role": ["invalid"]}
    assert refusal(admin("PUT", "/admin/users/99/roles/clerk")) == (404, "MODEL_NOT_FOUND")


def test_what_is_in_a_name_is_shown_as_it_is(admin, user):
    name = "<script>alert(1)</script>"

    assert admin("POST", "/admin/roles", {"name": name}).json["name"] == name
    assert json.dumps(name) in json.dumps(admin.get("/admin/roles"))
