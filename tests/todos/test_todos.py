"""The to-do sample API."""

import re

import pytest

from tests.support.answers import field_codes, refusal

FIELDS = ["id", "title", "desc", "isComplete", "created", "ownerId"]
BAD_IDS = ["99", "0", "-1", "1.0", "01", "+1", "1e0", "x", "%00", "%ff", "%F0%9F%90%98", "٣"]
BAD_IDS += ["9" * 18, "9" * 19, "1" + "0" * 30, "9" * 5000, "null", "1%20", "1;drop", "'"]


@pytest.fixture
def todo(api, token):
    """A to-do of the user with id 1."""
    return api("POST", "/todos", {"title": "buy milk"}, token=token).json


@pytest.fixture
def stranger(api, token):
    """The token of another user."""
    return api.logged_in("bob@example.com")


def test_create_returns_the_whole_todo(api, token):
    body = {"title": "buy milk", "desc": "two litres\n\tof it", "isComplete": True}

    response = api("POST", "/todos", body, token=token)

    assert response.status_code == 200
    assert list(response.json) == FIELDS
    assert {name: response.json[name] for name in body} == body
    assert response.json["ownerId"] == 1
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", response.json["created"])


def test_optional_fields_have_defaults(todo):
    assert todo["desc"] is None
    assert todo["isComplete"] is False


@pytest.mark.parametrize("title", ["x" * 255, "🐘" * 255, "<b>&amp;</b>", "'; DROP TABLE todos;--"])
def test_titles_are_stored_unchanged(api, token, title):
    todo = api("POST", "/todos", {"title": title}, token=token).json

    assert api("GET", f"/todos/{todo['id']}", token=token).json["title"] == title


def test_create_accepts_a_form(api, token):
    form = {"title": "buy milk", "isComplete": "true"}

    response = api("POST", "/todos", data=form, token=token)

    assert response.status_code == 200
    assert response.json["isComplete"] is True


@pytest.mark.parametrize(
    ("fields", "codes"),
    [
        ({"title": None}, {"title": ["presence"]}),
        ({"title": ""}, {"title": ["presence"]}),
        ({"title": " \u2003"}, {"title": ["presence"]}),
        ({"title": 7}, {"title": ["invalid"]}),
        ({"title": "x" * 256}, {"title": ["invalid"]}),
        ({"title": "a\nb"}, {"title": ["invalid"]}),
        ({"desc": 7}, {"desc": ["invalid"]}),
        ({"desc": "x" * 10_001}, {"desc": ["invalid"]}),
        ({"isComplete": "maybe"}, {"isComplete": ["invalid"]}),
        ({"isComplete": None}, {"isComplete": ["presence"]}),
        ({"id": 7}, {"id": ["absence"]}),
        ({"ownerId": 2}, {"ownerId": ["absence"]}),
        ({"created": "2026-01-01"}, {"created": ["absence"]}),
        ({"colour": "red"}, {"colour": ["unknown"]}),
    ],
    ids=lambda value: str(value)[:30],
)
def test_an_invalid_todo_is_422_and_names_the_field(api, token, todo, fields, codes):
    routes = [("POST", "/todos"), ("PUT", "/todos/1"), ("PATCH", "/todos/1")]

    answers = [api(*route, {"title": "x", **fields}, token=token) for route in routes]

    assert [field_codes(answer) for answer in answers] == [codes] * 3
    assert api("GET", "/todos", token=token).json == [todo]


@pytest.mark.parametrize("method", ["POST", "PUT"])
def test_the_title_is_required(api, token, todo, method):
    path = "/todos" if method == "POST" else "/todos/1"

    response = api(method, path, {}, token=token)

    assert field_codes(response) == {"title": ["presence"]}


def test_find_by_id_returns_the_todo(api, token, todo):
    response = api("GET", f"/todos/{todo['id']}", token=token)

    assert (response.status_code, response.json) == (200, todo)


def test_patch_changes_the_sent_properties_and_returns_the_whole_object(api, token, todo):
    response = api("PATCH", "/todos/1", {"desc": "two litres"}, token=token)

    assert response.status_code == 200
    assert response.json == {**todo, "desc": "two litres"}
    assert api("GET", "/todos/1", token=token).json == response.json


