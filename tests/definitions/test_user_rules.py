"""The rules of models that extend User: LoopBack 3's built-in ones, then their own."""

import pytest

from tests.conftest import PASSWORD
from tests.support.answers import refusal

from .library import rule

ACCOUNT = {"name": "Account", "base": "User", "acls": [rule("$everyone")]}
MEMBER = {"name": "Member", "base": "Account", "acls": [rule("$everyone", property="*")]}
CLOSED = [
    ("GET", ""),
    ("GET", "/findOne"),
    ("GET", "/count"),
    ("GET", "/1"),
    ("HEAD", "/1"),
    ("GET", "/1/exists"),
    ("PATCH", "/1"),
    ("PUT", "/1"),
    ("DELETE", "/1"),
    ("PATCH", ""),
    ("POST", "/update?where={}"),
    ("POST", "/upsertWithWhere?where={}"),
    ("GET", "/1/todos"),
    ("GET", "/1/accessTokens"),
]


@pytest.mark.parametrize(
    ("models", "config", "path"),
    [
        ({"account": ACCOUNT}, None, "/accounts"),
        ({"account": ACCOUNT, "member": MEMBER}, None, "/members"),
        ({"user": {**ACCOUNT, "name": "User"}}, None, "/users"),
        ({"user": {**ACCOUNT, "name": "User", "base": "PersistedModel"}}, None, "/users"),
        ({"account": {**ACCOUNT, "defaultPermission": "ALLOW", "acls": []}}, None, "/accounts"),
    ],
)
def test_rules_for_everyone_open_no_users(serve, models, config, path):
    api = serve(models, config)
    person = {"email": "ada@example.com", "password": PASSWORD}

    assert api("POST", path, person).status_code == 200
    for verb, rest in CLOSED:
        assert api(verb, f"{path}{rest}", {} if verb != "GET" else None).status_code == 401, rest
    token = api("POST", f"{path}/login", person).json["id"]
    api.secrets.append(token)
    assert refusal(api("GET", path, token=token)) == (403, "ACCESS_DENIED")
    assert api("GET", f"{path}/1", token=token).status_code == 200
    assert api("POST", f"{path}/logout", token=token).status_code == 204


def test_more_specific_rules_open_what_they_name(serve):
    acls = [
        rule("$everyone", property="find"),
        rule("$everyone", "DENY", property="create"),
        rule("$authenticated", accessType="READ"),
    ]
    api = serve({"account": {**ACCOUNT, "acls": acls}})

    assert api("GET", "/accounts").json == []
    assert api("GET", "/accounts/count").status_code == 401
    assert api("POST", "/accounts", {}).status_code == 401
