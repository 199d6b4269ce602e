"""What ACLS opens to others lets nobody become an admin, or change one: every way in."""

import pytest

from app.access.roles import role_names
from tests.conftest import PASSWORD, Api
from tests.support.answers import refusal
from tests.support.second_factors import OPTIONAL

from .conftest import As, has_role, support

# Everything is open to support, and the rest to everybody.
EVERYBODY = {"principalId": "$everyone", "permission": "ALLOW"}
OPENED = {"admin": [support()], "users": [EVERYBODY]}


@pytest.fixture
def app(shared_app):
    return shared_app(ACLS=OPENED, PERSONAL_TOKENS={}, **OPTIONAL)


# Calls that change the user with an id, or end what it logs in by.
CHANGES = [
    ("PATCH", "/users/{}", {"username": "taken-over"}),
    ("PATCH", "/users/{}", {"email": "thief@example.com"}),
    ("PUT", "/users/{}", {"email": "thief@example.com"}),
    ("POST", "/users/{}/replace", {"email": "thief@example.com"}),
    ("DELETE", "/users/{}", None),
    ("PATCH", "/users", {"id": "{}", "username": "taken-over"}),
    ("PUT", "/users", {"id": "{}", "email": "thief@example.com"}),
    ("POST", "/users/{}/disable", None),
    ("POST", "/users/{}/enable", None),
    ("POST", "/users/{}/sendReset", None),
    ("POST", "/users/{}/markVerified", None),
    ("DELETE", "/users/{}/accessTokens", None),
    ("DELETE", "/users/{}/accessTokens/0123456789abcdef", None),
    ("DELETE", "/users/{}/factors", None),
    ("DELETE", "/users/{}/factors/1", {"code": "123456"}),
    ("POST", "/users/{}/factors/totp", {}),
    ("POST", "/users/{}/recoveryCodes", None),
    ("POST", "/users/{}/personalTokens", {"name": "x", "scopes": {"todos": ["*"]}}),
    ("DELETE", "/users/{}/personalTokens/0123456789abcdef", None),
]


@pytest.mark.parametrize(("method", "path", "body"), CHANGES)
def test_nobody_but_an_admin_changes_an_admin(admin, helper, method, path, body):
    before = admin.get("/admin/users/1")

    answer = helper(method, path.format(1), with_id(body, 1))

    assert refusal(answer) == (403, "ACCESS_DENIED")
    assert admin.get("/admin/users/1") == before


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [("POST", "/users/{}/todos", {"title": "x"}), ("DELETE", "/users/{}/todos", None)],
)
def test_nobody_but_an_admin_changes_what_belongs_to_an_admin(helper, method, path, body):
    assert refusal(helper(method, path.format(1), body)) == (404, "MODEL_NOT_FOUND")
    assert helper(method, path.format(2), body).status_code in (200, 204)


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("PATCH", "/users/{}", {"username": None}),
        ("POST", "/users/{}/disable", None),
        ("POST", "/users/{}/sendReset", None),
        ("DELETE", "/users/{}/accessTokens", None),
        ("DELETE", "/users/{}", None),
        ("PATCH", "/users", {"id": "{}", "username": None}),
    ],
)
def test_others_are_changed_by_those_who_may(helper, method, path, body):
    assert helper(method, path.format(2), with_id(body, 2)).status_code in (200, 204)
    own = helper(method, path.format(3), with_id(body, 3))
    assert own.status_code in (200, 204)


def with_id(body, user_id):
    return body and {name: user_id if value == "{}" else value for name, value in body.items()}


@pytest.mark.both_databases
def test_a_change_of_all_leaves_out_admins(admin, helper):
    where = {"where": '{"id":{"gt":0}}'}

    changed = helper("POST", "/users/update", {"username": None}, query_string=where)

    assert changed.json == {"count": 2}
    where = {"where": '{"email":"ada@example.com"}'}
    answer = helper("POST", "/users/upsertWithWhere", {"username": "x"}, query_string=where)
    assert answer.status_code == 422
    assert admin.get("/admin/users/1")["username"] is None


@pytest.mark.both_databases
def test_an_anonymous_client_whom_a_rule_lets_does_not_either(api, admin, user):
    assert api("PATCH", "/users/1", {"username": "x"}).status_code == 401
    assert api("DELETE", "/users/1").status_code == 401
    assert api("PATCH", "/users/2", {"username": "x"}).status_code == 200


