"""The endpoints of relations: the to-dos of a user."""

import pytest

from tests.answers import refusal


def test_the_todos_of_a_user_are_created_read_changed_and_deleted(api, token):
    created = api("POST", "/users/1/todos", {"title": "a"}, token=token).json
    path = f"/users/1/todos/{created['id']}"

    assert created["ownerId"] == 1
    assert api("GET", "/users/1/todos", token=token).json == [created]
    assert api("GET", "/users/1/todos/count", token=token).json == {"count": 1}
    assert api("GET", path, token=token).json == created
    assert api("PUT", path, {"desc": "b"}, token=token).json == {**created, "desc": "b"}
    assert api("DELETE", path, token=token).status_code == 204
    assert api("DELETE", path, token=token).status_code == 404


def test_the_owner_in_the_path_overrides_the_body(api, token):
    api.newcomer("bob@example.com")

    response = api("POST", "/users/1/todos", {"title": "a", "ownerId": 2}, token=token)

    assert response.status_code == 422


def test_a_relation_accepts_filters(api, token):
    for title in ("a", "b", "c"):
        api("POST", "/todos", {"title": title}, token=token)

    page = api("GET", "/users/1/todos?filter[limit]=2", token=token)
    count = api("GET", '/users/1/todos/count?where={"title":"c"}', token=token)

    assert [each["title"] for each in page.json] == ["a", "b"]
    assert page.headers["Link"].startswith("</api/users/1/todos?filter=")
    assert count.json == {"count": 1}


def test_an_admin_reads_the_todos_of_every_user_and_gets_404_for_unknown_users(api, runner, token):
    other = api.newcomer("bob@example.com")
    api("POST", "/todos", {"title": "his"}, token=other)
    runner.invoke(args=["roles", "grant", "ada@example.com", "admin"])

    assert [each["title"] for each in api("GET", "/users/2/todos", token=token).json] == ["his"]
    assert api("POST", "/users/2/todos", {"title": "b"}, token=token).json["ownerId"] == 2
    assert api("GET", "/users/99/todos", token=token).status_code == 404
    assert api("POST", "/users/99/todos", {"title": "b"}, token=token).status_code == 404


def test_a_row_of_another_parent_is_unknown_here_even_to_an_admin(api, runner, token):
    other = api.newcomer("bob@example.com")
    api("POST", "/todos", {"title": "his"}, token=other)
    runner.invoke(args=["roles", "grant", "ada@example.com", "admin"])

    for verb, body in [("GET", None), ("PUT", {"title": "x"}), ("PUT", {}), ("DELETE", None)]:
        response = api(verb, "/users/1/todos/1", body, token=token)

        assert refusal(response) == (404, "MODEL_NOT_FOUND")


@pytest.mark.parametrize("path", ["/users/me", "/users/me/todos", "/users/me/accessTokens"])
def test_the_current_user_literal_is_the_callers_id(make_app, api, token, path):
    client = make_app(TOKEN_MIDDLEWARE={"currentUserLiteral": "me"}).test_client()

    own = client.get(f"/api{path}", headers={"Authorization": token})
    stranger = client.get(f"/api{path}")

    assert own.status_code == 200
    assert own.json == api("GET", path.replace("me", "1"), token=token).json
    assert stranger.status_code == 401
