"""LoopBack 3's endpoints of Role and RoleMapping, for admins, where they are public."""

import pytest
from openapi_spec_validator import validate
from sqlalchemy import select

from app.access.roles import grant
from app.audit.models import AuditRecord
from app.database.session import db
from tests.support.answers import field_codes, refusal

from .library import rule

MODELS = {"account": {"name": "Account", "base": "User", "plural": "users"}}
PUBLIC = {
    "Role": {"dataSource": "db", "public": True},
    "RoleMapping": {"dataSource": "db", "public": True, "acls": [rule("$everyone")]},
    "Account": {"dataSource": "db"},
}


@pytest.fixture
def people(serve):
    """Serve the endpoints; return the client, with what calls as an admin, and as somebody else."""
    api = serve(MODELS, PUBLIC, DEFAULT_PERMISSION="allow", RELATION_PERMISSIONS="parent")
    ada, bob = (api.logged_in(f"{name}@example.com") for name in ("ada", "bob"))
    with api.client.application.app_context():
        grant(1, "admin")
    return api, lambda *call: api(*call, token=ada), lambda *call: api(*call, token=bob)


def actions(api):
    with api.client.application.app_context():
        records = select(AuditRecord.action, AuditRecord.actor_id).order_by(AuditRecord.id)
        found = db.session.execute(records)
        return [tuple(each) for each in found if each.action.startswith("role")]


def test_an_admin_creates_a_role_grants_and_revokes_it(people):
    api, ada, _ = people

    clerk = ada("POST", "/Roles", {"name": "clerk"}).json
    assert clerk == {"id": clerk["id"], "name": "clerk"}
    mapping = {"principalType": "USER", "principalId": 2}
    made = ada("POST", f"/Roles/{clerk['id']}/principals", mapping).json
    assert made == {"id": f"2.{clerk['id']}", **mapping, "roleId": clerk["id"]}
    assert ada("POST", "/RoleMappings", {**mapping, "roleId": clerk["id"]}).json == made
    assert ada("GET", f"/Roles/{clerk['id']}/principals").json == [made]
    assert ada("GET", f"/RoleMappings/{made['id']}/role").json == clerk
    [listed] = ada("GET", '/Roles?filter={"where":{"name":"clerk"},"include":"principals"}').json
    assert listed == {**clerk, "principals": [made]}
    assert ada("GET", "/RoleMappings/count").json == {"count": 2}
    assert ada("GET", "/roles/findOne?filter[where][name]=clerk").json == clerk
    assert ada("DELETE", f"/RoleMappings/{made['id']}").json == {"count": 1}
    assert ada("GET", f"/Roles/{clerk['id']}/principals").json == []
    assert actions(api)[-2:] == [("role-granted", 1), ("role-revoked", 1)]
    again = ada("POST", f"/Roles/{clerk['id']}/principals", mapping).json
    path = f"/Roles/{clerk['id']}/principals/{again['id']}"
    assert ada("DELETE", path).status_code == 204
    validate(ada("GET", "/openapi.json").json)


def test_nobody_else_calls_them_whatever_the_rules_and_settings_say(people):
    api, ada, bob = people
    role = ada("GET", "/Roles").json[0]

    for verb, path, body in [
        ("GET", "/Roles", None),
        ("GET", f"/Roles/{role['id']}", None),
        ("GET", f"/Roles/{role['id']}/principals", None),
        ("POST", f"/Roles/{role['id']}/principals", {"principalId": 2}),
        ("POST", "/Roles", {"name": "clerk"}),
        ("GET", "/RoleMappings", None),
        ("POST", "/RoleMappings", {"principalId": 2, "roleId": role["id"]}),
        ("DELETE", f"/RoleMappings/1.{role['id']}", None),
    ]:
        assert refusal(bob(verb, path, body)) == (403, "ACCESS_DENIED"), (verb, path)
        assert refusal(api(verb, path, body))[0] == 401, (verb, path)


@pytest.mark.both_databases
def test_no_admin_is_made_or_unmade_and_nothing_is_renamed(people):
    _, ada, _ = people
    [admin] = ada("GET", "/Roles").json
    [mapping] = ada("GET", "/RoleMappings").json
    clerk = ada("POST", "/Roles", {"name": "clerk"}).json

    for path in ("/RoleMappings", f"/Roles/{admin['id']}/principals"):
        response = ada("POST", path, {"principalId": 2, "roleId": admin["id"]})
        assert field_codes(response) == {"roleId": ["invalid"]}, path
    for path in (f"/RoleMappings/{mapping['id']}", f"/Roles/{admin['id']}/principals/1.1"):
        assert ada("DELETE", path).status_code in (404, 422), path
    for verb, path in [
        *(("PATCH", f"/Roles/{clerk['id']}"), ("PUT", f"/Roles/{clerk['id']}")),
        *(("PUT", "/Roles"), ("PATCH", "/Roles"), ("POST", "/Roles/update?where={}")),
        *(("POST", f"/Roles/{clerk['id']}/replace"), ("POST", "/Roles/upsertWithWhere?where={}")),
        *(("DELETE", f"/Roles/{clerk['id']}"), ("PATCH", f"/RoleMappings/{mapping['id']}")),
        ("PUT", f"/Roles/{admin['id']}/principals/{mapping['id']}"),
        ("DELETE", f"/Roles/{admin['id']}/principals"),
    ]:
        body = None if verb == "DELETE" else {"name": "admin", "principalId": 2}
        assert refusal(ada(verb, path, body)) == (404, "NOT_FOUND"), (verb, path)
    assert ada("GET", "/RoleMappings").json == [mapping]
    assert field_codes(ada("POST", "/Roles", {"name": "clerk"})) == {"name": ["uniqueness"]}
    assert field_codes(ada("POST", "/Roles", {"name": "$owner"})) == {"name": ["invalid"]}
    unknown = {"principalId": 99, "roleId": clerk["id"]}
    assert field_codes(ada("POST", "/RoleMappings", unknown)) == {"principalId": ["invalid"]}
    other = {"principalType": "ROLE", "principalId": 2, "roleId": clerk["id"]}
    assert field_codes(ada("POST", "/RoleMappings", other)) == {"principalType": ["invalid"]}


@pytest.mark.parametrize("entry", [{"dataSource": "db"}, {"dataSource": "db", "public": False}])
def test_without_public_there_are_none(serve, entry):
    api = serve(MODELS, {**PUBLIC, "Role": entry, "RoleMapping": entry})

    for path in ("/Roles", "/RoleMappings", "/Roles/1/principals"):
        assert refusal(api("GET", path)) == (404, "NOT_FOUND"), path
