"""Models in JSON whose rows are at a REST data source, which is a real local server."""

import json

import pytest

from app.datasources.rows import Permitted
from app.problems import ConfigurationError
from tests.connector.conftest import http_server, server  # noqa: F401 fixtures
from tests.support.answers import field_codes, refusal

ALLOW = {"principalType": "ROLE", "permission": "ALLOW"}
OWNED = [
    {**ALLOW, "principalId": "$authenticated", "property": "create"},
    {**ALLOW, "principalId": "$owner"},
    {**ALLOW, "principalId": "admin"},
]
TICKET = {
    "name": "Ticket",
    "resourceName": "v1/tickets",
    "properties": {
        "title": {"type": "string", "required": True, "length": 20},
        "dueOn": "dateonly",
        "price": {"type": "decimal", "precision": 8, "scale": 2, "default": "1.50"},
        "ownerId": "number",
        "secret": {"type": "string", "hidden": True},
    },
    "relations": {"owner": {"type": "belongsTo", "model": "User", "foreignKey": "ownerId"}},
    "acls": OWNED,
}
DENIED = ["find", "count", "patchAttributes", "deleteById"]
CONFIG = {"Ticket": {"dataSource": "desk", "public": True}}
# What the connector sends with every limit.
PAGE = [("limit", "1000"), ("offset", "0"), ("skip", "0")]
ROWS = [
    {"id": 1, "title": "hers", "ownerId": 1, "secret": "x", "internal": True},
    {"id": 2, "title": "his", "ownerId": 2, "secret": "y"},
]


@pytest.fixture
def remote(server):  # noqa: F811
    """A remote service with tickets, which ignores every filter."""
    rows = {each["id"]: dict(each) for each in ROWS}

    def answer(handler):
        parts = handler.path.partition("?")[0].strip("/").split("/")
        found = rows.get(int(parts[2])) if len(parts) > 2 and parts[2].isdigit() else None
        body = json.loads(handler.content or b"null")
        if parts[-1] == "count":
            handler.reply({"count": len(rows)})
        elif len(parts) > 2 and found is None:
            handler.reply({"message": "none"}, 404)
        elif handler.command == "GET":
            handler.reply(list(rows.values()) if found is None else found)
        elif handler.command == "DELETE":
            del rows[found["id"]]
            handler.reply(None, 200)
        else:
            row = found if found is not None else {"id": max(rows) + 1}
            row.update(body | {"id": row["id"]})
            rows[row["id"]] = row
            handler.reply(row)

    server.routes["v1"] = answer
    server.rows = rows
    return server


@pytest.fixture
def tickets(serve, remote, request):
    """Call tickets as Ada, who is 1, Bob, who is 2, or Root, who is an admin.

    A parameter is the time-out of the data source in milliseconds.
    """
    options = {"timeout": getattr(request, "param", 60_000)}
    sources = {"desk": {"connector": "rest", "baseURL": remote.url, "options": options}}
    api = serve({"ticket": TICKET}, CONFIG, DATA_SOURCES=sources)
    tokens = {name: api.logged_in(f"{name}@example.com") for name in ("ada", "bob", "root")}
    api.client.application.test_cli_runner().invoke(
        args=["roles", "grant", "root@example.com", "admin"]
    )

    def call(verb, path="", body=None, caller="ada", **query):
        texts = {name: json.dumps(value) for name, value in query.items()}
        token = tokens.get(caller)
        return api(verb, f"/tickets{path}", body, token=token, query_string=texts)

    call.app, call.api, call.tokens = api.client.application, api, tokens
    return call


def test_rows_are_read_and_written_at_the_data_source(tickets, remote):
    created = tickets("POST", "", {"title": "new", "dueOn": "2026-03-01"})
    sent = remote.seen[-1]

    assert created.json == {
        "id": 3,
        "title": "new",
        "dueOn": "2026-03-01",
        "price": "1.50",
        "ownerId": 1,
    }
    assert (sent["method"], sent["path"], sent["json"]["ownerId"]) == ("POST", "/v1/tickets", 1)
    assert tickets("GET", "/3").json == created.json
    assert tickets("PATCH", "/3", {"title": "b"}).json == {**created.json, "title": "b"}
    assert remote.seen[-1]["method"] == "PATCH"
    assert tickets("PUT", "/3", {"title": "c"}).json["title"] == "c"
    assert remote.seen[-1]["method"] == "PUT"
    assert tickets("GET", "/3/exists").json == {"exists": True}
    assert tickets("DELETE", "/3").json == {"count": 1}
    assert refusal(tickets("DELETE", "/3")) == (404, "MODEL_NOT_FOUND")
    assert tickets("GET", "/3/exists").json == {"exists": False}


