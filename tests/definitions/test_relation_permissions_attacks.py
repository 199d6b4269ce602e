"""What DEFAULT_PERMISSION=allow and RELATION_PERMISSIONS=parent do not open."""

import json
from http import HTTPStatus

import pytest

from app.access.roles import grant
from tests.conftest import PASSWORD
from tests.support.answers import field_codes, refusal
from tests.support.throttles import counts

from .library import rule

TO_ANY = {"type": "belongsTo", "polymorphic": {"idType": "string"}}
MAPPINGS = {"through": "RoleMapping", "foreignKey": "principalId"}
MODELS = {
    "account": {
        "name": "Account",
        "base": "User",
        "plural": "users",
        "properties": {"pin": "string"},
        "hidden": ["pin"],
        "relations": {
            "roles": {"type": "hasMany", "model": "Role", **MAPPINGS},
            "mappings": {"type": "hasMany", "model": "RoleMapping", "foreignKey": "principalId"},
        },
        "acls": [rule("$owner")],
    },
    "board": {
        "name": "Board",
        "relations": {
            "subject": TO_ANY,
            "writer": {"type": "belongsTo", "model": "Account", "foreignKey": "writerId"},
            "members": {"type": "hasMany", "model": "Account", "through": "Membership"},
        },
    },
    "membership": {
        "name": "Membership",
        "relations": {
            "account": {"type": "belongsTo", "model": "Account"},
            "board": {"type": "belongsTo", "model": "Board"},
        },
    },
    "diary": {
        "name": "Diary",
        "relations": {
            "owner": {"type": "belongsTo", "model": "Account"},
            "stamps": {"type": "hasMany", "model": "Stamp", "polymorphic": "stampable"},
        },
        "acls": [
            *(rule("$everyone", "DENY"), rule("$owner")),
            rule("$authenticated", property="create"),
        ],
    },
    "stamp": {
        "name": "Stamp",
        "properties": {"stampableType": {"type": "string", "required": True}},
        "relations": {
            "stampable": {"type": "belongsTo", "polymorphic": True},
            "owner": {"type": "belongsTo", "model": "Account"},
        },
    },
}
CONFIG = {
    name: {"dataSource": "db", "public": True}
    for name in (
        *("Account", "Board", "Membership", "Diary", "Stamp"),
        *("Role", "RoleMapping", "AccessToken"),
    )
}
OTHER_TYPES = ("aCCOUNT", "User", "Role", "RoleMapping", "AccessToken", "todos", "Diary ")
DENIED = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND)


@pytest.fixture
def opened(serve):
    """Serve the models; return the client, and the tokens of an admin, Alice and Bob."""
    settings = {"DEFAULT_PERMISSION": "allow", "RELATION_PERMISSIONS": "parent"}
    api = serve(MODELS, CONFIG, **settings)
    tokens = [api.logged_in(f"{name}@example.com") for name in ("admin", "alice", "bob")]
    with api.client.application.app_context():
        grant(1, "admin")
        grant(2, "clerk")
    return api, *tokens


def test_rows_that_no_rule_opens_are_as_if_they_did_not_exist(opened):
    api, _, alice, bob = opened
    api("POST", "/diaries", {}, token=alice)
    api("POST", "/boards", {"writerId": 2}, token=alice)
    api("POST", "/boards/1/members", {"email": "eve@example.com", "password": "x" * 12}, alice)

    for token in (bob, None):
        for given in [
            *({"writerId": number} for number in (2, 99)),
            *({"subjectId": "1", "subjectType": kind} for kind in OTHER_TYPES),
            *({"subjectId": each, "subjectType": "Diary"} for each in ("1", "99")),
        ]:
            for verb, path in (("POST", "/boards"), ("POST", "/boards/update?where={}")):
                response = api(verb, path, given, token)
                assert response.status_code == HTTPStatus.UNPROCESSABLE_ENTITY, given
        for verb, path in [
            *(("GET", "/diaries/1"), ("HEAD", "/diaries/1"), ("GET", "/diaries/1/stamps")),
            *(("GET", "/users/2"), ("GET", "/users/2/roles"), ("GET", "/AccessTokens")),
            *(("PUT", "/boards/1/members/rel/2"), ("HEAD", "/boards/1/members/rel/2")),
            *(("GET", "/boards/1/members/2"), ("DELETE", "/boards/1/members/2")),
        ]:
            answers = [
                api(verb, each, {} if verb == "PUT" else None, token)
                for each in (path, path.replace("/2", "/99").replace("diaries/1", "diaries/99"))
            ]
            assert answers[0].status_code in DENIED, path
            assert answers[0].status_code == answers[1].status_code, path
        [board] = api("GET", '/boards?filter={"include":["writer","members"]}', token=token).json
        assert "writer" not in board
        assert not board["members"]
        for where in ({"writer.email": "a"}, {"members.pin": "1"}, {"members": {"pin": "1"}}):
            path = f"/boards/count?where={json.dumps(where)}"
            assert api("GET", path, token=token).status_code == HTTPStatus.BAD_REQUEST
        for where in ({"writer": {"exists": True}}, {"members": {"email": {"neq": "a"}}}):
            path = f"/boards/count?where={json.dumps(where)}"
            assert api("GET", path, token=token).json == {"count": 0}


