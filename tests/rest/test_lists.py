"""Lists that are asked for again, whose statements are compiled in advance."""

import json

import pytest

from app.database.statements import PreparedStatement
from app.rest.rows import pages
from app.rest.views import lists
from tests.conftest import PASSWORD
from tests.support.rows import statements

from .conftest import store

FILTERS = [
    None,
    {"where": {"isComplete": False}, "limit": 5},
    {"where": {"title": {"like": "a%"}, "desc": None}, "order": "created DESC"},
    {"where": {"created": {"gt": "2026-01-02T03:04:05.680Z"}}, "skip": 3},
    {"where": {"or": [{"id": {"inq": [1, 2]}}, {"id": {"between": [10, 12]}}]}},
    {"where": {"title": {"nin": ["a", "50 %"]}, "id": {"inq": [1, 2, 3, 4, 5]}}},
    {"where": {"title": {"nin": []}}},
    {"fields": ["title", "isComplete"], "include": "owner"},
    {"limit": 0},
]


@pytest.fixture
def prepared(monkeypatch):
    """The statements that were executed after being compiled in advance; none is yet."""
    lists._known_list.cache_clear()
    executed = []
    read = PreparedStatement.read

    def note(statement, *arguments):
        executed.append(statement)
        return read(statement, *arguments)

    monkeypatch.setattr(PreparedStatement, "read", note)
    return executed


@pytest.mark.both_databases
@pytest.mark.parametrize("filter_", FILTERS, ids=json.dumps)
def test_a_list_is_the_same_however_often_it_is_asked_for(find, rows, prepared, filter_):
    first, *others = (find(filter_) for _ in range(3))

    assert first.status_code == 200
    assert first.json
    assert [each.json for each in others] == [first.json] * 2
    assert {each.headers.get("Link") for each in others} == {first.headers.get("Link")}
    count = 1 + ("include" in (filter_ or {}))
    assert len(prepared) == 2 * count
    assert len(set(prepared)) == count


@pytest.mark.both_databases
def test_each_caller_gets_the_rows_that_are_theirs_by_then(api, token, runner, prepared):
    eve = {"email": "eve@example.com", "password": PASSWORD}
    api("POST", "/users", eve)
    other = api("POST", "/users/login", eve).json["id"]
    filter_ = {"filter": json.dumps({"where": {"isComplete": True}, "fields": ["title"]})}

    def create(title, token):
        return api("POST", "/todos", {"title": title, "isComplete": True}, token=token).json["id"]

    def titles(token):
        found = api("GET", "/todos", token=token, query_string=filter_).json
        return [each["title"] for each in found]

    create("a", token)
    assert [titles(token), titles(token), titles(other)] == [["a"], ["a"], []]
    number = create("b", other)
    assert [titles(token), titles(other)] == [["a"], ["b"]]
    api("PATCH", f"/todos/{number}", {"isComplete": False}, token=other)
    assert [titles(token), titles(other)] == [["a"], []]
    assert len(set(prepared)) == 1

    runner.invoke(args=["roles", "grant", "eve@example.com", "admin"])
    api("PATCH", f"/todos/{number}", {"isComplete": True}, token=other)
    assert [titles(other) for _ in range(3)] == [["a", "b"]] * 3
    assert titles(token) == ["a"]
    assert len(set(prepared)) == 2
    assert api("GET", "/todos", query_string=filter_).status_code == 401


@pytest.mark.both_databases
def test_the_rows_of_a_relation_are_those_of_each_parent_and_caller(api, token, runner, prepared):
    bob = api.logged_in("bob@example.com")
    for title, owner in [("a", token), ("b", token), ("c", bob)]:
        api("POST", "/todos", {"title": title}, token=owner)
    runner.invoke(args=["roles", "grant", "bob@example.com", "admin"])

    def titles(user, token, **filter_):
        wanted = {"where": {"isComplete": False}, **filter_}
        query = {"filter": json.dumps(wanted), "count": "true"}
        found = api("GET", f"/users/{user}/todos", token=token, query_string=query)
        return [each["title"] for each in found.json], found.headers.get("X-Total-Count")

    for _ in range(3):
        assert titles(1, token) == (["a", "b"], "2")
        assert titles(1, bob) == (["a", "b"], "2")
        assert titles(2, bob) == (["c"], "1")
        assert titles(1, token, limit=1, skip=1) == (["b"], "2")
    assert api("GET", "/users/2/todos", token=token).status_code == 403
    # Those of an owner and of an admin, and with another filter.
    assert len(set(prepared)) == 3


@pytest.mark.both_databases
def test_rows_are_counted_for_each_caller_and_parent(api, token, runner, prepared):
    bob = api.logged_in("bob@example.com")
    for title, owner in [("a", token), ("b", token), ("c", bob)]:
        api("POST", "/todos", {"title": title}, token=owner)
    runner.invoke(args=["roles", "grant", "bob@example.com", "admin"])

    def count(path, token, **where):
        query = {"where": json.dumps(where)} if where else {}
        return api("GET", f"{path}/count", token=token, query_string=query).json["count"]

    def total(path, token):
        query = {"filter": '{"limit":1}', "count": "true"}
        return api("GET", path, token=token, query_string=query).headers["X-Total-Count"]

    for _ in range(3):
        assert [count("/todos", each) for each in (token, bob)] == [2, 3]
        assert [count("/users/1/todos", each) for each in (token, bob)] == [2, 2]
        assert [count("/users/2/todos", bob), count("/users/2/todos", bob, title="a")] == [1, 0]
        assert [count("/todos", each, title="a") for each in (token, bob)] == [1, 1]
        assert [count("/todos", each, title={"inq": ["a", "c"]}) for each in (token, bob)] == [1, 2]
        assert [total("/todos", each) for each in (token, bob)] == ["2", "3"]
        assert total("/users/1/todos", bob) == "2"
    api("DELETE", "/todos/1", token=token)
    assert [count("/todos", token), count("/users/1/todos", bob), total("/todos", bob)] == [
        1,
        1,
        "2",
    ]
    # Three wheres and a page with its count, for an owner and an admin; and the same of a parent,
    # where nobody has requested some.
    assert len(set(prepared)) == 12