def test_rows_at_a_data_source_are_read_and_changed_conditionally(tickets, remote):
    def send(verb, body=None, **headers):
        return tickets.api(verb, "/tickets/1", body, token=tickets.tokens["ada"], headers=headers)

    # As services do whose ids are 64 bits wide.
    remote.rows[1]["id"] = "1"
    read = send("GET").headers["ETag"]
    known = send("GET", **{"If-None-Match": read})
    remote.rows[1]["secret"] = "z"
    changed = send("PATCH", {"title": "b"}, **{"If-Match": read})
    remote.rows[1]["title"] = "changed there"
    overtaken = [
        send(verb, {"title": "c"}, **{"If-Match": changed.headers["ETag"]})
        for verb in ("PATCH", "PUT", "DELETE")
    ]

    assert (known.status_code, known.data) == (304, b"")
    assert send("HEAD").headers["ETag"] == send("GET").headers["ETag"]
    assert changed.json["title"] == "b"
    assert {refusal(answer) for answer in overtaken} == {(412, "PRECONDITION_FAILED")}
    assert remote.rows[1]["title"] == "changed there"


CODE = """
from app.access.rules import READ
from app.errors import AccessDenied

EVENTS = []


def extend(ticket):
    @ticket.before_save.connect
    def tidy(resource, event):
        EVENTS.append(("before", event.is_new, event.row and event.row.title))
        event.values["title"] = event.values["title"].strip()

    @ticket.after_save.connect
    def note(resource, event):
        EVENTS.append(("after", event.is_new, event.row.title))

    @ticket.before_delete.connect
    def keep(resource, event):
        if event.row.title == "hers":
            raise AccessDenied()

    @ticket.loaded.connect
    def sign(resource, event):
        event.values["title"] += "."

    @ticket.endpoint("events", READ, "GET /<id>/events", answer={})
    def events(row):
        return {"title": row.title, "events": EVENTS}
"""


def test_models_at_a_data_source_have_hooks_and_own_endpoints(serve, remote):
    ticket = {**TICKET, "acls": [*OWNED, {**ALLOW, "principalId": "$owner", "property": "events"}]}
    code = {"ticket": CODE}
    api = serve({"ticket": ticket}, CONFIG, code, DATA_SOURCES={"desk": {"baseURL": remote.url}})
    token = api.logged_in()

    assert api("POST", "/tickets", {"title": " new "}, token=token).json["title"] == "new."
    assert api("PATCH", "/tickets/3", {"title": " b"}, token=token).json["title"] == "b."
    assert api("PUT", "/tickets/3", {"title": "c"}, token=token).json["ownerId"] == 1
    assert remote.seen[-1]["method"] == "PUT"
    assert [each["title"] for each in api("GET", "/tickets", token=token).json] == ["hers.", "c."]
    assert refusal(api("PATCH", "/tickets/2", {"title": "x"}, token=token))[0] == 404
    assert refusal(api("DELETE", "/tickets/1", token=token)) == (403, "ACCESS_DENIED")
    assert api("DELETE", "/tickets/3", token=token).json == {"count": 1}
    assert sorted(remote.rows) == [1, 2]
    assert refusal(api("GET", "/tickets/2/events", token=token))[0] == 404
    assert api("GET", "/tickets/1/events", token=token).json == {
        "title": "hers",
        "events": [
            *(["before", True, None], ["after", True, "new"]),
            *(["before", False, "new"], ["after", False, "b"]),
            *(["before", False, "b"], ["after", False, "c"]),
        ],
    }


