"""Resource binding: what each model method calls, filters, records, refusals."""

from __future__ import annotations

import datetime
from urllib.parse import unquote

import pytest

from app.connector import (
    ConfigError,
    ConnectorError,
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
        elif handler.path.startswith("/users/count"):
            handler.reply({"count": 2})
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
        "GET /users?limit=5&username=ray&order=email",
        None,
    ),
    (lambda users: users.find_one(name="Ray"), "GET /users?name=Ray&limit=1", None),
    (lambda users: users.count(name="Ray"), "GET /users/count?name=Ray", None),
    (lambda users: users.find_by_id("a/b ?"), "GET /users/a%2Fb%20%3F", None),
    (lambda users: users.destroy_all(confirm=True), "DELETE /users", None),
    (
        lambda users: users.update_attributes(1, {"name": "R"}),
        "PUT /users/1",
        {"name": "R", "id": 1},
    ),
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
    source.define("Person", plural="staff").exists(1)
    source.define("Category", plural=True).exists(1)
    source.define("Category", plural=True, resource_name="kinds").exists(1)

    paths = [seen["path"] for seen in server.seen]
    assert paths[:3] == ["/Category/1", "/v2/transactions/1", "/odd%7Bx%7D%20name/1"]
    assert paths[3:] == ["/staff/1", "/Categories/1", "/kinds/1"]


def test_resource_takes_options_and_auth_of_its_data_source(connect):
    source = connect(options={"headers": {"x-a": "1"}, "auth": {"bearer": "t"}})

    headers = source.define("echo").find_by_id(1)["headers"]

    assert (headers["x-a"], headers["authorization"]) == ("1", "Bearer t")


def test_resource_lives_beside_operations(connect):
    source = connect([{"template": {"url": "/text"}, "functions": {"text": []}}])

    assert source.text() == "plain words"
    assert source.define("echo").find_by_id(1)["path"] == "/echo/1"


# What loopback-connector-rest 6.0.5 with loopback-datasource-juggler sends for each filter.
LOOPBACK_FILTERS = [
    ({}, ""),
    (None, ""),
    ({"where": {}}, ""),
    ({"where": {"name": "x"}}, "where[name]=x"),
    ({"where": {"name": None}}, "where[name]="),
    ({"where": {"flag": True}}, "where[flag]=true"),
    ({"where": {"age": {"gt": 5}}}, "where[age][gt]=5"),
    ({"where": {"or": [{"a": 1}, {"b": 2}]}}, "where[or][0][a]=1&where[or][1][b]=2"),
    ({"where": {"id": {"inq": [1, 2]}}}, "where[id][inq][0]=1&where[id][inq][1]=2"),
    ({"where": {"name": "x"}, "limit": 5}, "where[name]=x&limit=5&offset=0&skip=0"),
    (
        {"where": {"name": "x"}, "limit": 5, "skip": 2},
        "where[name]=x&limit=5&skip=2&offset=2",
    ),
    ({"limit": 5, "offset": 2}, "limit=5&offset=2&skip=2"),
    ({"limit": 2, "skip": 3, "offset": 4}, "limit=2&skip=3&offset=3"),
    ({"limit": 2}, "limit=2&offset=0&skip=0"),
    ({"limit": 0}, "limit=0"),
    ({"limit": 0, "skip": 1}, "limit=100&skip=1&offset=1"),
    ({"offset": 2}, "offset=2&limit=100&skip=2"),
    ({"skip": 2}, "skip=2&limit=100&offset=2"),
    ({"order": ["name ASC", "age DESC"]}, "order[0]=name ASC&order[1]=age DESC"),
    ({"fields": {"name": True, "age": False}}, "fields[0]=name"),
    ({"fields": "name"}, "fields[0]=name"),
    ({"where": {"a": 1}, "include": ["x", "y"]}, "where[a]=1&include[0]=x&include[1]=y"),
    (
        {"filter": {"where": {"name": "x"}, "skip": 3, "limit": 2}},
        "filter[where][name]=x&filter[skip]=3&filter[limit]=2",
    ),
    (
        {"filter": {"where": {"name": "x"}}, "limit": 3},
        "filter[where][name]=x&limit=3&offset=0&skip=0",
    ),
    ({"filter": '{"limit":3}'}, 'filter={"limit":3}'),
    ({"where": {"id": 1}}, "where[id]=1"),
    ({"where": {"id": 1}, "limit": 1, "skip": 1}, "where[id]=1&limit=1&skip=1&offset=1"),
    (
        {"where": {"id": 1}, "limit": 1, "order": "name"},
        "where[id]=1&limit=1&order=name&offset=0&skip=0",
    ),
]


