"""The endpoints of public data sources."""

import pytest

from app.problems import ConfigurationError
from tests.support.answers import field_codes

from .conftest import LOCATION


@pytest.fixture
def app(make_app, geo):
    return make_app(DATA_SOURCES={"geo": geo})


@pytest.fixture(autouse=True)
def planted(secrets):
    secrets.append("a planted secret")


def test_arguments_come_from_path_query_body_and_header(api, token, server):
    headers = {"tenant": "t1"}

    found = api("GET", "/geo/geocode?street=S+B+St&city=X&floor=2", token=token, headers=headers)
    path = api("GET", "/geo/inFormat/xml?street=y", token=token)
    body = api("POST", "/geo/note", {"note": [1, {"a": None}]}, token=token)

    geocode, in_format, note = server.seen
    assert found.json == path.json == LOCATION
    assert geocode["query"] == "address=S%20B%20St%2CX&floor=2"
    assert geocode["headers"]["x-tenant"] == "t1"
    assert in_format["path"] == "/geocode/xml"
    assert note["json"] == {"note": [1, {"a": None}]}
    assert body.json["json"] == note["json"]


def test_the_name_of_a_data_source_is_case_insensitive(make_app, geo, api, token):
    client = make_app(DATA_SOURCES={"geoRest": geo}).test_client()

    for name in ("geoRest", "georest"):
        response = client.get(f"/api/{name}/geocode?street=y", headers={"Authorization": token})

        assert response.json == LOCATION


def test_the_request_id_is_sent_unless_the_data_source_says_where_or_not(
    make_app, geo, token, server
):
    own = {**geo, "options": {"headers": {"x-request-id": "of the settings"}}}
    sources = {
        "geo": geo,
        "other": {**geo, "requestIdHeader": "X-Trace"},
        "own": own,
        "silent": {**geo, "requestIdHeader": None},
    }
    client = make_app(DATA_SOURCES=sources).test_client()
    headers = {"Authorization": token, "X-Request-Id": "r-1", "X-Correlation-Id": "c-1"}

    answers = [client.get(f"/api/{name}/geocode?street=x", headers=headers) for name in sources]

    assert {answer.headers["X-Request-Id"] for answer in answers} == {"r-1"}
    sent = [
        (call["headers"].get("x-request-id"), call["headers"].get("x-trace"))
        for call in server.seen
    ]
    assert sent == [("r-1", None), (None, "r-1"), ("of the settings", None), (None, None)]


def test_an_argument_in_the_path_may_have_an_encoded_slash(api, token, server):
    api("GET", "/geo/inFormat/a%2Fb?street=x", token=token)

    assert server.seen[0]["path"] == "/geocode/a%2Fb"


def test_an_argument_in_the_path_has_its_type(make_app, geo, token, server):
    operation = {"template": {"url": "/echo/{!id:number}"}, "functions": {"item": ["id"]}}
    source = {**geo, "baseURL": server.url, "operations": [operation]}
    client = make_app(DATA_SOURCES={"geo": source}).test_client()

    statuses = {
        id: client.get(f"/api/geo/item/{id}", headers={"Authorization": token}).status_code
        for id in ("7", "export", "7x", "%2e%2e", "nan", "1e999")
    }

    assert statuses.pop("7") == 200
    assert set(statuses.values()) == {422}
    assert [call["path"] for call in server.seen] == ["/echo/7"]


@pytest.mark.parametrize(
    ("method", "path", "body", "field", "code"),
    [
        ("GET", "/geo/geocode", None, "street", "presence"),
        ("GET", "/geo/geocode?street=x&floor=high", None, "floor", "invalid"),
        ("POST", "/geo/note", {}, "note", "presence"),
        ("POST", "/geo/note", {"other": 1}, "note", "presence"),
        ("GET", "/geo/inFormat/..?street=x", None, "inFormat", "invalid"),
        ("GET", "/geo/geocode?street=x", None, "geocode", "invalid"),
    ],
)
def test_an_invalid_argument_is_422_and_named(api, token, server, method, path, body, field, code):
    headers = {"tenant": "t\u20ac"} if field == "geocode" else {}

    response = api(method, path, body, token=token, headers=headers)

    assert field_codes(response) == {field: [code]}
    assert server.seen == []


@pytest.mark.parametrize(("code", "remote"), [(404, 404), (500, 500), (401, 401), (429, 429)])
def test_a_remote_failure_is_502_with_its_status_but_not_its_body(api, token, code, remote):
    response = api("GET", f"/geo/status/{code}", token=token)

    assert response.status_code == 502
    assert response.json["error"]["code"] == "REMOTE_ERROR"
    assert response.json["error"]["details"] == {"statusCode": remote}
    assert "status" not in response.json["message"].replace("statusCode", "")
    assert "a planted secret" not in response.text


def test_a_remote_timeout_is_504(api, token):
    response = api("GET", "/geo/slow", token=token)

    assert response.status_code == 504
    assert response.json["error"]["code"] == "REMOTE_TIMEOUT"


def test_an_unreachable_remote_is_502_and_the_log_names_its_host(make_app, geo, api, token, caplog):
    gone = {**geo, "baseURL": "http://127.0.0.1:9"}
    client = make_app(DATA_SOURCES={"gone": gone}).test_client()

    response = client.get("/api/gone/geocode?street=y", headers={"Authorization": token})

    assert response.status_code == 502
    assert response.json["error"]["code"] == "REMOTE_ERROR"
    assert "data source gone.geocode: ConnectError 127.0.0.1:9" in caplog.messages