@pytest.mark.parametrize("answered", [{"id": 77}, {"id": None}])
def test_with_hooks_the_row_of_the_path_is_changed_whatever_id_the_service_answers(
    serve, remote, answered
):
    api = serve(
        {"ticket": TICKET}, CONFIG, {"ticket": CODE}, DATA_SOURCES={"desk": {"baseURL": remote.url}}
    )
    token = api.logged_in()
    remote.routes["v1"] = lambda handler: handler.reply({**ROWS[0], **answered})

    for verb, body in [("PATCH", {"title": "b"}), ("PUT", {"title": "c"}), ("DELETE", None)]:
        assert api(verb, "/tickets/1", body, token=token).status_code in (200, 403)

    assert {sent["path"].partition("?")[0] for sent in remote.seen} == {"/v1/tickets/1"}


def test_a_dynamic_role_of_rows_at_a_data_source_stops_the_start(serve, remote):
    code = {"ticket": 'def extend(ticket):\n    ticket.roles["reader"] = lambda user_id: None\n'}
    with pytest.raises(ConfigurationError, match="Tickets: rows at a data source have no dynamic"):
        serve({"ticket": TICKET}, CONFIG, code, DATA_SOURCES={"desk": {"baseURL": remote.url}})


def test_a_client_sends_back_what_it_has_read(tickets, remote):
    row = tickets("GET", "/1").json

    assert tickets("PATCH", "/1", {**row, "title": "b"}).json["title"] == "b"
    assert remote.seen[-1]["json"] == {"title": "b", "ownerId": 1}
    assert field_codes(tickets("PATCH", "/1", {"id": 2})) == {"id": ["absence"]}


def test_an_owner_gives_a_row_at_a_data_source_away_where_the_model_says_so(serve, remote):
    sources = {"desk": {"connector": "rest", "baseURL": remote.url, "options": {"timeout": 60_000}}}
    api = serve({"ticket": {**TICKET, "ownerMayChange": True}}, CONFIG, DATA_SOURCES=sources)
    ada = api.logged_in()

    assert api("PATCH", "/tickets/1", {"ownerId": 2}, token=ada).json["ownerId"] == 2
    for row in (1, 2):
        answer = api("PATCH", f"/tickets/{row}", {"ownerId": 1}, token=ada)
        assert refusal(answer) == (404, "MODEL_NOT_FOUND")
    created = api("POST", "/tickets", {"title": "a", "ownerId": 2}, token=ada)
    assert field_codes(created) == {"ownerId": ["invalid"]}


def test_methods_of_models_at_a_data_source_are_switched_off_alike(serve, remote):
    sources = {"desk": {"connector": "rest", "baseURL": remote.url, "options": {"timeout": 60_000}}}
    ticket = {
        **TICKET,
        "replaceOnPUT": False,
        "acls": [{**ALLOW, "principalId": "$everyone"}],
    }
    ticket["disableRemoteMethodByName"] = ["destroyById"]
    api = serve({"ticket": ticket}, CONFIG, DATA_SOURCES=sources, SHARED_METHODS={"count": False})

    assert refusal(api("DELETE", "/tickets/1")) == (404, "NOT_FOUND")
    assert refusal(api("GET", "/tickets/count")) == (404, "NOT_FOUND")
    assert api("PUT", "/tickets/1", {"title": "b"}).json["title"] == "b"
    assert remote.seen[-1]["method"] == "PATCH"


def test_hidden_and_undeclared_properties_stay_here(tickets):
    assert tickets("GET", "/1").json == {"id": 1, "title": "hers", "ownerId": 1}
    assert refusal(tickets("GET", "", filter={"where": {"secret": "x"}})) == (400, "INVALID_FILTER")


def test_an_owner_gets_own_rows_only_even_if_the_service_heeds_no_filter(tickets, remote):
    assert [each["id"] for each in tickets("GET").json] == [1]
    assert remote.seen[-1]["entries"] == [("where[and][1][ownerId]", "1"), *PAGE]
    assert [each["id"] for each in tickets("GET", caller="root").json] == [1, 2]
    assert tickets("GET", "/count").json == {"count": 1}
    assert tickets("GET", "/count", caller="root").json == {"count": 2}
    assert tickets("GET", "/findOne", caller="bob").json["id"] == 2
    for verb, body in [("GET", None), ("PATCH", {"title": "x"}), ("DELETE", None)]:
        assert refusal(tickets(verb, "/2", body)) == (404, "MODEL_NOT_FOUND")
    assert refusal(tickets("GET", "/1", caller=None)) == (401, "AUTHORIZATION_REQUIRED")
    assert remote.rows[2]["title"] == "his"
    for body in ({"title": "a", "ownerId": 2}, {"ownerId": 2}, {"ownerId": None}):
        verb, path = ("POST", "") if "title" in body else ("PATCH", "/1")
        assert field_codes(tickets(verb, path, body)) == {"ownerId": ["invalid"]}
    assert tickets("PATCH", "/1", {"ownerId": 2}, "root").json["ownerId"] == 2