def test_an_empty_patch_changes_nothing(api, token, todo):
    response = api("PATCH", "/todos/1", {}, token=token)

    assert (response.status_code, response.json) == (200, todo)


def test_patch_with_null_removes_the_description(api, token, todo):
    api("PATCH", "/todos/1", {"desc": "x", "isComplete": True}, token=token)

    response = api("PATCH", "/todos/1", {"desc": None, "isComplete": False}, token=token)

    assert response.json == todo


@pytest.mark.both_databases
def test_put_resets_missing_properties_to_their_defaults(api, token, todo):
    api("PATCH", "/todos/1", {"desc": "x", "isComplete": True}, token=token)

    response = api("PUT", "/todos/1", {"title": "buy bread"}, token=token)

    assert (response.status_code, response.json) == (200, {**todo, "title": "buy bread"})


def test_delete_returns_the_count(api, token, todo):
    response = api("DELETE", "/todos/1", token=token)

    assert (response.status_code, response.json) == (200, {"count": 1})
    assert api("GET", "/todos", token=token).json == []


def test_a_second_delete_is_404(api, token, todo):
    api("DELETE", "/todos/1", token=token)

    response = api("DELETE", "/todos/1", token=token)

    assert refusal(response) == (404, "MODEL_NOT_FOUND")


def test_the_id_of_a_deleted_todo_is_not_reused(api, token, todo):
    api("DELETE", "/todos/1", token=token)

    assert api("POST", "/todos", {"title": "x"}, token=token).json["id"] == 2


def test_find_lists_own_todos_in_the_order_of_creation(api, token, stranger):
    for title in ("b", "a", "c"):
        api("POST", "/todos", {"title": title}, token=token)
    api("POST", "/todos", {"title": "bob's"}, token=stranger)

    response = api("GET", "/todos", token=token)

    assert [todo["title"] for todo in response.json] == ["b", "a", "c"]
    assert {todo["ownerId"] for todo in response.json} == {1}


@pytest.mark.parametrize(
    ("method", "body"),
    [("GET", None), ("PATCH", {"title": "x"}), ("PUT", {"title": "x"}), ("DELETE", None)],
)
def test_the_todo_of_another_user_is_404(api, token, todo, stranger, method, body):
    response = api(method, "/todos/1", body, token=stranger)

    assert refusal(response) == (404, "MODEL_NOT_FOUND")
    assert api("GET", "/todos/1", token=token).json == todo


@pytest.mark.parametrize("method", ["GET", "PATCH", "PUT", "DELETE"])
def test_an_unknown_todo_is_404(api, token, todo, method):
    body = {"title": "x"} if method in {"PATCH", "PUT"} else None

    answers = {each: api(method, f"/todos/{each}", body, token=token) for each in BAD_IDS}

    found = {each: refusal(answer) for each, answer in answers.items()}
    assert found == dict.fromkeys(BAD_IDS, (404, "MODEL_NOT_FOUND"))


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "/todos", None),
        ("POST", "/todos", {"title": "x"}),
        ("GET", "/todos/1", None),
        ("PATCH", "/todos/1", {"title": "x"}),
        ("PUT", "/todos/1", {"title": "x"}),
        ("DELETE", "/todos/1", None),
        ("GET", "/todos/99", None),
    ],
)
@pytest.mark.parametrize("sent", [None, "x" * 64], ids=["no token", "unknown token"])
def test_without_a_token_every_todo_is_401(api, todo, method, path, body, sent):
    response = api(method, path, body, token=sent)

    assert refusal(response) == (401, "AUTHORIZATION_REQUIRED")
    assert response.headers["WWW-Authenticate"] == "Bearer"


def test_the_collection_is_case_insensitive_and_may_end_in_a_slash(api, token, todo):
    paths = ["/Todos/1", "/TODOS/1", "/todos/1/", "/todos/", "/Todos"]

    assert {api("GET", path, token=token).status_code for path in paths} == {200}


def test_the_base_path_is_configurable(make_app, token):
    client = make_app(REST_API_ROOT="/rest/v1").test_client()
    headers = {"Authorization": token}

    moved = client.post("/rest/v1/Todos", json={"title": "x"}, headers=headers)
    old = client.get("/api/todos", headers=headers)

    assert (moved.status_code, old.status_code) == (200, 404)
