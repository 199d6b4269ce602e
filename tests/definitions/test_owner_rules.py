"""Rules for $owner permit own rows that exist, and no row that does not."""

import pytest

from app.problems import ConfigurationError
from tests.support.answers import field_codes, refusal

from .library import rule

NOTE = {
    "name": "Note",
    "properties": {"text": "string"},
    "relations": {"owner": {"type": "belongsTo", "model": "Account", "foreignKey": "ownerId"}},
    "acls": [rule("$everyone", "DENY"), rule("$owner")],
}
ACCOUNT = {
    "name": "Account",
    "plural": "users",
    "base": "User",
    "relations": {"notes": {"type": "hasMany", "model": "Note", "foreignKey": "ownerId"}},
    "acls": [rule("$owner", property=["__create__notes", "__get__notes"])],
}
CREATING = [
    ("POST", "/notes", {"text": "a"}),
    ("POST", "/notes", [{"text": "a"}]),
    ("PATCH", "/notes", {"text": "a"}),
    ("PUT", "/notes", {"text": "a"}),
    ("POST", "/notes/replaceOrCreate", {"text": "a"}),
    ("POST", "/notes/upsertWithWhere?where={}", {"text": "a"}),
]


def test_a_rule_for_the_owner_creates_no_row_but_through_a_relation(serve):
    api = serve({"note": NOTE, "account": ACCOUNT})
    ada, bob = api.logged_in(), api.logged_in("bob@example.com")

    for verb, path, body in CREATING:
        assert refusal(api(verb, path, body)) == (401, "AUTHORIZATION_REQUIRED"), path
        assert refusal(api(verb, path, body, token=ada)) == (403, "ACCESS_DENIED"), path
    assert api("GET", "/notes", token=ada).json == []
    created = api("POST", "/users/1/notes", {"text": "a"}, token=ada).json
    assert created == {"id": 1, "text": "a", "ownerId": 1}
    assert api("POST", "/users/1/notes", {"text": "b"}, token=bob).status_code == 403
    assert api("GET", "/users/1/notes", token=ada).json == [created]


def test_a_rule_for_the_owner_changes_own_rows_by_every_call(serve):
    api = serve({"note": NOTE, "account": ACCOUNT})
    ada, bob = api.logged_in(), api.logged_in("bob@example.com")
    for user, token in ((1, ada), (2, bob)):
        api("POST", f"/users/{user}/notes", {"text": "a"}, token=token)

    for verb, path, body in CREATING[2:5]:
        changed = api(verb, path, {**body, "id": 1}, token=ada)
        assert changed.json == {"id": 1, "text": "a", "ownerId": 1}, path
        for unseen in (2, 99):
            answer = api(verb, path, {**body, "id": unseen}, token=ada)
            assert refusal(answer) == (404, "MODEL_NOT_FOUND"), path
    where = '/notes/upsertWithWhere?where={"text":"a"}'
    assert api("POST", where, {"text": "b"}, token=ada).json["id"] == 1
    assert refusal(api("POST", where, {"text": "b"}, token=ada)) == (403, "ACCESS_DENIED")
    assert api("GET", "/notes", token=bob).json == [{"id": 2, "text": "a", "ownerId": 2}]


GIVABLE = {
    **NOTE,
    "acls": [rule("$authenticated", property="create"), rule("$owner")],
    "ownerMayChange": True,
}
CHANGING = ["__create__notes", "__get__notes", "__updateById__notes"]
CHANGING_ACCOUNT = {**ACCOUNT, "acls": [rule("$owner", property=CHANGING)]}


def test_an_owner_may_not_give_a_row_away(serve):
    api = serve({"note": {**GIVABLE, "ownerMayChange": False}, "account": CHANGING_ACCOUNT})
    ada, _ = api.logged_in(), api.logged_in("bob@example.com")
    api("POST", "/notes", {"text": "a"}, token=ada)

    for verb, path in [
        *(("PATCH", "/notes/1"), ("PUT", "/notes/1")),
        *(("POST", "/notes/update?where={}"), ("PUT", "/users/1/notes/1")),
    ]:
        answer = api(verb, path, {"ownerId": 2}, token=ada)
        assert field_codes(answer) == {"ownerId": ["invalid"]}, path


