"""The endpoints of every collection, tested with to-dos."""

import json

import pytest

from tests.conftest import Api
from tests.support.answers import refusal
from tests.support.rows import make_admin, statements, store_login

from .conftest import store

# The errors of a logged-in caller who is refused, by ACL_ERROR_STATUS.
REFUSALS = [(401, "AUTHORIZATION_REQUIRED"), (403, "ACCESS_DENIED"), (404, "MODEL_NOT_FOUND")]


def titles(api, token):
    return [each["title"] for each in api("GET", "/todos", token=token).json]


def where(**wanted):
    return {"where": json.dumps(wanted)}


# `create` and `createMany`.
ARRAYS = pytest.mark.parametrize("path", ["/todos", "/todos/many"])


@ARRAYS
def test_an_array_creates_every_item(api, token, path):
    response = api("POST", path, [{"title": "a"}, {"title": "b"}], token=token)

    assert response.status_code == 200
    assert [(each["title"], each["ownerId"]) for each in response.json] == [("a", 1), ("b", 1)]


@ARRAYS
def test_an_array_with_one_bad_item_creates_none_and_names_it(api, token, path):
    response = api("POST", path, [{"title": "a"}, {"title": ""}, 7], token=token)

    assert response.status_code == 422
    assert list(response.json["error"]["details"]["messages"]) == ["1.title", "2._schema"]
    assert titles(api, token) == []


@ARRAYS
def test_an_empty_array_creates_nothing(api, token, path):
    assert api("POST", path, [], token=token).json == []


def test_many_rows_are_an_array(api, token):
    response = api("POST", "/todos/many", {"title": "a"}, token=token)

    assert response.status_code == 400
    assert response.json["message"] == "The body must be a JSON array of objects."
    assert titles(api, token) == []


def test_an_array_of_users_is_all_or_none(api, runner):
    people = [{"email": f"{name}@example.com", "password": "a quiet harbour"} for name in "ab"]

    taken = api("POST", "/users", [*people, people[0]])
    done = api("POST", "/users", people)

    assert taken.status_code == 422
    assert [each["email"] for each in done.json] == ["a@example.com", "b@example.com"]


def test_an_array_with_too_many_users_is_rejected(api):
    people = [{"email": f"u{n}@example.com", "password": "a quiet harbour"} for n in range(21)]

    response = api("POST", "/users", people)

    assert response.status_code == 400
    assert "20" in response.json["message"]


def test_unchanged_read_only_properties_are_accepted(api, token):
    todo = api("POST", "/todos", {"title": "a", "desc": "b"}, token=token).json
    todo["desc"] = "c"

    for verb, path in [
        ("PUT", "/todos/1"),
        ("PATCH", "/todos/1"),
        ("PUT", "/todos"),
        ("PATCH", "/todos"),
    ]:
        response = api(verb, path, todo, token=token)

        assert response.status_code == 200
        assert response.json == todo


@pytest.mark.parametrize("change", [{"id": 2}, {"ownerId": 2}, {"created": "2000-01-01T00:00:00Z"}])
def test_changed_read_only_properties_are_rejected(api, token, change):
    api("POST", "/todos", {"title": "a"}, token=token)

    response = api("PATCH", "/todos/1", change, token=token)

    assert response.status_code == 422
    assert response.json["error"]["details"]["messages"] == {next(iter(change)): ["is read-only"]}


def test_replacing_resets_missing_properties_to_their_defaults(api, token):
    api("POST", "/todos", {"title": "a", "desc": "b", "isComplete": True}, token=token)

    for verb, path in [("PUT", "/todos/1"), ("POST", "/todos/1/replace")]:
        response = api(verb, path, {"title": "new"}, token=token)

        assert (response.json["desc"], response.json["isComplete"]) == (None, False)
        assert api(verb, path, {"desc": "x"}, token=token).status_code == 422