@pytest.mark.parametrize(("filter_", "query"), LOOPBACK_FILTERS)
def test_filter_is_sent_as_loopback_sends_it(users, server, filter_, query):
    users.find(filter_)

    assert unquote(last(server)[0]) == "GET /users" + (f"?{query}" if query else "")


# The same for the methods that make other calls, or several.
LOOPBACK_CALLS = [
    (
        lambda users: users.findOne({"where": {"name": "x"}}),
        ["GET /users?where[name]=x&limit=1&offset=0&skip=0"],
    ),
    (lambda users: users.findOne(), ["GET /users?limit=1&offset=0&skip=0"]),
    (lambda users: users.findOne({"where": {"id": 1}}), ["GET /users/1"]),
    (lambda users: users.find({"where": {"id": 1}, "limit": 1}), ["GET /users/1"]),
    (lambda users: users.findByIds([]), []),
    (
        lambda users: users.findByIds([1, 2]),
        ["GET /users?where[id][inq][0]=1&where[id][inq][1]=2"],
    ),
    (
        lambda users: users.findByIds([2], {"where": {"name": "x"}, "limit": 1}),
        ["GET /users?where[and][0][id][inq][0]=2&where[and][1][name]=x&limit=1&offset=0&skip=0"],
    ),
    (lambda users: users.upsert({"id": 1, "name": "x"}), ["GET /users/1", "PUT /users/1"]),
    (lambda users: users.upsert({"name": "x"}), ["POST /users"]),
    (lambda users: users.deleteById(1), ["DELETE /users/1"]),
    (lambda users: users.destroyById(1), ["DELETE /users/1"]),
    (
        lambda users: users.findById(1).updateAttributes({"name": "z"}),
        ["GET /users/1", "PUT /users/1"],
    ),
]


@pytest.mark.parametrize(("method", "lines"), LOOPBACK_CALLS)
def test_method_makes_the_calls_that_loopback_makes(users, server, method, lines):
    method(users)

    calls = [f"{seen['method']} {seen['path']}?{seen['query']}" for seen in server.seen]
    assert [unquote(call).rstrip("?") for call in calls] == lines


def test_upsert_of_an_unknown_id_creates_where_the_id_is_declared(users, connect, server):
    with pytest.raises(NotFoundError):
        users.upsert({"id": 404, "name": "x"})
    connect().define("users", {"id": "number"}).updateOrCreate({"id": 404, "name": "x"})

    assert [seen["method"] for seen in server.seen] == ["GET", "GET", "POST"]
    assert last(server)[1] == {"id": 404, "name": "x"}


def test_upserted_record_keeps_the_fields_of_the_remote(users, server):
    record = users.upsert({"id": 1, "name": "Mary"})

    assert last(server) == ("PUT /users/1", {"id": 1, "name": "Mary"})
    assert (record.name, record.joined.year) == ("Mary", 2026)


def test_updated_attributes_are_sent_with_the_id_and_kept(users, server):
    record = users.find_by_id(1)

    assert record.update_attributes({"name": "z"}) is record
    assert last(server)[1] == {"name": "z", "id": 1}
    assert (record.name, record.joined.year) == ("z", 2026)


def test_objects_by_ids_are_in_the_order_of_the_ids(users):
    assert [user.id for user in users.find_by_ids(["2", 1, 2, 9])] == [2, 1]


def test_count_is_that_of_the_remote(users, server):
    assert users.count() == 2
    assert users.count({"name": "x"}) == 2
    assert [unquote(seen["query"]) for seen in server.seen] == ["", "where[name]=x"]