def test_a_row_whose_id_is_that_of_its_user_has_an_owner(serve, remote):
    remote.rows.clear()
    remote.rows.update({id: {"id": id, "userId": id, "title": "a"} for id in (1, 2)})
    ticket = {
        **TICKET,
        "properties": {"userId": {"type": "number", "id": True}, "title": "string"},
        "relations": {"user": {"type": "belongsTo", "model": "User"}},
    }
    sources = {"desk": {"connector": "rest", "baseURL": remote.url}}
    api = serve({"ticket": ticket}, CONFIG, DATA_SOURCES=sources)
    ada, bob = api.logged_in(), api.logged_in("bob@example.com")

    assert api("GET", "/tickets", token=ada).json == [{"userId": 1, "title": "a"}]
    assert api("GET", "/tickets/1", token=ada).status_code == 200
    assert api("PATCH", "/tickets/1", {"title": "b"}, token=ada).json["title"] == "b"
    for verb, body in (("GET", None), ("PATCH", {"title": "c"}), ("DELETE", None)):
        assert refusal(api(verb, "/tickets/1", body, token=bob)) == (404, "MODEL_NOT_FOUND")
    assert remote.rows[1]["title"] == "b"


def test_what_is_denied_to_owners_holds_for_their_rows_only(serve, remote):
    acls = [
        {**ALLOW, "principalId": "$authenticated"},
        {**ALLOW, "principalId": "$owner", "permission": "DENY", "property": DENIED},
    ]
    sources = {"desk": {"baseURL": remote.url}}
    api = serve({"ticket": {**TICKET, "acls": acls}}, CONFIG, DATA_SOURCES=sources)
    token = api.logged_in()

    for verb, body in [("PATCH", {"title": "x"}), ("DELETE", None)]:
        response = api(verb, "/tickets/1", body, token=token)
        assert refusal(response) == (403, "ACCESS_DENIED"), verb
    assert remote.rows[1]["title"] == "hers"
    assert [each["id"] for each in api("GET", "/tickets", token=token).json] == [2]
    assert remote.seen[-1]["entries"] == [("where[and][1][ownerId][neq]", "1"), *PAGE]
    assert api("GET", "/tickets/count", token=token).json == {"count": 1}
    assert api("GET", "/tickets/1", token=token).status_code == 200
    assert api("PATCH", "/tickets/2", {"title": "x"}, token=token).json["title"] == "x"
    assert api("DELETE", "/tickets/2", token=token).json == {"count": 1}


def test_owners_create_nothing_and_exists_is_the_rule_of_head(serve, remote):
    acls = [
        {**ALLOW, "principalId": "$owner"},
        {**ALLOW, "principalId": "$everyone", "property": "exists"},
    ]
    sources = {"desk": {"baseURL": remote.url}}
    api = serve({"ticket": {**TICKET, "acls": acls}}, CONFIG, DATA_SOURCES=sources)
    token = api.logged_in()

    assert refusal(api("POST", "/tickets", {"title": "a"}, token=token)) == (403, "ACCESS_DENIED")
    assert len(remote.rows) == len(ROWS)
    assert [api("HEAD", f"/tickets/{id}").status_code for id in (1, 9)] == [200, 404]
    assert api("GET", "/tickets/1").status_code == 401
    assert api("GET", "/tickets/1", token=token).status_code == 200


