"""The life of users and their rows, with ids of each type."""

import csv
import json

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from openapi_schema_validator import OAS31Validator

from app.database.session import db
from app.problems import ConfigurationError
from tests.conftest import NEW, login_status
from tests.mail.resets import LINK, parse, request_reset, written
from tests.support.answers import refusal
from tests.support.apps import build

pytestmark = pytest.mark.both_databases

OTHER = "bob@example.com"


def where(**conditions):
    return {"query_string": {"filter": json.dumps({"where": conditions})}}


def found(response):
    assert response.status_code == 200, response.json
    return [each["id"] for each in response.json]


def run(app, *arguments):
    result = app.test_cli_runner().invoke(args=arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


def upper(id):
    return id.upper() if isinstance(id, str) else id


def test_users_and_todos_have_such_ids_which_paths_and_filters_take(api, is_id, unknown):
    user = api.register()["id"]
    login = api.login()
    token = login["id"]
    assert is_id(user)
    assert login["userId"] == user

    first = api("POST", "/todos", {"title": "first", "ownerId": user}, token=token).json
    more = api("POST", "/todos", [{"title": "a"}, {"title": "b", "id": None}], token=token).json
    ids = [each["id"] for each in [first, *more]]
    assert all(is_id(each) for each in ids)
    assert {each["ownerId"] for each in [first, *more]} == {user}

    # In the order of their creation, and with it the pages.
    assert found(api("GET", "/todos", token=token)) == ids
    page = api("GET", '/todos?filter={"limit":2}', token=token)
    rest = page.headers["Link"].partition(">")[0].removeprefix("</api")
    assert [*found(page), *found(api("GET", rest, token=token))] == ids
    descending = api("GET", '/todos?filter={"order":"id DESC"}', token=token)
    assert found(descending) == ids[::-1]

    path = f"/todos/{upper(ids[0])}"
    assert api("GET", path, token=token).json == first
    assert api("GET", f"{path}/exists", token=token).json == {"exists": True}
    assert api("GET", f"{path}/owner", token=token).json["id"] == user
    assert api("PATCH", path, {"title": "c"}, token=token).json == {**first, "title": "c"}
    assert api("PUT", "/todos", {**first, "title": "d"}, token=token).json["title"] == "d"
    assert api("PATCH", "/todos", {"id": upper(ids[1])}, token=token).json["id"] == ids[1]
    assert api("DELETE", path, token=token).json == {"count": 1}
    assert api("GET", path, token=token).status_code == 404
    assert api("DELETE", f"/todos/{unknown}", token=token).status_code == 404

    conditions = [
        ({"ownerId": {"inq": [upper(user), unknown]}}, ids[1:]),
        ({"id": upper(ids[1])}, [ids[1]]),
        ({"id": {"neq": ids[1]}}, [ids[2]]),
        ({"id": {"gt": ids[1]}}, [ids[2]]),
        ({"id": {"between": ids[1:]}}, ids[1:]),
        ({"id": {"nin": [ids[1], None]}}, [ids[2]]),
        ({"ownerId": unknown}, []),
        ({"ownerId": None}, []),
    ]
    for condition, expected in conditions:
        assert found(api("GET", "/todos", token=token, **where(**condition))) == expected


def test_relations_and_includes_follow_such_ids(api, token, is_id):
    me = api("GET", "/users/me", token=token).json["id"]
    assert api("GET", f"/users/{upper(me)}", token=token).json["id"] == me
    todo = api("POST", "/users/me/todos", {"title": "a"}, token=token).json

    assert is_id(todo["id"])
    assert api("GET", f"/users/{me}/todos/{todo['id']}", token=token).json == todo
    changed = api("PUT", f"/users/me/todos/{todo['id']}", {"desc": "b"}, token=token).json
    assert changed == {**todo, "desc": "b"}
    assert api("GET", "/users/me/todos/count", token=token).json == {"count": 1}
    included = api("GET", '/users/me?filter={"include":"todos"}', token=token).json
    assert included["todos"] == [changed]
    owned = api("GET", '/todos?filter={"include":"owner"}', token=token).json
    assert [each["owner"]["id"] for each in owned] == [me]
    path = f"/users/{upper(me)}/todos/{todo['id']}"
    assert api("DELETE", path, token=token).status_code == 204

    other = api.register(OTHER)["id"]
    assert api("GET", f"/users/{other}", token=token).status_code == 403
    assert api("GET", f"/users/{other}/todos", token=token).status_code == 403


def test_sessions_the_audit_log_and_deletion_work_with_such_ids(app, api, token, is_id):
    me = api("GET", "/users/me", token=token).json["id"]
    sessions = api("GET", "/users/me/accessTokens", token=token).json
    other = api.login()["id"]
    assert [each["current"] for each in sessions] == [True]
    revoked = f"/users/{me}/accessTokens/{sessions[0]['handle']}"
    assert api("DELETE", revoked, token=other).status_code == 204
    assert api("GET", "/users/me", token=token).status_code == 401

    records = api("GET", '/users/me/audit?filter={"order":"id"}', token=other).json
    actions = [(each["action"], each["userId"], each["actorId"]) for each in records]
    assert actions == [
        ("registered", me, None),
        ("login", me, me),
        ("login", me, me),
        ("session-revoked", me, me),
    ]
    assert all(type(each["id"]) is int for each in records)
    only_mine = api("GET", "/users/me/audit", token=other, **where(actorId=upper(me))).json
    assert len(only_mine) == 3

    assert api("DELETE", "/users/me", token=other).json == {"count": 1}
    listed = json.loads(run(app, "audit", "list", "--user", str(upper(me)), "--json"))
    assert listed[0]["action"] == "user-deleted"
    assert {each["userId"] for each in listed} == {me}


def test_roles_lists_and_files_of_users_have_such_ids(app, api, token, is_id, tmp_path, secrets):
    me = api("GET", "/users/me", token=token).json["id"]
    other = api.register(OTHER)["id"]
    run(app, "roles", "grant", "ada@example.com", "admin")

    assert found(api("GET", "/users", token=token)) == [me, other]
    assert api("GET", f"/users/{other}", token=token).status_code == 200
    listed = json.loads(run(app, "users", "list", "--json"))
    assert [each["id"] for each in listed] == [me, other]
    [holder] = json.loads(run(app, "roles", "list", "--json"))
    assert holder["userId"] == me

    copy = tmp_path / "users.csv"
    run(app, "users", "export", str(copy), "--with-password-hashes")
    for email in ("ada@example.com", OTHER):
        run(app, "users", "delete", email, "--yes")
    run(app, "users", "import", str(copy))
    rows = list(csv.DictReader(copy.read_text().splitlines()))
    assert [row["id"] for row in rows] == [str(me), str(other)]
    assert api.login()["userId"] == me
    assert is_id(api.register("next@example.com")["id"])
    copy.unlink()


def test_mailed_tokens_find_the_user_with_such_an_id(app, api, reset_events, secrets):
    secrets.append(NEW)
    me = api.register()["id"]
    assert api("POST", f"/users/{upper(me)}/verify").status_code == 204

    # Of an address that nobody has, the same is done for anybody.
    for address in ("nobody@example.com", "ada@example.com"):
        assert request_reset(api, address).status_code == 200

    assert reset_events[-1]["user"].id == me
    bodies = [parse(path.read_bytes()).get_body(["plain"]).get_content() for path in written(api)]
    [link] = [LINK.search(each) for each in bodies if LINK.search(each)]
    reset = api("POST", "/users/reset-password", {"newPassword": NEW}, token=link[2])
    assert reset.status_code == 204
    assert login_status(api, NEW) == 200
    for path in written(api):
        path.unlink()


def test_rules_name_users_by_such_ids(api, make_app, id_type, token, secrets):
    me = api("GET", "/users/me", token=token).json["id"]
    user = {"principalType": "USER", "principalId": str(upper(me)), "permission": "ALLOW"}
    other = api.newcomer(OTHER)

    client = make_app(ID_TYPE=id_type, ACLS={"todos": [user]}).test_client()

    headers = {"Authorization": token}, {"Authorization": other}
    assert [client.get("/api/todos", headers=each).status_code for each in headers] == [200, 403]
    problem = "ACLS for todos cannot be used: the user 'x' must be"
    with pytest.raises(ConfigurationError, match=problem):
        make_app(ID_TYPE=id_type, ACLS={"todos": [{**user, "principalId": "x"}]})


WRONG = [
    *("x", "0", "-1", "1.5", "1e3", "٣", "%00", "%0a", "a%00b", "1%0a", "%C3%A9", "%ff"),
    *(
        "9" * 19,
        "9" * 5000,
        "f" * 23,
        "f" * 25,
        "g" * 24,
        "{}",
        "null",
        "018c5a3e7d2b7c1a9f003b1d2e4f5a6b",
    ),
    *(
        "018c5a3e-7d2b-7c1a-9f00-3b1d2e4f5a6",
        "{018c5a3e-7d2b-7c1a-9f00-3b1d2e4f5a6b}",
        "urn:uuid:1",
    ),
]


def test_what_is_no_such_id_is_refused(api, token, id_type):
    for wrong in WRONG:
        for verb in ("GET", "PATCH", "DELETE"):
            assert api(verb, f"/todos/{wrong}", token=token).status_code == 404, wrong
        assert api("GET", f"/users/{wrong}", token=token).status_code == 403
        assert api("GET", f"/users/me/todos/{wrong}", token=token).status_code == 404
        assert api("POST", f"/users/{wrong}/verify").status_code == 204

    for wrong in ["x", True, 1.5, [], [1], {}, {"a": 1}, "1\n", "9" * 30, 10**30, "0", -1]:
        upsert = api("PUT", "/todos", {"id": wrong, "title": "a"}, token=token)
        assert upsert.status_code == 404, wrong
        created = api("POST", "/todos", {"id": wrong, "title": "a"}, token=token)
        assert refusal(created) == (422, "VALIDATION_ERROR")
        assert created.json["error"]["details"]["messages"] == {"id": ["is read-only"]}
    if id_type != "integer":
        for wrong in ["x", 7, True, 1.5, {"gt": 1}, {"like": "a%"}, {"inq": ["x"]}, [1]]:
            filtered = api("GET", "/todos", token=token, **where(ownerId=wrong))
            assert refusal(filtered) == (400, "INVALID_FILTER"), wrong


def test_the_document_describes_such_ids(client, id_type, is_id):
    document = client.get("/api/openapi.json").json
    schemas = document["components"]["schemas"]

    todo, [example] = schemas["Todo"], schemas["Todo"]["examples"]
    assert is_id(example["id"]) or id_type == "objectid"
    for schema in (todo["properties"]["id"], todo["properties"]["ownerId"]):
        OAS31Validator(schema).validate(example["id"])
    user_id = schemas["Login"]["properties"]["userId"]
    OAS31Validator(user_id).validate(example["id"])
    parameter = document["paths"]["/todos/{id}"]["get"]["parameters"][0]
    OAS31Validator(parameter["schema"]).validate(parameter["example"])
    assert parameter["example"] == example["id"]
    condition = schemas["TodoWhere"]["properties"]["ownerId"]["anyOf"]
    assert condition[0]["type"] == todo["properties"]["ownerId"]["type"]
    assert "like" not in condition[-1]["properties"]


def test_the_tables_are_those_of_the_models(app):
    with app.app_context(), db.engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_server_default": True})
        assert compare_metadata(context, db.metadata) == []
        types = {
            (name, column["name"]): str(column["type"])
            for name in ("users", "todos", "roles", "role_mappings", "access_tokens", "audit")
            for column in db.inspect(connection).get_columns(name)
            if column["name"] in ("user_id", "owner_id", "role_id", "actor_id")
            or (column["name"] == "id" and name != "audit")
        }
    assert len(types) == 9
    assert len(set(types.values())) == 1


@pytest.mark.parametrize("other", ["integer", "uuid", "objectid"])
def test_a_database_with_other_ids_stops_the_start(app, database_url, id_type, other, tmp_path):
    if other == id_type:
        return
    said = f"ID_TYPE is {other}, and the database was created with {id_type}: set ID_TYPE to"
    with pytest.raises(ConfigurationError, match=said):
        build(database_url, tmp_path, ID_TYPE=other)


def test_calls_of_administration_take_and_show_such_ids(app, api, token, is_id, unknown):
    me = api("GET", "/users/me", token=token).json["id"]
    run(app, "roles", "grant", "ada@example.com", "admin")
    other = api.register(OTHER)["id"]

    assert api("PUT", f"/admin/users/{upper(other)}/roles/clerk", token=token).status_code == 204
    assert api("GET", f"/admin/users/{upper(other)}", token=token).json["roles"] == ["clerk"]
    assert found(api("GET", "/admin/users?role=clerk", token=token)) == [other]
    assert found(api("GET", "/admin/roles/clerk/members", token=token)) == [other]
    path = "/admin/audit"
    granted = api("GET", path, token=token, **where(action="role-granted", userId=other)).json
    assert [each["actorId"] for each in granted] == [me]
    assert is_id(api("GET", "/admin/access", token=token).json["userId"])
    assert api("GET", f"/admin/users/{unknown}", token=token).status_code == 404
    assert api("DELETE", "/users/me", token=token).status_code == 422
    assert api("POST", f"/users/{upper(other)}/disable", token=token).status_code == 204