def test_anonymous_callers_are_401_and_other_verbs_405(api, token):
    assert api("GET", "/geo/geocode?street=x").status_code == 401
    assert api("POST", "/geo/geocode", {}, token=token).status_code == 405


def test_acls_replace_the_default_rules(make_app, geo, api, token):
    rules = [{"principalId": "$everyone", "permission": "ALLOW", "property": "geocode"}]
    client = make_app(DATA_SOURCES={"geo": {**geo, "acls": rules}}).test_client()

    assert client.get("/api/geo/geocode?street=x").json == LOCATION
    assert client.post("/api/geo/note", json={"note": 1}).status_code == 401


def test_a_private_data_source_has_no_endpoints(make_app, geo, api, token):
    client = make_app(DATA_SOURCES={"geo": {**geo, "public": False}}).test_client()

    response = client.get("/api/geo/geocode?street=x", headers={"Authorization": token})

    assert response.status_code == 404


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        *[(name, {}, "taken") for name in ("users", "Todos", "admin", "explorer", "openapi")],
        ("a b", {}, "cannot stand in a path"),
        ("geo", {"acls": [{"permission": "ALLOW"}]}, "acls"),
        ("geo", {"acls": [{"principalId": "x", "permission": "ALLOW", "property": "no"}]}, "acls"),
        ("geo", {"acls": [{"principalId": "$owner", "permission": "ALLOW"}]}, r"geo .*\$owner"),
        ("geo", {"operations": [{"functions": {}}]}, "template"),
    ],
)
def test_invalid_public_data_sources_stop_the_start(make_app, geo, name, change, said):
    with pytest.raises(ConfigurationError, match=said):
        make_app(DATA_SOURCES={name: {**geo, **change}})


def test_variables_in_options_and_method_are_read_from_the_request(make_app, geo):
    template = {"method": "{verb=GET}", "url": "/echo", "options": {"auth": {"bearer": "{key}"}}}
    geo["operations"] = [{"template": template, "functions": {"run": ["verb", "key"]}}]
    geo["acls"] = [{"principalId": "$everyone", "permission": "ALLOW", "property": "run"}]
    client = make_app(DATA_SOURCES={"geo": geo}).test_client()

    seen = client.post("/api/geo/run?verb=PUT", headers={"key": "k"}).json

    assert (seen["method"], seen["headers"]["authorization"]) == ("PUT", "Bearer k")


def test_bytes_and_full_responses_are_returned(make_app, geo, server, api, token):
    server.routes["picture"] = lambda handler: handler.reply(b"\x89PNG\x00", kind="image/png")
    full = {"method": "GET", "url": "/echo", "fullResponse": True}
    geo["operations"] = [
        {"template": {"method": "GET", "url": "/picture"}, "functions": {"picture": []}},
        {"template": full, "functions": {"full": []}},
    ]
    client = make_app(DATA_SOURCES={"geo": geo}).test_client()

    picture = client.get("/api/geo/picture", headers={"Authorization": token})
    whole = client.get("/api/geo/full", headers={"Authorization": token})

    assert (picture.mimetype, picture.data) == ("application/octet-stream", b"\x89PNG\x00")
    assert list(whole.json) == ["statusCode", "body"]
    assert whole.json["body"]["path"] == "/echo"


def test_responses_are_limited_in_size_and_must_be_json(make_app, geo, server, api, token):
    deep = b'{"a":' * 600 + b"1" + b"}" * 600
    server.routes["nan"] = lambda handler: handler.reply(b"[NaN]")
    server.routes["deep"] = lambda handler: handler.reply(deep)
    server.routes["large"] = lambda handler: handler.reply(b'"' + b"x" * 2_200_000 + b'"')
    server.routes["wide"] = lambda handler: handler.reply("é" * 500_000)
    server.routes["picture"] = lambda handler: handler.reply(b"\x89PNG", kind="image/png")
    geo["operations"] = [
        {
            "template": {"url": f"/{name}", "fullResponse": name == "picture"},
            "functions": {name: []},
        }
        for name in ("nan", "deep", "large", "wide", "picture")
    ]
    client = make_app(DATA_SOURCES={"geo": geo}).test_client()

    def get(name):
        return client.get(f"/api/geo/{name}", headers={"Authorization": token})

    assert [get(name).status_code for name in ("nan", "large", "wide")] == [502, 502, 502]
    assert get("deep").status_code in (200, 502)
    assert get("picture").json["body"] == "iVBORw=="


def test_the_callers_token_is_no_argument(make_app, geo, server, api, token):
    template = {
        "method": "GET",
        "url": "/echo",
        "headers": {"authorization": "{authorization=none}"},
        "query": {"access_token": "{access_token=none}"},
    }
    echo = {"template": template, "functions": {"echo": ["authorization", "access_token"]}}
    geo["operations"].append(echo)
    geo["acls"] = [{"principalId": "$everyone", "permission": "ALLOW"}]
    client = make_app(DATA_SOURCES={"geo": geo}).test_client()

    def sent(headers, query):
        response = client.get("/api/geo/echo", headers=headers, query_string=query)
        assert response.status_code == 200, response.json
        return response.json["headers"]["authorization"], response.json["query"]

    assert sent({"Authorization": f"Bearer {token}"}, "") == ("none", "access_token=none")
    assert sent({}, f"access_token={token}") == ("none", "access_token=none")
    assert sent({"Authorization": "theirs"}, "access_token=x") == ("theirs", "access_token=x")
