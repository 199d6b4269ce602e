"""Roles in the database, the commands that manage them, and ACLS in the settings."""

import json

import pytest

from app.problems import ConfigurationError


@pytest.mark.both_databases
def test_granting_and_revoking_a_role_takes_effect_at_once(api, runner, token):
    before = api("GET", "/users", token=token).status_code
    granted = runner.invoke(args=["roles", "grant", "ada@example.com", "admin"])
    during = api("GET", "/users", token=token).status_code
    listed = runner.invoke(args=["roles", "list"])
    objects = runner.invoke(args=["roles", "list", "--json"])
    revoked = runner.invoke(args=["roles", "revoke", "ada@example.com", "admin"])
    after = api("GET", "/users", token=token).status_code

    assert [before, during, after] == [403, 200, 403]
    assert granted.output == "Granted admin to user 1.\n"
    assert listed.output.splitlines() == [
        "role   userId  email            realm",
        "admin  1       ada@example.com  -",
    ]
    holder = {"role": "admin", "userId": 1, "email": "ada@example.com", "realm": None}
    assert json.loads(objects.output) == [holder]
    assert revoked.stdout == "Revoked admin from user 1.\n"


def test_granting_twice_is_reported_and_revoking_a_missing_role_fails(runner, token):
    runner.invoke(args=["roles", "grant", "ada@example.com", "clerk"])
    again = runner.invoke(args=["roles", "grant", "ada@example.com", "clerk"])
    missing = runner.invoke(args=["roles", "revoke", "ada@example.com", "admin"])
    nobody = runner.invoke(args=["roles", "grant", "nobody@example.com", "admin"])

    assert again.stdout == "User 1 has clerk already.\n"
    assert (missing.exit_code, nobody.exit_code) == (1, 1)
    assert "There is no user nobody@example.com." in nobody.output


@pytest.mark.parametrize("role", ["$owner", "$everyone", "$anything"])
def test_a_role_that_is_computed_is_not_granted(runner, token, role):
    result = runner.invoke(args=["roles", "grant", "ada@example.com", role])

    assert (result.exit_code, result.output.count("\n")) == (1, 1)
    assert f"{role} cannot be granted: it is computed for each request." in result.output


def test_a_role_of_the_settings_is_granted_without_a_warning(make_app, token):
    rules = [{"principalId": "clerk", "permission": "ALLOW"}]
    runner = make_app(ACLS={"todos": rules}).test_cli_runner()

    known = runner.invoke(args=["roles", "grant", "ada@example.com", "clerk"])
    unknown = runner.invoke(args=["roles", "grant", "ada@example.com", "boss"])

    assert (known.stderr, known.stdout) == ("", "Granted clerk to user 1.\n")
    assert unknown.stderr == "Warning: no rule mentions the role boss.\n"
    assert (unknown.exit_code, unknown.stdout) == (0, "Granted boss to user 1.\n")


def test_a_user_can_be_created_with_a_role(api, runner, secrets):
    secrets.append("an operator's choice")
    runner.invoke(
        args=["users", "create", "root@example.com", "--role", "admin", "--password-stdin"],
        input="an operator's choice\n",
    )

    token = api.login("root@example.com", password="an operator's choice")["id"]

    assert api("GET", "/users/count", token=token).json == {"count": 1}


def test_deleting_a_user_deletes_the_role_assignments(api, runner, token):
    runner.invoke(args=["roles", "grant", "ada@example.com", "admin"])
    runner.invoke(args=["users", "delete", "ada@example.com", "--yes"])

    assert runner.invoke(args=["roles", "list", "--json"]).output == "[]\n"


def test_acls_replace_the_rules_of_a_model(make_app, api, token):
    rules = [{"principalId": "$everyone", "permission": "ALLOW", "property": ["find", "count"]}]
    client = make_app(ACLS={"todos": rules}).test_client()
    api("POST", "/todos", {"title": "a"}, token=token)

    assert [todo["title"] for todo in client.get("/api/todos").json] == ["a"]
    assert client.get("/api/todos/1").status_code == 401
    assert client.post("/api/todos", json={"title": "b"}).status_code == 401


def test_acls_also_replace_what_endpoints_permit(make_app):
    rules = [{"principalId": "$everyone", "permission": "ALLOW", "property": "create"}]
    client = make_app(ACLS={"users": rules}).test_client()
    user = {"email": "ada@example.com", "password": "a quiet harbour"}

    assert client.post("/api/users", json=user).status_code == 200
    assert client.post("/api/users/login", json=user).status_code == 401


def test_an_acl_may_name_a_user_or_a_role(make_app, api, runner, token):
    other = api.logged_in("bob@example.com")
    runner.invoke(args=["roles", "grant", "bob@example.com", "clerk"])
    allowed = {"permission": "ALLOW", "accessType": "READ"}
    by_user = {"principalType": "USER", "principalId": 1, **allowed}
    by_role = {"principalType": "ROLE", "principalId": "clerk", **allowed}
    client = make_app(ACLS={"users": [by_user, by_role]}).test_client()

    for caller in (token, other):
        response = client.get("/api/users/count", headers={"Authorization": caller})

        assert response.json == {"count": 2}


@pytest.mark.parametrize("status", [401, 403, 404])
def test_the_status_of_a_refusal_is_a_setting(make_app, token, status):
    client = make_app(ACL_ERROR_STATUS=status).test_client()

    response = client.get("/api/users", headers={"Authorization": token})

    assert response.status_code == status


@pytest.mark.parametrize(
    "acls",
    [
        {"todos": [{"permission": "ALLOW"}]},
        {"todos": [{"principalId": "$owner", "permission": "ALLOW", "property": "findd"}]},
        {"todos": [{"principalType": "USER", "principalId": "x", "permission": "ALLOW"}]},
        {"users": [{"principalId": "$owner", "permission": "ALLOW", "property": "login"}]},
        {"users": [{"principalId": "$owner", "permission": "ALLOW", "property": "create"}]},
        {"todos": "everyone"},
        {"todo": []},
    ],
    ids=str,
)
def test_invalid_rules_stop_the_start(make_app, acls):
    with pytest.raises(ConfigurationError, match="ACLS"):
        make_app(ACLS=acls)