@pytest.mark.both_databases
def test_an_admin_who_is_a_service_account_gets_no_token_of_others(api, app, admin, helper):
    robot = admin("POST", "/users/serviceAccounts", {"email": "robot@example.com"}).json
    body = {"name": "x", "scopes": {"users": ["*"]}}
    path = f"/users/{robot['id']}/personalTokens"

    before = helper("POST", path, body)
    api.secrets.append(before.json["token"])
    has_role(app, robot["id"], "admin")

    assert before.status_code == 200
    assert refusal(helper("POST", path, body)) == (403, "ACCESS_DENIED")


@pytest.mark.parametrize("role", ["admin", "clerk"])
def test_nobody_but_an_admin_grants_a_role_that_it_has_not(app, admin, helper, role):
    has_role(app, 2, "clerk")

    for user_id in (1, 2, 3):
        for method in ("PUT", "DELETE"):
            answer = helper(method, f"/admin/users/{user_id}/roles/{role}")
            assert refusal(answer) == (403, "ACCESS_DENIED")
    assert refusal(helper("DELETE", f"/admin/roles/{role}")) == (403, "ACCESS_DENIED")
    with app.app_context():
        assert [role_names(user_id) for user_id in (1, 2, 3)] == [{"admin"}, {"clerk"}, {"support"}]


@pytest.mark.both_databases
def test_somebody_grants_and_revokes_a_role_that_it_has_but_of_admins(app, admin, helper):
    assert helper("PUT", "/admin/users/2/roles/support").status_code == 204
    assert helper("DELETE", "/admin/users/2/roles/support").status_code == 204
    assert refusal(helper("PUT", "/admin/users/1/roles/support")) == (403, "ACCESS_DENIED")
    has_role(app, 1, "support")
    assert refusal(helper("DELETE", "/admin/users/1/roles/support")) == (403, "ACCESS_DENIED")
    assert refusal(helper("DELETE", "/admin/roles/support")) == (403, "ACCESS_DENIED")


def test_who_changes_itself_does_not_become_more(app, admin, helper):
    for body in ({"roles": ["admin"]}, {"disabled": None}, {"serviceAccount": True}):
        assert helper("PATCH", "/users/3", body).status_code == 422

    made = helper("POST", "/users", {"email": "x@example.com", "password": PASSWORD, "roles": []})
    assert made.status_code == 422
    assert helper("POST", "/admin/roles", {"name": "boss"}).status_code == 200
    assert refusal(helper("PUT", "/admin/users/3/roles/boss")) == (403, "ACCESS_DENIED")


@pytest.mark.both_databases
def test_a_user_who_became_an_admin_is_out_of_reach_at_once(app, admin, helper):
    assert helper("PATCH", "/users/2", {"username": "bob"}).status_code == 200
    has_role(app, 2, "admin")
    assert refusal(helper("PATCH", "/users/2", {"username": "x"})) == (403, "ACCESS_DENIED")


def test_reading_admins_is_as_the_rules_say(helper):
    assert helper.get("/admin/users/1")["email"] == "ada@example.com"
    assert helper.get("/users/1")["email"] == "ada@example.com"
    assert len(helper.get("/users/1/accessTokens")) == 1


def test_rules_open_single_methods_and_take_nothing_from_admins(make_app, secrets):
    app = make_app(ACLS={"admin": [support("findUsers", "state")]})
    api = Api(app.test_client(), secrets)
    admin, helper = (As(api, api.logged_in(f"{name}@example.com")) for name in ("ada", "sue"))
    has_role(app, 1, "admin")
    has_role(app, 2, "support")

    opened = helper.get("/admin/access")["methods"]["admin"]

    assert opened == ["access", "findUsers", "state"]
    assert helper("GET", "/admin/users").status_code == 200
    assert refusal(helper("GET", "/admin/users/1")) == (403, "ACCESS_DENIED")
    assert refusal(helper("GET", "/admin/settings")) == (403, "ACCESS_DENIED")
    assert admin("GET", "/admin/settings").status_code == 200


def test_a_rule_may_take_a_single_method_from_admins(make_app, secrets):
    deny = {"principalId": "admin", "permission": "DENY", "property": "callDataSource"}
    app = make_app(ACLS={"admin": [deny]})
    api = Api(app.test_client(), secrets)
    admin = As(api, api.logged_in("ada@example.com"))
    has_role(app, 1, "admin")

    assert refusal(admin("POST", "/admin/dataSources/geo/find", {})) == (403, "ACCESS_DENIED")
    assert admin("GET", "/admin/dataSources").status_code == 200