@pytest.mark.both_databases
def test_the_rows_of_a_relation_through_a_model_are_those_of_each_parent(clinic, prepared):
    for number in (1, 2):
        clinic("POST", "/physicians", {"name": f"Dr. {number}"})
        clinic("POST", f"/physicians/{number}/patients", {"name": f"P{number}"})

    for _ in range(3):
        names = [clinic("GET", f"/physicians/{number}/patients").json for number in (1, 2)]
        assert [[each["name"] for each in found] for found in names] == [["P1"], ["P2"]]
    clinic("PUT", "/physicians/1/patients/rel/2")
    assert len(clinic("GET", "/physicians/1/patients").json) == 2
    assert len(set(prepared)) == 1


@pytest.mark.both_databases
def test_what_is_included_is_what_each_caller_may_read_by_then(api, token, runner, prepared):
    bob = api.logged_in("bob@example.com")
    for title, owner in [("a", token), ("b", token), ("c", bob)]:
        api("POST", "/todos", {"title": title}, token=owner)
    runner.invoke(args=["roles", "grant", "bob@example.com", "admin"])
    query = {"filter": json.dumps({"include": "todos", "fields": ["id"]})}

    def titles(path, token):
        found = api("GET", path, token=token, query_string=query).json
        users = found if isinstance(found, list) else [found]
        return [[todo["title"] for todo in each["todos"]] for each in users]

    for _ in range(3):
        assert titles("/users/1", token) == titles("/users/1", bob) == [["a", "b"]]
        assert titles("/users", bob) == [["a", "b"], ["c"]]
    api("DELETE", "/todos/1", token=token)
    assert titles("/users/1", token) == titles("/users/1", bob) == [["b"]]
    # The list of users, and the to-dos of an owner and of an admin.
    assert len(set(prepared)) == 3


@pytest.mark.both_databases
def test_it_sends_the_same_statements(app, find, rows):
    filter_ = {"where": {"isComplete": True}, "limit": 3}
    with statements(app) as sent:
        find(filter_)
        first = sent.copy()
        sent.clear()
        find(filter_)

    # The token, and the rows.
    assert len(first) == len(sent) == 2


@pytest.mark.both_databases
@pytest.mark.parametrize("count", ["x", "TRUE", ""])
def test_what_is_wrong_is_wrong_again(api, token, find, count):
    for _ in range(3):
        assert find({"where": {"nope": 1}}).json["error"]["code"] == "INVALID_FILTER"
        assert api("GET", "/todos", token=token, query_string={"count": count}).status_code == 400
        twice = api("GET", "/todos", token=token, query_string="filter={}&filter={}")
        assert twice.json["message"] == "filter is given 2 times."


@pytest.mark.both_databases
def test_brackets_and_json_are_filters_of_their_own(api, token, rows, prepared):
    def ids(query):
        found = api("GET", "/todos", token=token, query_string=f"{query}&x=1&filterx=2").json
        return [each["id"] for each in found]

    for _ in range(3):
        assert ids("filter[where][id]=3") == [3]
        assert ids("filter[where][id][lt]=3&filter[limit]=1") == [1]
        assert ids('filter={"where":{"id":2}}') == [2]
    assert len(set(prepared)) == 3


@pytest.mark.both_databases
def test_a_page_that_ends_early_leaves_the_database_free(app, api, token, prepared):
    text = "x" * 10_000
    store(app, [{"title": "a", "desc": text, "owner_id": 1} for _ in range(250)])

    pages = [api("GET", "/todos", token=token) for _ in range(3)]

    assert [len(each.json) for each in pages] == [196] * 3
    assert {each.headers["Link"] for each in pages} == {pages[0].headers["Link"]}
    assert len(prepared) == 2
    large = {"filter": json.dumps({"limit": 250})}
    for _ in range(3):
        answer = api("GET", "/todos", token=token, query_string=large)
        assert "2,000,000 bytes" in answer.json["message"]
    assert api("POST", "/todos", {"title": "b"}, token=token).status_code == 200


@pytest.mark.both_databases
def test_few_filters_are_kept(find, rows):
    lists._known_list.cache_clear()
    for number in range(2 * lists.MAX_FILTERS):
        find({"where": {"id": number}})
    find({"where": {"title": {"inq": ["x" * 100] * 5}}})

    assert lists._known_list.cache_info().currsize == lists.MAX_FILTERS


def test_of_statements_with_includes_few_are_kept(find, runner, rows):
    """Each filter has two statements for callers who read their own rows, and two for others."""
    lists._known_list.cache_clear()
    pages._prepare.cache_clear()
    filters = [{"include": "owner", "limit": limit} for limit in range(1, lists.MAX_FILTERS + 1)]

    for role in ("none", "admin"):
        runner.invoke(args=["roles", "grant", "ada@example.com", role])
        for filter_ in filters:
            assert [find(filter_).status_code for _ in range(2)] == [200, 200]

    assert 64 < pages._prepare.cache_info().currsize <= 128
