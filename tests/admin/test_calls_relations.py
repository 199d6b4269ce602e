"""Relations of a project's models, and LoopBack's endpoints of roles, are no way to an admin."""

import pytest
from sqlalchemy import update

from app.access.roles import role_names
from app.database.session import db
from app.users.models import user_model
from tests.definitions.conftest import make_models, serve, write_models  # noqa: F401 fixtures
from tests.definitions.library import rule
from tests.support.answers import refusal

from .conftest import As, has_role

TEAM = {
    "name": "Team",
    "properties": {"name": "string"},
    "relations": {"members": {"type": "hasMany", "model": "Account", "foreignKey": "teamId"}},
    "acls": [rule("$everyone")],
}
ACCOUNT = {
    "name": "Account",
    "base": "User",
    "plural": "users",
    "relations": {
        "team": {"type": "belongsTo", "model": "Team", "foreignKey": "teamId"},
        "notes": {"type": "hasMany", "model": "Note", "foreignKey": "accountId"},
    },
}
NOTE = {"name": "Note", "properties": {"text": "string"}, "acls": [rule("$everyone")]}
CONFIG = {
    "Role": {"dataSource": "db", "public": True},
    "RoleMapping": {"dataSource": "db", "public": True},
    **{name: {"dataSource": "db"} for name in ("Team", "Account", "Note")},
}
OPEN = [{"principalId": "$everyone", "permission": "ALLOW"}]


@pytest.fixture(params=["both", "parent"])
def people(request, serve):  # noqa: F811
    """What calls as an admin, the user 1, and as support, the user 3; all are in one team."""
    models = {"team": TEAM, "account": ACCOUNT, "note": NOTE}
    opened = dict.fromkeys(("users", "Roles", "RoleMappings"), OPEN)
    api = serve(models, CONFIG, ACLS=opened, RELATION_PERMISSIONS=request.param)
    names = ("ada", "bob", "sue")
    admin, _, helper = (As(api, api.logged_in(f"{name}@example.com")) for name in names)
    app = api.client.application
    has_role(app, 1, "admin")
    has_role(app, 2, "clerk")
    has_role(app, 3, "support")
    team = admin("POST", "/teams", {"name": "all"}).json
    with app.app_context():
        db.session.execute(update(user_model()).values(team_id=team["id"]))
        db.session.commit()
    return admin, helper, f"/teams/{team['id']}/members"


@pytest.mark.both_databases
def test_a_relation_that_leads_to_users_changes_no_admin(people):
    admin, helper, members = people

    assert {each["id"] for each in helper.get(members)} == {1, 2, 3}
    assert refusal(helper("PUT", f"{members}/1", {"username": "x"})) == (403, "ACCESS_DENIED")
    assert refusal(helper("DELETE", f"{members}/1")) == (403, "ACCESS_DENIED")
    assert helper("PUT", f"{members}/2", {"username": "x"}).status_code == 200
    # Of all members, the admin is left.
    assert admin.get("/admin/users/1")["username"] is None
    assert helper("DELETE", members).status_code in (200, 204, 405)
    assert admin.get("/users/1")["email"] == "ada@example.com"


def test_a_relation_of_users_changes_nothing_of_an_admin(people):
    admin, helper, _ = people
    note = admin("POST", "/users/1/notes", {"text": "mine"}).json

    assert refusal(helper("POST", "/users/1/notes", {"text": "x"}))[0] in (403, 404)
    assert refusal(helper("DELETE", "/users/1/notes"))[0] in (403, 404)
    assert refusal(helper("PUT", f"/users/1/notes/{note['id']}", {"text": "x"}))[0] in (403, 404)
    assert helper("POST", "/users/2/notes", {"text": "x"}).status_code == 200
    assert admin.get("/users/1/notes") == [note]


def test_endpoints_of_roles_give_nobody_a_role_that_the_caller_has_not(people):
    admin, helper, _ = people
    ids = {each["name"]: each["id"] for each in helper.get("/Roles")}

    for user_id, name in ((3, "clerk"), (2, "support"), (1, "support"), (3, "admin")):
        body = {"principalId": user_id, "roleId": ids[name]}
        refused = {"clerk": 403, "admin": 422}.get(name, 403 if user_id == 1 else 200)
        for path in ("/RoleMappings", f"/Roles/{ids[name]}/principals"):
            assert helper("POST", path, body).status_code == refused, (user_id, name, path)
    assert refusal(helper("DELETE", f"/RoleMappings/2.{ids['clerk']}")) == (403, "ACCESS_DENIED")
    path = f"/Roles/{ids['clerk']}/principals/2.{ids['clerk']}"
    assert refusal(helper("DELETE", path)) == (403, "ACCESS_DENIED")
    assert helper("DELETE", f"/RoleMappings/2.{ids['support']}").status_code == 200
    with admin.api.client.application.app_context():
        assert [role_names(user_id) for user_id in (1, 2, 3)] == [{"admin"}, {"clerk"}, {"support"}]
