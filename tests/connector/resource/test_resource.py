"""Resource binding: what each model method calls, filters, records, refusals."""

from __future__ import annotations

import datetime

import pytest

from app.connector import (
    ConfigError,
    DataSource,
    HTTPStatusError,
    MissingVariableError,
    NotFoundError,
    NotSupportedError,
    ResponseError,
    VariableError,
)


@pytest.fixture
def users(connect, server):
    """Bind `users` on a server that answers as such an API does."""

    def answer(handler):
        has_id = handler.path.partition("?")[0].count("/") > 1
        if handler.command == "DELETE":
            handler.send_response(204)
            handler.end_headers()
        elif handler.command == "GET" and not has_id:
            handler.reply([{"id": 1, "name": "Ray"}, {"id": 2, "name": "Mary"}])
        elif handler.path.endswith("/404"):
            handler.reply({}, 404)
        elif handler.command == "GET":
            handler.reply({"id": 1, "name": "Ray", "joined": "2026-01-02T03:04:05.678Z"})
        else:
            handler.reply({**handler.seen()["json"], "id": 7}, 201)

    server.routes["users"] = answer
    return connect().define("users", {"name": "string", "joined": "date"})


def last(server):
    seen = server.seen[-1]
    query = f"?{seen['query']}" if seen["query"] else ""
    return f"{seen['method']} {seen['path']}{query}", seen["json"]


CALLS = [
    (lambda users: users.create({"name": "Mary"}), "POST /users", {"name": "Mary"}),
    (lambda users: users.find_by_id(1), "GET /users/1", None),
    (lambda users: users.findById(1), "GET /users/1", None),
    (lambda users: users.exists(1), "GET /users/1", None),
    (lambda users: users.delete(1), "DELETE /users/1", None),
    (lambda users: users.update({"id": 1, "name": "R"}), "PUT /users/1", {"id": 1, "name": "R"}),
    (lambda users: users.patch(1, {"name": "R"}), "PATCH /users/1", {"name": "R"}),
    (lambda users: users.find(), "GET /users", None),
    (
        lambda users: users.find(limit=5, order="email", username="ray"),
        "GET /users?limit=5&order=email&username=ray",
        None,
    ),
    (
        lambda users: users.find({"limit": 5, "username": "ray", "order": "email"}),
        "GET /users?limit=5&order=email&username=ray",
        None,
    ),
    (
        lambda users: users.find({"where": {"name": "Ray"}, "skip": 2}),
        "GET /users?skip=2&name=Ray",
        None,
    ),
    (lambda users: users.find_one(name="Ray"), "GET /users?limit=1&name=Ray", None),
    (lambda users: users.find_by_id("a/b ?"), "GET /users/a%2Fb%20%3F", None),
    (lambda users: users.destroy_all(confirm=True), "DELETE /users", None),
]


@pytest.mark.parametrize(("method", "line", "body"), CALLS)
def test_model_method_makes_its_remote_call(users, server, method, line, body):
    method(users)

    assert last(server) == (line, body)


def test_segment_is_the_model_name_as_it_is(connect, server):
    source = connect()
    source.define("Category").exists(1)
    source.define("ServiceTransaction", {}, resource_name="v2/transactions").exists(1)
    source.define("odd{x} name").exists(1)

    paths = [seen["path"] for seen in server.seen]
    assert paths == ["/Category/1", "/v2/transactions/1", "/odd%7Bx%7D%20name/1"]


def test_resource_takes_options_and_auth_of_its_data_source(connect):
    source = connect(options={"headers": {"x-a": "1"}, "auth": {"bearer": "t"}})

    headers = source.define("echo").find_by_id(1)["headers"]

    assert (headers["x-a"], headers["authorization"]) == ("1", "Bearer t")


def test_resource_lives_beside_operations(connect):
    source = connect([{"template": {"url": "/text"}, "functions": {"text": []}}])

    assert source.text() == "plain words"
    assert source.define("echo").find_by_id(1)["path"] == "/echo/1"


FILTERS = [
    ("brackets", {"where": {"age": {"gt": 5}}, "limit": 5}, "where%5Bage%5D%5Bgt%5D=5&limit=5"),
    ("brackets", {"name": "Ray"}, "where%5Bname%5D=Ray"),
    (
        "json",
        {"where": {"age": {"gt": 5}}, "limit": 5},
        "filter=%7B%22where%22%3A%20%7B%22age%22%3A%20%7B%22gt%22%3A%205%7D%7D%2C%20%22limit%22%3A%205%7D",
    ),
    ("json", {}, ""),
    ("flat", {"fields": ["a", "b"]}, "fields%5B0%5D=a&fields%5B1%5D=b"),
    ("flat", {"where": None, "offset": 2}, "offset=2"),
]


@pytest.mark.parametrize(("style", "given", "query"), FILTERS)
def test_filter_is_written_in_its_style(users, connect, server, style, given, query):
    connect().define("users", filter_style=style).find(given)

    assert server.seen[-1]["query"] == query


@pytest.mark.parametrize("condition", [{"age": {"gt": 5}}, {"or": [{"a": 1}]}])
def test_flat_filter_refuses_what_it_cannot_say(users, condition):
    with pytest.raises(VariableError, match=r"only equality.*'brackets' or 'json'"):
        users.find({"where": condition})


