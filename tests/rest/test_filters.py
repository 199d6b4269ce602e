"""Filters: validation, pages, fields and includes."""

import json

import pytest

from tests.conftest import PASSWORD

pytestmark = pytest.mark.both_databases

DEEP = {"title": "x"}
for _ in range(20):
    DEEP = {"and": [DEEP]}


@pytest.mark.parametrize(
    ("wanted", "named"),
    [
        ({"where": {"nope": 1}}, "nope"),
        ({"where": {"title": {"sounds": "x"}}}, "sounds"),
        ({"where": {"title": {"regexp": "(a+)+$"}}}, "regexp"),
        ({"where": {"title": {"$gt": ""}}}, "$gt"),
        ({"where": {"constructor": 1}}, "constructor"),
        ({"where": {"__proto__": 1}}, "__proto__"),
        ({"where": {"passwordHash": "x"}}, "passwordHash"),
        ({"where": {"owner": 1}}, "owner"),
        ({"where": [1]}, "where"),
        ({"where": "x"}, "where"),
        ({"where": {"id": "x"}}, "id"),
        ({"where": {"id": 1.5}}, "id"),
        ({"where": {"id": True}}, "id"),
        ({"where": {"id": 10**30}}, "id"),
        ({"where": {"id": [1]}}, "id"),
        ({"where": {"id": {"gt": None}}}, "id.gt"),
        ({"where": {"id": {"between": [1]}}}, "id.between"),
        ({"where": {"id": {"inq": 1}}}, "id.inq"),
        ({"where": {"id": {"inq": [{}]}}}, "id.inq"),
        ({"where": {"id": {"like": "1%"}}}, "id.like"),
        ({"where": {"title": 7}}, "title"),
        ({"where": {"title": {"like": 7}}}, "title.like"),
        ({"where": {"isComplete": "notabool"}}, "isComplete"),
        ({"where": {"created": "yesterday"}}, "created"),
        ({"where": {"created": "0001-01-01T00:00:00+23:00"}}, "created"),
        ({"where": {"and": {"title": "x"}}}, "and"),
        ({"where": {"or": [1]}}, "where"),
        ({"where": {"id": {"inq": list(range(1001))}}}, "1000"),
        ({"order": "nope"}, "nope"),
        ({"order": "id sideways"}, "id sideways"),
        ({"order": "id ASC; DROP TABLE todos"}, "DROP"),
        ({"order": [7]}, "7"),
        ({"order": 7}, "order"),
        ({"limit": -1}, "-1"),
        ({"limit": 1.5}, "1.5"),
        ({"limit": "abc"}, "abc"),
        ({"limit": True}, "True"),
        ({"limit": "²"}, "²"),
        ({"skip": -1}, "skip"),
        ({"skip": 2**31}, "skip"),
        ({"fields": ["nope"]}, "nope"),
        ({"fields": [7]}, "fields"),
        ({"fields": {"title": "maybe"}}, "title"),
        ({"fields": 7}, "fields"),
        ({"include": "nope"}, "nope"),
        ({"include": "accessTokens"}, "accessTokens"),
        ({"include": 7}, "include"),
        ({"include": [7]}, "include"),
        ({"include": {"relation": "owner", "scope": 7}}, "scope"),
        ({"nope": 1}, "nope"),
    ],
    ids=lambda value: json.dumps(value)[:40] if isinstance(value, dict) else None,
)
def test_an_invalid_filter_is_400_and_names_the_invalid_part(find, wanted, named):
    response = find(wanted)

    assert response.status_code == 400
    assert response.json["error"]["code"] == "INVALID_FILTER"
    assert named in response.json["message"]


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("filter={bad", "INVALID_FILTER"),
        ("filter=notjson", "INVALID_FILTER"),
        ("filter=[1]", "INVALID_FILTER"),
        ("filter=NaN", "INVALID_FILTER"),
        ('filter={"where":{"title":"%5Cud800"}}', "INVALID_FILTER"),
        ('filter={"where":{"title":"%5Cu0000"}}', "INVALID_FILTER"),
        ("filter[where][title]=%00", "INVALID_FILTER"),
        ("filter={}&filter={}", "INVALID_FILTER"),
        ("filter[where", "INVALID_FILTER"),
        ("filter[]=1", "INVALID_FILTER"),
        ("filter[where]=1&filter[where][id]=1", "INVALID_FILTER"),
        ("filter[where][id]=1&filter[where]=1", "INVALID_FILTER"),
        (f"filter={json.dumps({'where': DEEP})}", "QUERY_TOO_DEEP"),
        (f"filter={'[' * 50000}", "QUERY_TOO_DEEP"),
        (f"filter{'[and]' * 20}=1", "QUERY_TOO_DEEP"),
        (f"filter={'9' * 5000}", "INVALID_FILTER"),
    ],
    ids=lambda value: value[:30],
)
def test_a_filter_that_cannot_be_parsed_is_400(api, token, query, code):
    response = api("GET", "/todos", token=token, query_string=query)

    assert response.status_code == 400
    assert response.json["error"]["code"] == code


@pytest.mark.parametrize("text", ["' OR 1=1 --", '"; DROP TABLE todos; --', ":owner_id", "%s"])
def test_text_in_a_filter_is_not_executed_as_sql(find, rows, text):
    assert find({"where": {"title": text}}).json == []
    assert find({"where": {"title": {"like": text}}}).json == []
    assert len(find().json) == len(rows)