@pytest.mark.parametrize(
    ("body", "status", "error"),
    [({"message": "no"}, 404, NotSupportedError), ([1], 200, ResponseError)],
)
def test_count_that_the_remote_does_not_have_is_an_error(connect, server, body, status, error):
    server.routes["things"] = lambda handler: handler.reply(body, status)

    with pytest.raises(error, match="count"):
        connect().define("things").count()


CALLBACKS = [
    ("find", ()),
    ("find", ({"where": {"name": "x"}},)),
    ("find_one", ()),
    ("find_by_id", (1,)),
    ("find_by_ids", ([1],)),
    ("exists", (1,)),
    ("count", ({"name": "x"},)),
    ("create", ({"name": "x"},)),
    ("update", ({"id": 1, "name": "x"},)),
    ("upsert", ({"id": 1, "name": "x"},)),
    ("update_attributes", (1, {"name": "x"})),
    ("delete", (1,)),
]


@pytest.mark.parametrize(("method", "arguments"), CALLBACKS)
def test_callback_gets_what_the_method_returns(users, method, arguments):
    got = []

    returned = getattr(users, method)(*arguments, lambda error, result: got.append((error, result)))

    assert returned is None
    assert got == [(None, getattr(users, method)(*arguments))]


def test_callback_gets_the_error_of_the_remote(users):
    got = []
    users.find_by_id(404, lambda *found: got.append(found))

    [(error, body, response)] = got
    assert isinstance(error, NotFoundError)
    assert (body, response.status_code) == ({}, 404)


def test_record_takes_callbacks(users):
    got = []
    record = users.find_by_id(1)
    record.save(lambda error, saved: got.append((error, saved is record)))
    record.destroy(got.append)

    assert got == [(None, True), None]


def test_error_of_a_callback_is_raised_once(users):
    def done(error, found):
        got.append(error)
        raise ConnectorError("of the callback")

    got = []
    with pytest.raises(ConnectorError, match="of the callback"):
        users.find(done)

    assert got == [None]


FILTERS = [
    ("brackets", {"name": "Ray"}, "name=Ray"),
    (
        "json",
        {"where": {"age": {"gt": 5}}, "limit": 5},
        "filter=%7B%22where%22%3A%20%7B%22age%22%3A%20%7B%22gt%22%3A%205%7D%7D%2C%20%22limit%22%3A%205%7D",
    ),
    ("json", {}, ""),
    ("json", {"name": "Ray"}, "filter=%7B%22where%22%3A%20%7B%22name%22%3A%20%22Ray%22%7D%7D"),
    ("flat", {"fields": ["a", "b"]}, "fields%5B0%5D=a&fields%5B1%5D=b"),
    ("flat", {"where": None, "offset": 2}, "offset=2"),
    ("flat", {"where": {"name": "Ray"}, "skip": 2}, "skip=2&name=Ray"),
]


@pytest.mark.parametrize(("style", "given", "query"), FILTERS)
def test_filter_is_written_in_its_style(users, connect, server, style, given, query):
    connect().define("users", filter_style=style).find(given)

    assert server.seen[-1]["query"] == query


@pytest.mark.parametrize("condition", [{"age": {"gt": 5}}, {"or": [{"a": 1}]}])
def test_flat_filter_refuses_what_it_cannot_say(connect, condition):
    users = connect().define("users", filter_style="flat")

    with pytest.raises(VariableError, match=r"only equality.*'brackets' or 'json'"):
        users.find({"where": condition})


@pytest.mark.parametrize("filter_", [[1], "x", {"where": "x"}, {"where": [1]}])
def test_filter_that_is_no_object_is_refused(users, server, filter_):
    with pytest.raises(VariableError, match="must be an object, got"):
        users.find(filter_)

    assert server.seen == []


def test_unknown_filter_style_is_refused(connect):
    with pytest.raises(NotSupportedError, match="brackets, flat, json"):
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
    assert body["joined"] == "2026-01-02T03:04:05.678Z"
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


def test_what_has_no_conventional_call_is_refused(users):
    with pytest.raises(NotSupportedError, match="write a template operation"):
        users.update_all({"name": "x"})


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
    assert repr(users) == "<BoundModel users /users>"