def test_unknown_filter_style_is_refused(connect):
    with pytest.raises(NotSupportedError, match="flat, brackets, json"):
        connect().define("users", filter_style="odd")


def test_created_record_has_the_id_of_the_remote(users):
    record = users.create({"name": "Mary"})

    assert (record.id, record.name, record["name"]) == (7, "Mary", "Mary")


def test_list_is_created_one_by_one(users, server):
    records = users.create([{"name": "a"}, {"name": "b"}])

    assert [record.name for record in records] == ["a", "b"]
    assert server.hits["/users"] == 2


def test_found_records_have_fields_and_dates(users):
    record = users.find_by_id(1)

    assert record.joined == datetime.datetime(2026, 1, 2, 3, 4, 5, 678000, datetime.UTC)
    assert "name" in record
    assert "age" not in record
    assert repr(record) == "<users 1>"
    assert record == users.find_by_id(1)
    assert record != {"id": 1}
    with pytest.raises(AttributeError, match="users has no field 'age'"):
        record.age()


def test_date_that_is_none_stays_as_it_is(connect, server):
    server.routes["things"] = lambda h: h.reply([{"at": "soon"}, {"at": None}, {}])

    things = connect().define("things", {"at": {"type": "Date"}}).find()

    assert [thing.to_dict() for thing in things] == [{"at": "soon"}, {"at": None}, {}]


def test_record_is_changed_and_saved(users, server):
    record = users.find_by_id(1)
    record.name = "Changed"
    record["age"] = 5

    assert record.save() is record
    line, body = last(server)
    assert line == "PUT /users/1"
    assert (body["name"], body["age"]) == ("Changed", 5)
    assert body["joined"] == "2026-01-02T03:04:05.678000+00:00"
    assert record.id == 7


def test_record_without_id_is_created_by_save(users, server):
    record = users.create({"name": "x"})
    del record._values["id"]
    record.save()

    assert last(server)[0] == "POST /users"


def test_record_is_updated_and_destroyed(users, server):
    record = users.find_by_id(1)
    users.update(record)
    assert last(server)[0] == "PUT /users/1"

    record.destroy()
    assert last(server)[0] == "DELETE /users/1"


def test_record_gives_a_copy_of_its_fields(users):
    record = users.find_by_id(1)
    record.to_dict()["name"] = "other"

    assert record.name == "Ray"


def test_missing_object_is_an_error_and_does_not_exist(users):
    with pytest.raises(NotFoundError, match=r"users\.find_by_id: GET .*/users/404: 404"):
        users.find_by_id(404)

    assert users.exists(404) is False
    assert users.exists(1) is True


def test_other_errors_of_exists_are_errors(connect):
    with pytest.raises(HTTPStatusError):
        connect().define("status").exists(500)


@pytest.mark.parametrize("identifier", [None, ""])
@pytest.mark.parametrize("method", ["find_by_id", "delete", "exists"])
def test_id_without_value_is_refused(users, server, method, identifier):
    with pytest.raises(MissingVariableError, match="users: id has no value"):
        getattr(users, method)(identifier)

    assert server.seen == []


@pytest.mark.parametrize("identifier", [".", "..", {"name": "x"}])
def test_id_that_is_none_is_refused(users, server, identifier):
    with pytest.raises(VariableError):
        users.delete(identifier)

    assert server.seen == []


@pytest.mark.parametrize("data", [None, "x", 5])
@pytest.mark.parametrize("method", ["create", "update"])
def test_data_that_is_no_object_is_refused(users, server, method, data):
    with pytest.raises(VariableError, match="the data must be an object"):
        getattr(users, method)(data)

    assert server.seen == []


def test_update_without_id_is_refused(users):
    with pytest.raises(MissingVariableError):
        users.update({"name": "x"})


@pytest.mark.parametrize("arguments", [{}, {"confirm": 1}, {"where": {}, "confirm": True}])
def test_bulk_delete_without_confirmation_is_refused(users, server, arguments):
    with pytest.raises(NotSupportedError):
        users.destroy_all(**arguments)

    assert server.seen == []


@pytest.mark.parametrize("method", ["count", "update_all"])
def test_what_has_no_conventional_call_is_refused(users, method):
    with pytest.raises(NotSupportedError, match="write a template operation"):
        getattr(users, method)({"name": "x"})


def test_answer_of_the_wrong_shape_is_an_error(connect, server):
    server.routes["things"] = lambda h: h.reply({"a": 1} if h.path == "/things" else [1])
    things = connect().define("things")

    with pytest.raises(ResponseError, match="response is not a list"):
        things.find()
    with pytest.raises(ResponseError, match="response is not an object"):
        things.find_by_id(1)


def test_find_one_without_match_is_none(connect, server):
    server.routes["things"] = lambda h: h.reply([])

    assert connect().define("things").find_one() is None


def test_resource_without_base_url_is_a_configuration_error():
    with pytest.raises(ConfigError, match="baseURL: is needed"):
        DataSource.from_config({}).define("users")


def test_resource_says_what_it_is(users):
    assert repr(users) == "<Resource users /users>"