def test_filters_are_checked_here_and_passed_on(tickets, remote):
    where = {"dueOn": {"gt": "2026-01-01"}, "title": {"inq": ["a", "b"]}}

    filter_ = {"where": where, "order": "title DESC", "fields": ["id"]}
    found = tickets("GET", "", None, "root", filter=filter_, count=True)

    assert found.json == [{"id": 1}, {"id": 2}]
    assert "X-Total-Count" not in found.headers
    assert dict(remote.seen[-1]["entries"]) == {
        "where[dueOn][gt]": "2026-01-01",
        "where[title][inq][0]": "a",
        "where[title][inq][1]": "b",
        "order": "title DESC",
        **dict(PAGE),
    }
    header = {
        "filter": json.dumps({"where": {"title": "a"}}),
        "Authorization": tickets.tokens["ada"],
    }
    assert tickets.api("GET", "/tickets", headers=header).headers["Vary"] == "filter"
    assert dict(remote.seen[-1]["entries"])["where[and][0][title]"] == "a"
    before = len(remote.seen)
    for wrong in [
        {"where": {"nothing": 1}},
        {"where": {"dueOn": "soon"}},
        {"where": {"title": {"$where": "1"}}},
        {"where": {"or": [{"title": "a"}, {"id": {}}]}},
        {"include": "owner"},
        {"after": "abc"},
        {"limit": "many"},
    ]:
        assert refusal(tickets("GET", "", filter=wrong)) == (400, "INVALID_FILTER"), wrong
    assert field_codes(tickets("POST", "", {"title": "x" * 21})) == {"title": ["invalid"]}
    assert len(remote.seen) == before


UUID = "018c5a3e-7d2b-7c1a-9f00-3b1d2e4f5a6b"
# What is an id, and what is none, by the type that the model declares.
IDS = {
    "number": (
        ["1", "9" * 18],
        ["export", "0", "-1", "+1", "1.5", "1e3", "9" * 19, UUID, "%2e%2e"],
    ),
    "uuid": ([UUID, UUID.upper()], ["export", "1", UUID[:-1]]),
    "objectid": (["507f1f77bcf86cd799439011"], ["export", "1", UUID]),
    "string": (["export", "a b"], ["%2e%2e", "%2e", "a" * 256, "%0a"]),
}


@pytest.mark.parametrize("kind", IDS)
def test_an_id_of_another_type_is_unknown_and_the_service_is_not_asked(serve, remote, kind):
    declared = {"id": {"type": kind, "id": True, "generated": True}, "title": "string"}
    acls = [{**ALLOW, "principalId": "$everyone"}]
    model = {"name": "Ticket", "resourceName": "v1/tickets", "properties": declared, "acls": acls}
    api = serve({"ticket": model}, CONFIG, DATA_SOURCES={"desk": {"baseURL": remote.url}})
    ids, others = IDS[kind]

    for id in others:
        for verb, path in [
            *((verb, f"/tickets/{id}") for verb in ("GET", "PUT", "PATCH", "DELETE")),
            ("POST", f"/tickets/{id}/replace"),
        ]:
            assert refusal(api(verb, path, {})) == (404, "MODEL_NOT_FOUND"), (verb, path)
        assert api("HEAD", f"/tickets/{id}").status_code == 404
        assert api("GET", f"/tickets/{id}/exists").json == {"exists": False}
    assert remote.seen == []
    for id in ids:
        api("GET", f"/tickets/{id}")
    assert len(remote.seen) == len(ids)


def test_an_open_model_has_properties_that_are_not_declared(serve, remote):
    acls = [{**ALLOW, "principalId": "$everyone"}]
    model = {**TICKET, "strict": False, "relations": {}, "acls": acls}
    api = serve({"ticket": model}, CONFIG, DATA_SOURCES={"desk": {"baseURL": remote.url}})

    changed = api("PATCH", "/tickets/1", {"floor": 3})

    assert changed.json == {"id": 1, "title": "hers", "ownerId": 1, "internal": True, "floor": 3}
    assert remote.seen[-1]["json"] == {"floor": 3}


def test_a_service_that_knows_no_such_collection_has_failed(tickets, remote):
    remote.routes["v1"] = lambda handler: handler.reply({"message": "none"}, 404)

    assert tickets("POST", "", {"title": "a"}).status_code == 502
    assert tickets("GET", "/count", caller="root").status_code == 502