def test_an_empty_change_changes_nothing(api, token):
    todo = api("POST", "/todos", {"title": "a", "desc": "b"}, token=token).json

    assert api("PATCH", "/todos/1", {}, token=token).json == todo
    assert api("PATCH", "/todos/9", {}, token=token).status_code == 404


@pytest.mark.both_databases
@pytest.mark.parametrize(
    ("verb", "path"),
    [("PATCH", "/todos"), ("PUT", "/todos"), ("POST", "/todos/replaceOrCreate")],
)
def test_an_upsert_creates_without_an_id_and_updates_with_an_id(app, api, token, verb, path):
    make_admin(app)
    created = api(verb, path, {"title": "a", "desc": "b"}, token=token).json
    changed = api(verb, path, {"id": created["id"], "title": "c"}, token=token).json

    assert changed["title"] == "c"
    assert changed["desc"] == ("b" if verb == "PATCH" else None)
    assert api(verb, path, {"id": 99, "title": "d"}, token=token).status_code == 404
    assert api(verb, path, {"id": "x", "title": "d"}, token=token).status_code == 404
    assert titles(api, token) == ["c"]


UPSERTS = [
    *(("PATCH", "/todos"), ("PUT", "/todos"), ("POST", "/todos/replaceOrCreate")),
    ("POST", '/todos/upsertWithWhere?where={"title":"b"}'),
]


@pytest.mark.parametrize(("verb", "path"), UPSERTS)
@pytest.mark.parametrize(("setting", "code"), REFUSALS)
def test_a_row_that_does_not_exist_has_no_owner_who_may_create_it(
    shared_app, secrets, password_hash, verb, path, setting, code
):
    """Whom a rule for $owner alone allows the call: creating has a rule of its own."""
    app = shared_app(ACL_ERROR_STATUS=setting)
    api, token = Api(app.test_client(), secrets), store_login(app, "ada@example.com", password_hash)
    secrets.append(token)
    todo = api("POST", "/todos", {"title": "a"}, token=token).json

    for body in ({"title": "b"}, {"id": None, "title": "b"}):
        assert refusal(api(verb, path, body, token=token)) == (setting, code)
        assert refusal(api(verb, path, body)) == (401, "AUTHORIZATION_REQUIRED")
    assert api("GET", "/todos", token=token).json == [todo]


@pytest.mark.both_databases
def test_upsert_with_where_updates_one_row_creates_a_missing_one_and_rejects_several(
    app, api, token
):
    path = "/todos/upsertWithWhere"
    make_admin(app)

    created = api("POST", path, {"title": "a"}, token=token, query_string=where(title="a"))
    changed = api("POST", path, {"desc": "b"}, token=token, query_string=where(title="a"))
    api("POST", "/todos", {"title": "a"}, token=token)
    several = api("POST", path, {"desc": "c"}, token=token, query_string=where(title="a"))

    assert [created.status_code, changed.status_code, several.status_code] == [200, 200, 409]
    assert changed.json == {**created.json, "desc": "b"}


@pytest.mark.both_databases
def test_a_bulk_update_changes_the_selected_rows(api, token):
    api("POST", "/todos", [{"title": title} for title in "aab"], token=token)

    response = api(
        "POST", "/todos/update", {"isComplete": True}, token=token, query_string=where(title="a")
    )

    assert response.json == {"count": 2}
    done = api("GET", "/todos/count", token=token, query_string=where(isComplete=True))
    assert done.json == {"count": 2}


def test_a_bulk_update_validates_like_a_patch(api, token):
    api("POST", "/todos", {"title": "a"}, token=token)

    for body in ({"title": ""}, {"ownerId": 2}, {"nope": 1}):
        response = api("POST", "/todos/update", body, token=token, query_string=where(id=1))

        assert response.status_code == 422


@pytest.mark.parametrize("path", ["/todos/update", "/todos/upsertWithWhere"])
def test_a_bulk_update_without_a_where_is_rejected(api, token, path):
    response = api("POST", path, {"title": "x"}, token=token)

    assert response.status_code == 400
    assert response.json["error"]["code"] == "INVALID_FILTER"