def test_pages_follow_each_other_to_the_last_row(api, token, find, rows):
    response = find({"limit": 16, "order": "title DESC", "fields": ["id"]})
    seen = list(response.json)
    while link := response.headers.get("Link"):
        path = link.removeprefix("</api").removesuffix('>; rel="next"')
        response = api("GET", path, token=token)
        seen += response.json

    assert sorted(each["id"] for each in seen) == [row["id"] for row in rows]


def test_the_link_to_the_next_page_carries_no_token(api, token, rows):
    query = {"access_token": token, "filter": '{"limit": 1}'}

    response = api("GET", "/todos", query_string=query)

    assert 'rel="next"' in response.headers["Link"]
    assert token not in response.headers["Link"]


def test_a_link_is_left_out_where_it_would_be_too_long_for_a_request(find, rows):
    ordinary = find({"where": {"title": {"neq": "x" * 15_000}}, "limit": 1})
    longer = find({"where": {"title": {"neq": '"' * 15_000}}, "limit": 1})

    assert 15_000 < len(ordinary.headers["Link"]) < 16_000
    assert (longer.status_code, len(longer.json)) == (200, 1)
    assert "Link" not in longer.headers


def test_a_last_page_that_is_full_has_no_link(find, rows):
    assert "Link" not in find({"limit": 39}).headers
    assert "Link" not in find({"limit": 0}).headers


@pytest.mark.parametrize(
    ("fields", "kept"),
    [
        (["id", "title"], ["id", "title"]),
        ("title", ["title"]),
        ({"title": True}, ["title"]),
        ({"id": True, "title": False}, ["id"]),
        ({"desc": False, "created": False}, ["id", "title", "isComplete", "ownerId"]),
        ({"desc": "false"}, ["id", "title", "isComplete", "created", "ownerId"]),
        ([], ["id", "title", "desc", "isComplete", "created", "ownerId"]),
    ],
)
def test_fields_select_properties(find, rows, fields, kept):
    assert list(find({"fields": fields, "limit": 1}).json[0]) == kept
    assert list(find({"fields": fields}, path="/todos/7").json) == kept


@pytest.mark.parametrize(
    "include",
    ["owner", ["owner"], {"relation": "owner"}, [{"relation": "owner"}], {"owner": None}],
    ids=str,
)
def test_a_todo_can_include_its_owner(find, rows, include):
    response = find({"include": include, "limit": 1})

    assert response.json[0]["owner"]["email"] == "ada@example.com"


def test_included_rows_obey_the_rules_of_their_own_model(app, api, token, make_app):
    closed = {"todos": [{"principalId": "$authenticated", "permission": "ALLOW"}]}
    api("POST", "/todos", {"title": "Hers"}, token=token)
    other = api.logged_in("bob@example.com")
    open_todos = make_app(ACLS=closed).test_client()

    response = open_todos.get("/api/todos?filter[include]=owner", headers={"Authorization": other})

    assert [each["title"] for each in response.json] == ["Hers"]
    assert "owner" not in response.json[0]


def test_a_model_that_the_caller_may_not_read_cannot_be_included(app, api, token, make_app):
    shut = make_app(ACLS={"users": []}).test_client()
    api("POST", "/todos", {"title": "Mine"}, token=token)

    response = shut.get("/api/todos?filter[include]=owner", headers={"Authorization": token})

    assert response.status_code == 403


def test_an_admin_includes_the_todos_of_every_user(api, runner, token):
    other = api.logged_in("bob@example.com")
    for title in ("a", "b", "c"):
        api("POST", "/todos", {"title": title}, token=other)
    runner.invoke(args=["roles", "grant", "ada@example.com", "admin"])
    scope = {"order": "title DESC", "limit": 2, "fields": ["title"]}
    query = {"filter": json.dumps({"include": {"relation": "todos", "scope": scope}})}

    response = api("GET", "/users", token=token, query_string=query)

    ada, bob = response.json
    assert ada["todos"] == []
    assert [each["title"] for each in bob["todos"]] == ["c", "b"]
    assert PASSWORD not in response.text
    assert "password" not in response.text


@pytest.mark.parametrize("name", ["password", "password_hash", "passwordHash", "digest"])
def test_hidden_columns_cannot_be_used_in_filters(api, runner, token, name):
    runner.invoke(args=["roles", "grant", "ada@example.com", "admin"])
    for wanted in ({"where": {name: "x"}}, {"order": name}, {"fields": [name]}):
        query = {"filter": json.dumps(wanted)}

        response = api("GET", "/users", token=token, query_string=query)

        assert response.status_code == 400


def test_users_without_a_realm_are_found_by_null(api, runner, token):
    api.register("bob@example.com", realm="r1")
    runner.invoke(args=["roles", "grant", "ada@example.com", "admin"])

    def emails(where):
        query = {"filter": json.dumps({"where": where})}
        found = api("GET", "/users", token=token, query_string=query).json
        return [each["email"] for each in found]

    assert emails({"realm": None}) == ["ada@example.com"]
    assert emails({"realm": {"neq": None}}) == ["bob@example.com"]