@pytest.mark.parametrize("tickets", [1000], indirect=True, ids=["slow"])
def test_failures_of_the_service_are_502_and_504_without_its_words(tickets, remote):
    for route, status in [("status", 502), ("broken", 502), ("slow", 504)]:
        action = getattr(remote.RequestHandlerClass, f"on_{route}")
        if route == "status":
            remote.routes["v1"] = lambda handler: handler.reply({"message": "planted"}, 500)
        else:
            remote.routes["v1"] = action
        response = tickets("GET", "/1")
        assert response.status_code == status, route
        assert "planted" not in response.text


def test_the_functions_of_a_data_source_are_endpoints_of_its_model(serve, remote):
    operations = [
        {
            "template": {"method": "GET", "url": f"{remote.url}/echo", "query": {"q": "{!city}"}},
            "functions": {"weather": ["city"]},
        }
    ]
    acls = [{**ALLOW, "principalId": "$everyone", "property": "weather"}]
    api = serve(
        {"weather": {"name": "Weather", "base": "Model", "plural": "weather", "acls": acls}},
        {"Weather": {"dataSource": "sky"}},
        DATA_SOURCES={"sky": {"connector": "rest", "operations": operations}},
    )

    assert api("GET", "/Weather/weather?city=Berlin").json["query"] == "q=Berlin"
    assert api("GET", "/weather").status_code == 404
    assert "/weather/weather" in api("GET", "/openapi.json").json["paths"]


def test_the_document_and_the_commands_show_a_model_at_a_data_source(tickets):
    client = tickets.app.test_client()
    document = client.get("/api/openapi.json").json
    shown = tickets.app.test_cli_runner().invoke(args=["models", "show", "Ticket"]).output

    listing = document["paths"]["/tickets"]["get"]

    assert [parameter["name"] for parameter in listing["parameters"]] == ["filter"]
    assert "headers" not in listing["responses"]["200"]
    assert document["paths"]["/tickets/{id}"].keys() >= {"get", "patch", "put", "delete"}
    assert "data source desk" in shown
    assert "findById\tGET /api/Tickets/<id>" in shown


def test_rows_beyond_the_limit_are_not_looked_at(tickets, remote, monkeypatch):
    looked = []
    original = Permitted.covers
    monkeypatch.setattr(
        Permitted, "covers", lambda *given: looked.append(given) or original(*given)
    )
    remote.rows.update({number: {"id": number, "ownerId": 1} for number in range(3, 5000)})

    found = tickets("GET", filter={"limit": 5}).json

    assert [each["id"] for each in found] == [1, 3, 4, 5, 6]
    assert len(looked) == 6


def test_an_answer_of_too_many_values_is_refused(tickets, remote):
    remote.rows.update({number: {"id": number} for number in range(3, 70_000)})

    answer = tickets("GET", caller="root")

    assert answer.status_code == 502
    assert answer.json["error"]["code"] == "REMOTE_ERROR"


def test_a_call_with_an_idempotency_key_is_refused_before_the_data_source_is_called(serve, remote):
    """What a remote service has done is not undone with the record of an answer."""
    sources = {"desk": {"connector": "rest", "baseURL": remote.url}}
    api = serve({"ticket": TICKET}, CONFIG, DATA_SOURCES=sources, IDEMPOTENCY_TTL=60)
    token, body = api.logged_in(), {"title": "a"}

    for verb, path in [("POST", ""), ("PATCH", "/1"), ("PUT", "/1"), ("DELETE", "/1")]:
        answer = api(verb, f"/tickets{path}", body, token, headers={"Idempotency-Key": "k"})
        assert refusal(answer) == (400, "IDEMPOTENCY_KEY_UNSUPPORTED"), verb

    assert remote.seen == []
    assert api("POST", "/tickets", body, token).status_code == 200


def test_a_batch_has_no_calls_of_rows_at_a_data_source(tickets, remote):
    before = len(remote.seen)
    calls = [("POST", "/tickets", {"title": "new"}), ("GET", "/tickets", None)]

    for method, path, body in calls:
        requests = {"requests": [{"method": method, "path": path, "body": body}]}
        refused = tickets.api("POST", "/batch", requests, token=tickets.tokens["ada"])

        assert refusal(refused) == (400, "INVALID_BATCH")
    assert len(remote.seen) == before