def test_an_owner_may_give_a_row_to_any_user_where_the_model_says_so(serve):
    api = serve({"note": GIVABLE, "account": CHANGING_ACCOUNT})
    ada, bob = api.logged_in(), api.logged_in("bob@example.com")

    for verb, path in [
        *(("PATCH", "/notes/{}"), ("PUT", "/notes/{}"), ("POST", "/notes/{}/replace")),
        *(("POST", "/notes/update?where={{}}"), ("PUT", "/users/1/notes/{}")),
    ]:
        note = api("POST", "/notes", {"text": "a"}, token=ada).json["id"]
        given = api(verb, path.format(note), {"ownerId": 2}, token=ada)
        assert given.status_code == 200, (path, given.json)
        assert api("GET", f"/notes/{note}", token=ada).status_code == 404
        assert api("GET", f"/notes/{note}", token=bob).json["ownerId"] == 2
        # It is not hers to take back.
        again = api("PATCH", f"/notes/{note}", {"ownerId": 1}, token=ada)
        assert refusal(again) == (404, "MODEL_NOT_FOUND")
    api("POST", "/notes", {"text": "a"}, token=ada)
    for verb, path, body in [
        *(("PATCH", "/notes/6", {"ownerId": 99}), ("POST", "/notes", {"ownerId": 2})),
        ("POST", "/notes/update?where={}", {"ownerId": 99}),
    ]:
        answer = api(verb, path, body, token=ada)
        assert field_codes(answer) == {"ownerId": ["invalid"]}, path
    assert api("GET", "/notes", token=ada).json == [{"id": 6, "text": "a", "ownerId": 1}]


def test_who_may_own_no_row_may_give_none_away(serve, caplog):
    models = {
        "note": {"name": "Note", "properties": {"text": "string"}, "ownerMayChange": True},
        "account": {**ACCOUNT, "relations": {}, "acls": [], "ownerMayChange": True},
    }

    serve(models)

    for file in ("note.json", "account.json"):
        assert f"{file}: ownerMayChange: is without effect: no property says" in caplog.text
    with pytest.raises(ConfigurationError, match=r"note\.json: ownerMayChange: must be true or"):
        serve({"note": {**models["note"], "ownerMayChange": "true"}})


def test_head_of_a_row_needs_the_permission_for_exists(serve):
    acls = [rule("$authenticated"), rule("$authenticated", "DENY", property="exists")]
    api = serve({"note": {**NOTE, "acls": acls}, "account": ACCOUNT})
    token = api.logged_in()
    api("POST", "/notes", {}, token=token)

    assert api("GET", "/notes/1", token=token).status_code == 200
    assert api("HEAD", "/notes/1", token=token).status_code == 403
    assert api("HEAD", "/notes/99", token=token).status_code == 403


def test_exists_alone_lets_a_caller_ask_by_head(serve):
    acls = [rule("$everyone", property=["exists", "create"])]
    api = serve({"note": {**NOTE, "acls": acls}, "account": ACCOUNT})
    api("POST", "/notes", {})

    assert [api("HEAD", f"/notes/{id}").status_code for id in (1, 99)] == [200, 404]
    assert api("HEAD", "/notes/1").data == b""
    assert api("GET", "/notes/1").status_code == 401


def test_who_may_not_change_rows_of_others_names_no_other_owner_without_a_relation_either(serve):
    note = {
        "name": "Note",
        "properties": {"text": "string", "userId": "number"},
        "acls": [rule("$authenticated", property="create"), rule("$owner")],
    }
    api = serve({"note": note})
    ada = api.logged_in()
    api.logged_in("bob@example.com")

    for named in (2, 99):
        answer = api("POST", "/notes", {"text": "a", "userId": named}, token=ada)
        assert field_codes(answer) == {"userId": ["invalid"]}
    for body in ({"text": "a"}, {"text": "a", "userId": 1}, {"text": "a", "userId": None}):
        assert api("POST", "/notes", body, token=ada).json["userId"] == 1


@pytest.mark.parametrize(
    ("name", "kind", "acls"),
    [
        ("owner", "string", [rule("$authenticated"), rule("$owner")]),
        ("owner", "string", [rule("$authenticated")]),
        ("userId", "string", [rule("$authenticated")]),
    ],
)
def test_a_property_that_no_rule_makes_the_owner_stays_what_it_is(serve, name, kind, acls):
    note = {"name": "Note", "properties": {name: kind}, "acls": acls}
    api = serve({"note": note})
    token = api.logged_in()

    made = api("POST", "/notes", {name: "Countess of Lovelace"}, token=token)

    assert made.json == {"id": 1, name: "Countess of Lovelace"}
    assert api("POST", "/notes", {}, token=token).json == {"id": 2, name: None}
