"""Relations to LoopBack 3's Role and RoleMapping: read, and never written."""

import pytest
from openapi_spec_validator import validate

from app.access.roles import grant
from tests.support.answers import refusal

from .library import rule

ROLES = {"type": "hasMany", "model": "Role", "foreignKey": "principalId", "through": "RoleMapping"}
MAPPINGS = {"type": "hasMany", "model": "RoleMapping", "foreignKey": "principalId"}
USER = {
    "name": "Account",
    "base": "User",
    "plural": "users",
    "relations": {"roles": ROLES, "roleMappings": MAPPINGS},
    "acls": [rule("$owner"), rule("$authenticated", property=["findById", "__get__roles"])],
}
INVITATION = {
    "name": "Invitation",
    "properties": {"email": "string"},
    "relations": {"role": {"type": "belongsTo", "model": "Role"}},
    "acls": [rule("$authenticated")],
}


@pytest.fixture
def world(serve):
    """Serve users with their roles; return a function that calls as Ada, and one as Bob."""
    api = serve({"account": USER, "invitation": INVITATION})
    ada, bob = (api.logged_in(f"{name}@example.com") for name in ("ada", "bob"))
    with api.client.application.app_context():
        grant(2, "clerk")
        grant(1, "clerk")
        grant(1, "editor")
    return lambda *call: api(*call, token=ada), lambda *call: api(*call, token=bob)


def test_users_read_their_roles_by_relations_and_includes(world):
    ada, bob = world

    roles = ada("GET", "/users/1/roles").json
    assert sorted(each["name"] for each in roles) == ["clerk", "editor"]
    assert ada("GET", f"/users/1/roles/{roles[0]['id']}").json == roles[0]
    assert ada("GET", "/users/1/roles/count").json == {"count": 2}
    assert ada("GET", '/users/1/roles?filter={"where":{"name":"editor"}}').json == [
        each for each in roles if each["name"] == "editor"
    ]
    included = ada("GET", "/users/1?filter[include]=roles&filter[include]=roleMappings").json
    assert included["roles"] == roles
    mappings = ada("GET", "/users/1/roleMappings").json
    assert included["roleMappings"] == mappings
    assert [(each["principalType"], each["principalId"]) for each in mappings] == [("USER", 1)] * 2
    assert {each["roleId"] for each in mappings} == {each["id"] for each in roles}
    assert ada("GET", f"/users/1/roleMappings/{mappings[1]['id']}").json == mappings[1]
    validate(ada("GET", "/openapi.json").json)
    # Whoever may see the roles of somebody by a rule of the application does, as in LoopBack 3.
    assert [each["name"] for each in bob("GET", "/users/1/roles").json] == ["clerk", "editor"]
    assert bob("GET", "/users/1/roleMappings").status_code == 403


def test_nobody_grants_or_revokes_a_role_by_a_relation(world):
    ada, bob = world
    [clerk] = bob("GET", "/users/2/roles").json
    editor = next(each for each in ada("GET", "/users/1/roles").json if each != clerk)
    mapping = bob("GET", "/users/2/roleMappings").json[0]["id"]

    for verb, path in [
        ("POST", "roles"),
        ("PUT", f"roles/{clerk['id']}"),
        ("DELETE", f"roles/{clerk['id']}"),
        ("PUT", f"roles/rel/{editor['id']}"),
        ("DELETE", f"roles/rel/{clerk['id']}"),
        ("POST", "roleMappings"),
        ("DELETE", "roleMappings"),
        ("PUT", f"roleMappings/{mapping}"),
        ("DELETE", f"roleMappings/{mapping}"),
    ]:
        body = None if verb == "DELETE" else {"name": "admin"}
        assert refusal(bob(verb, f"/users/2/{path}", body)) == (404, "NOT_FOUND"), (verb, path)
    assert bob("GET", "/users/2/roles").json == [clerk]
    for path in ("/roles", "/Role", "/role", "/RoleMappings", "/roleMapping"):
        assert bob("GET", path).status_code == 404


@pytest.mark.both_databases
def test_other_models_may_belong_to_a_role(world):
    ada, _ = world
    clerk = ada("GET", "/users/1/roles").json[0]

    made = ada("POST", "/invitations", {"email": "a@example.com", "roleId": clerk["id"]}).json

    assert ada("GET", "/invitations/1/role").json == clerk
    assert ada("GET", "/invitations?filter[include]=role").json == [{**made, "role": clerk}]
    assert ada("POST", "/invitations", {"roleId": 99}).status_code == 422


def test_a_role_that_is_declared_by_the_application_is_its_own(serve):
    role = {"name": "Role", "base": "PersistedModel", "properties": {"name": "string"}}
    relation = {"type": "hasMany", "model": "Rank"}
    rank = {"name": "Rank", "properties": {"name": "string"}, "acls": [rule("$everyone")]}
    account = {**USER, "relations": {"roles": relation}, "acls": [rule("$owner")]}
    api = serve({"role": role, "rank": rank, "account": account})
    token = api.logged_in()

    # A copy of LoopBack's own file stands for the built-in model; another model may be `roles`.
    assert api("GET", "/users/1/roles", token=token).json == []
    assert api("GET", "/roles").status_code == 404


@pytest.mark.both_databases
def test_a_row_may_belong_to_a_role_mapping(serve):
    relation = {"type": "belongsTo", "model": "RoleMapping", "foreignKey": "mappingId"}
    note = {"name": "Note", "relations": {"mapping": relation}, "acls": [rule("$authenticated")]}
    api = serve({"account": USER, "note": note})
    ada = api.logged_in("ada@example.com")
    with api.client.application.app_context():
        grant(1, "clerk")
    [mapping] = api("GET", "/users/1/roleMappings", token=ada).json

    created = api("POST", "/notes", {"mappingId": mapping["id"]}, token=ada)

    assert created.status_code == 200
    assert api("GET", "/notes/1/mapping", token=ada).json == mapping
    refused = api("POST", "/notes", {"mappingId": "1.99"}, token=ada)
    assert refused.status_code == 422