@pytest.mark.both_databases
def test_rows_of_other_users_are_inaccessible_on_every_route(api, token):
    """In LoopBack 3 `?id=` and a `where` select any row; here the query has the owner's scope."""
    mine = api("POST", "/todos", {"title": "mine"}, token=token).json["id"]
    other = api.logged_in("bob@example.com")
    api("POST", "/todos", {"title": "his"}, token=other)

    listed = api("GET", f"/todos?id={mine}", token=other)
    found = api("GET", "/todos/findOne", token=other, query_string={"filter": '{"skip": 1}'})
    counted = api("GET", "/todos/count", token=other, query_string=where(ownerId=1))
    updated = api("POST", f"/todos/update?id={mine}&where={{}}", {"title": "x"}, token=other)
    exists = api("GET", f"/todos/{mine}/exists", token=other)

    assert [each["title"] for each in listed.json] == ["his"]
    assert found.status_code == 404
    assert counted.json == {"count": 0}
    assert updated.json == {"count": 1}
    assert exists.json == {"exists": False}
    assert titles(api, token) == ["mine"]


def test_creating_with_an_id_is_422(api, token):
    response = api("POST", "/todos", {"id": 7, "title": "a"}, token=token)

    assert response.status_code == 422
    assert response.json["error"]["details"]["codes"] == {"id": ["absence"]}


@pytest.mark.parametrize("path", ["/Todos", "/TODOS/", "/todos/"])
def test_collection_paths_are_case_insensitive_and_may_end_in_a_slash(api, token, path):
    created = api("POST", path, {"title": "a"}, token=token)
    listed = api("GET", path, token=token, headers={"Content-Type": "application/json"})

    assert created.status_code == 200
    assert listed.json == [created.json]


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("//todos", 200),
        ("//Todos//1", 200),
        ("/todos//count", 200),
        ("/todos//", 200),
        ("///todos", 404),
        ("/todos///1", 404),
        ("/todos/1//exists", 404),
    ],
)
def test_two_slashes_around_the_collection_are_one_as_in_loopback_3(api, token, path, status):
    api("POST", "/todos", {"title": "a"}, token=token)

    assert api("GET", path, token=token).status_code == status


def test_head_answers_as_get_without_a_body(api, token):
    api("POST", "/todos", {"title": "a"}, token=token)

    assert api("HEAD", "/todos/1", token=token).status_code == 200
    assert api("HEAD", "/todos/2", token=token).status_code == 404
    assert api("HEAD", "/todos/1", token=token).data == b""


def test_an_unknown_row_is_404_with_the_message_of_loopback_3(api, token):
    response = api("GET", "/todos/99", token=token)

    assert response.status_code == 404
    assert response.json["message"] == 'Unknown "todo" id "99".'
    assert response.json["error"]["code"] == "MODEL_NOT_FOUND"


@pytest.mark.parametrize(
    ("verb", "path", "body", "ceiling"),
    [
        ("GET", "/todos/1001", None, 2),
        ("GET", "/todos", None, 2),
        ("GET", "/todos/count", None, 2),
        ("POST", "/todos", {"title": "a"}, 2),
        ("PATCH", "/todos/1001", {"title": "a"}, 2),
        ("DELETE", "/todos/1001", None, 2),
        ("GET", "/users/1", None, 2),
        ("GET", "/users/1/todos", None, 2),
        ("GET", "/todos?filter[include]=owner", None, 3),
    ],
)
def test_a_call_takes_one_query_for_the_token_and_one_for_the_rows(
    app, api, token, verb, path, body, ceiling
):
    rows = [
        {"id": number, "title": "x", "desc": None, "owner_id": 1} for number in range(1001, 1050)
    ]
    store(app, rows)

    with statements(app) as sent:
        response = api(verb, path, body, token=token)

    assert response.status_code == 200
    assert len(sent) == ceiling