@pytest.mark.parametrize("is_open", [True, False])
def test_users_are_created_by_a_relation_as_by_registration(serve, is_open):
    guests = {"type": "hasMany", "model": "Account", "foreignKey": "boardId"}
    board = {**MODELS["board"], "relations": {**MODELS["board"]["relations"], "guests": guests}}
    settings = {
        "DEFAULT_PERMISSION": "allow",
        "RELATION_PERMISSIONS": "parent",
        "REALM_REQUIRED": True,
        "EMAIL_VERIFICATION": "required",
        "REGISTRATION_OPEN": is_open,
        "THROTTLE_ENABLED": True,
    }
    api = serve({**MODELS, "board": board}, CONFIG, **settings)
    api("POST", "/boards", {})
    user = {"email": "eve@example.com", "password": PASSWORD, "realm": "a"}
    bad = [{"password": "short"}, {"realm": None}, {"email": "eve"}, {"emailVerified": True}]
    bad += [{"roles": ["admin"]}, {"id": 7}, {"verificationToken": "a"}, {"passwordHash": "a"}]

    for number, path in enumerate(("/users", "/boards/1/members", "/boards/1/guests")):
        refused = {api("POST", path, {**user, **body}).status_code for body in bad}
        new = {**user, "email": f"eve{number}@example.com"}
        created, login = api("POST", path, new), api("POST", "/users/login", new)
        assert refused == {422 if is_open else 401}, path
        assert created.status_code == (200 if is_open else 401), path
        code = "LOGIN_FAILED_EMAIL_NOT_VERIFIED" if is_open else "LOGIN_FAILED"
        assert refusal(login) == (401, code), path
    # Those who were created count as attempts of one client.
    assert counts(api.client.application).get("registration") == ([9] if is_open else None)


def test_nobody_becomes_admin_by_a_relation_or_another_form_of_id_type_or_name(opened):
    api, admin, _, bob = opened
    before = api("GET", "/RoleMappings", token=admin).json
    role_ids = (1, "1", " 1", "01", "1e0", 1.0, True, [1], {"neq": 2}, "admin", None)

    for path in ("/RoleMappings", "/Roles/1/principals"):
        for role_id in role_ids:
            body = {"roleId": role_id, "principalType": "USER", "principalId": 3}
            response = api("POST", path, body, admin)
            assert response.status_code == HTTPStatus.UNPROCESSABLE_ENTITY, body
            assert api("POST", path, body, bob).status_code in DENIED
        for kind in ("user", "ROLE", "Account", 1, None, ["USER"]):
            body = {"roleId": 1, "principalType": kind, "principalId": 3}
            assert "principalType" in field_codes(api("POST", path, body, admin))
    for token in (admin, bob):
        for verb, path, body in [
            *(("PUT", "/users/3/roles/rel/1", {}), ("POST", "/users/3/roles", {"name": "admin"})),
            *(("POST", "/users/3/mappings", {"roleId": 1}), ("PUT", "/users/3/roles/1", {})),
        ]:
            assert api(verb, path, body, token).status_code == HTTPStatus.NOT_FOUND
    after = api("GET", "/RoleMappings", token=admin).json
    assert [each for each in after if each["roleId"] == 1] == [
        each for each in before if each["roleId"] == 1
    ]
    for name in ("Admin", "admin ", "\uff41dmin"):
        role = api("POST", "/Roles", {"name": name}, admin).json
        api("POST", f"/Roles/{role['id']}/principals", {"principalId": 3}, admin)
    assert api("GET", "/Roles", token=bob).status_code == HTTPStatus.FORBIDDEN
    assert [user["id"] for user in api("GET", "/users", token=bob).json] == [3]
