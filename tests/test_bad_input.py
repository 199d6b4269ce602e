"""Bad input is answered with a 4xx in the error format, never with a 5xx."""

import io
import json
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.database.session import db
from app.todos.models import Todo
from app.users.models import RESET_SCOPE, User
from app.users.sessions.tokens import issue
from tests.conftest import NEW, PASSWORD
from tests.support.answers import refusal
from tests.support.rows import count, expire

JSON = "application/json"
FORM = "application/x-www-form-urlencoded"
CREDENTIALS = {"email": "ada@example.com", "password": PASSWORD}

BAD_VALUES = {
    "null": None,
    "number": 7,
    "fraction": 0.5,
    "true": True,
    "list": ["x"],
    "object": {"neq": "x"},
    "empty": "",
    "long": "x" * 50_000,
    "nul": "a\0b",
    "high surrogate": "a\ud800b",
    "low surrogate": "a\udc00b",
    "control": "a\x1bb",
    "large number": 10**400,
}

# A field, a body that would be accepted, and the values above that are good ones for it.
FIELDS = [
    ("POST", "/users", {**CREDENTIALS, "email": "bob@example.com"}, "email", set()),
    ("POST", "/users", {**CREDENTIALS, "email": "bob@example.com"}, "password", set()),
    ("POST", "/users", {**CREDENTIALS, "email": "bob@example.com"}, "username", {"null"}),
    ("POST", "/users", {**CREDENTIALS, "email": "bob@example.com"}, "realm", {"null", "empty"}),
    ("POST", "/users/login", CREDENTIALS, "email", set()),
    ("POST", "/users/login", {"password": PASSWORD}, "username", set()),
    ("POST", "/users/login", CREDENTIALS, "password", set()),
    ("POST", "/users/login", CREDENTIALS, "realm", {"null", "empty"}),
    ("POST", "/users/logout", {}, "sid", set()),
    ("POST", "/users/reset", {"email": "ada@example.com"}, "email", set()),
    ("POST", "/users/reset", {"email": "a@b.org"}, "realm", {"null", "empty", "long", "control"}),
    ("POST", "/users/reset-password", {}, "newPassword", set()),
    ("POST", "/users/change-password", {"newPassword": NEW}, "oldPassword", set()),
    ("POST", "/users/change-password", {"oldPassword": PASSWORD}, "newPassword", set()),
    ("PATCH", "/users/1", {}, "email", set()),
    ("PATCH", "/users/1", {}, "username", {"null"}),
    ("PUT", "/users/1", {}, "email", set()),
    ("PUT", "/users/1", {"email": "ada@example.com"}, "username", {"null"}),
    ("POST", "/todos", {}, "title", set()),
    ("POST", "/todos", {"title": "x"}, "desc", {"null", "empty"}),
    ("POST", "/todos", {"title": "x"}, "isComplete", {"true"}),
    ("PATCH", "/todos/1", {}, "title", set()),
    ("PATCH", "/todos/1", {}, "desc", {"null", "empty"}),
    ("PATCH", "/todos/1", {}, "isComplete", {"true"}),
    ("PUT", "/todos/1", {"title": "x"}, "desc", {"null", "empty"}),
]

BODIES = {
    "array": b"[]",
    "array of objects": b'[{"email": "x"}]',
    "string": b'"x"',
    "number": b"7",
    "null": b"null",
    "true": b"true",
    "broken": b'{"email": ',
    "two objects": b"{}{}",
    "trailing comma": b'{"email": "x",}',
    "single quotes": b"{'email': 'x'}",
    "comment": b"{} // x",
    "two byte order marks": b"\xef\xbb\xbf" * 2 + b"{}",
    "byte order mark inside": b'{"email": \xef\xbb\xbf1}',
    "latin-1": '{"email": "jörg@example.com"}'.encode("latin-1"),
    "utf-16": '{"email": "x"}'.encode("utf-16"),
    "half a character": b'{"email": "\xf0\x9f\x90"}',
    "raw line break": b'{"email": "a\nb"}',
    "nul byte": b'{"email": "a\0b"}',
    "escaped nul": b'{"email": "a\\u0000b"}',
    "unpaired surrogate": b'{"email": "a\\ud800b"}',
    "surrogate in a name": b'{"\\udfff": 1}',
    "nul in a name": b'{"a\\u0000": 1}',
    "NaN": b'{"ttl": NaN}',
    "Infinity": b'{"x": {"y": [-Infinity]}}',
    "5,000 digits": b'{"ttl": ' + b"9" * 5000 + b"}",
    "33 levels": b'{"x": ' + b"[" * 33 + b"]" * 33 + b"}",
    "10,000 objects deep": b'{"x":' * 10_000 + b"1" + b"}" * 10_000,
    "10,000 arrays deep": b"[" * 10_000 + b"]" * 10_000,
    "10,000 open arrays": b"[" * 10_000,
}

# Every route that reads a body; {} in the path is nothing here.
WRITING = sorted({(method, path) for method, path, *_ in FIELDS} | {("PUT", "/todos/1")})
PROTECTED = [
    ("GET", "/users/1"),
    ("PATCH", "/users/1"),
    ("PUT", "/users/1"),
    ("DELETE", "/users/1"),
    ("GET", "/users/1/accessTokens"),
    ("DELETE", "/users/1/accessTokens"),
    ("DELETE", "/users/1/accessTokens/x"),
    ("POST", "/users/change-password"),
    ("POST", "/users/reset-password"),
    ("GET", "/todos"),
    ("POST", "/todos"),
    ("GET", "/todos/1"),
    ("PATCH", "/todos/1"),
    ("PUT", "/todos/1"),
    ("DELETE", "/todos/1"),
]
BAD_IDS = ["-1", "0", "01", "1.0", "1e0", "x", "me", "null", "%00", "%0a", "%ff", "%ed%a0%80"]
BAD_IDS += ["%F0%9F%90%98", "٣", "1%20", "%201", "1;x", "'", "%25", "1%00", str(10**30), "9" * 5000]


@pytest.fixture
def send(app, api, token, secrets):
    """Send a body to a route with the token that the route needs, as a user with a to-do."""
    with app.app_context():
        reset, _ = issue(1, 600, scope=RESET_SCOPE, email="ada@example.com")
        db.session.add(Todo(title="x", owner_id=1))
        db.session.commit()
    secrets.append(reset)

    def send(method, path, body=None, content_type=JSON, **options):
        sent = {"/users/reset-password": reset, "/users/logout": None}.get(path, token)
        if body is not None:
            options |= {"data": body, "content_type": content_type}
        return api(method, path, token=sent, **options)

    return send


def unsuitable(answers):
    """Return the responses that are not a 4xx in the error format, by what was sent."""
    found = {}
    for name, response in answers.items():
        try:
            refusal(response)
        except (AssertionError, TypeError):
            found[name] = response.status_code, response.text[:100]
    return found


@pytest.mark.parametrize(
    ("method", "path", "body", "field", "good"),
    FIELDS,
    ids=[f"{method} {path} {field}" for method, path, _, field, _ in FIELDS],
)
def test_a_bad_value_in_any_field_is_4xx(send, method, path, body, field, good):
    answers = {
        name: send(method, path, json.dumps({**body, field: value}))
        for name, value in BAD_VALUES.items()
        if name not in good | ({"control"} if field in {"password", "newPassword"} else set())
    }

    assert unsuitable(answers) == {}


@pytest.mark.parametrize(("method", "path"), WRITING)
def test_a_bad_body_is_4xx(send, method, path):
    # Creating takes arrays; an empty one is no mistake there.
    good = {"array"} if (method, path) in (("POST", "/users"), ("POST", "/todos")) else set()
    answers = {name: send(method, path, BODIES[name]) for name in BODIES.keys() - good}

    assert unsuitable(answers) == {}


@pytest.mark.parametrize(("body", "kind"), [('{"title": "%s"}', JSON), ("title=%s", FORM)])
def test_a_body_that_is_too_large_is_413(send, body, kind):
    large = body.replace("%s", "x" * 200_000)

    answers = {route: send(*route, large, kind) for route in WRITING}

    found = {route: refusal(answer) for route, answer in answers.items()}
    assert found == dict.fromkeys(WRITING, (413, "PAYLOAD_TOO_LARGE"))


@pytest.mark.parametrize(
    ("body", "kind"),
    [('{"title": "%s"}', JSON), ('{"title": "x"}%s', JSON), ("title=x&colour=%s", FORM)],
    ids=["JSON", "JSON and spaces", "form"],
)
def test_a_chunked_body_that_is_too_large_is_413(send, body, kind):
    large = body.replace("%s", ("x" if '"%s"' in body or kind == FORM else " ") * 200_000)

    response = send(
        "POST",
        "/todos",
        input_stream=io.BytesIO(large.encode()),
        headers={"Content-Type": kind},
        environ_overrides={"wsgi.input_terminated": True, "HTTP_TRANSFER_ENCODING": "chunked"},
    )

    assert refusal(response) == (413, "PAYLOAD_TOO_LARGE")


def test_json_by_another_media_type_is_415(send):
    kinds = ["text/plain", "text/html", "multipart/form-data", FORM, "x"]

    answers = {
        (*route, kind): send(*route, '{"title": "x"}', kind) for route in WRITING for kind in kinds
    }

    found = {sent: refusal(answer) for sent, answer in answers.items()}
    assert found == dict.fromkeys(answers, (415, "UNSUPPORTED_MEDIA_TYPE"))


@pytest.mark.parametrize(
    "form",
    ["title=%00", "title=a%1bb", "title=", "title=%ff", "title=x&colour=red", "&&&", "=", "%", "+"],
)
def test_a_bad_form_is_4xx(send, form):
    response = send("POST", "/todos", form, FORM)

    assert refusal(response)


@pytest.mark.parametrize(("method", "path"), PROTECTED)
def test_a_bad_token_is_401_on_every_protected_route(app, api, send, reset_events, method, path):
    reset_route = path.endswith("reset-password")
    expired = api.login()["id"]
    api("POST", "/users/reset", {"email": "ada@example.com"})
    wrong = api.login()["id"] if reset_route else reset_events[-1]["accessToken"].id
    expire(app, expired)
    malformed = ["x", "x" * 64, "x" * 6000, "\xe9", "Bearer", "Basic !", "Bearer a b", "null", "'"]

    answers = {
        wrong_token: api(method, path, token=wrong_token)
        for wrong_token in [None, wrong, expired, *malformed]
    }

    found = {refusal(answer) for each, answer in answers.items() if each != expired}
    assert found == {(401, "AUTHORIZATION_REQUIRED")}
    assert refusal(answers[expired]) == (401, "INVALID_TOKEN")
    assert count(app, User) == 1


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/users/{}"),
        ("PATCH", "/users/{}"),
        ("DELETE", "/users/{}"),
        ("GET", "/users/{}/accessTokens"),
        ("DELETE", "/users/1/accessTokens/{}"),
        ("GET", "/todos/{}"),
        ("PATCH", "/todos/{}"),
        ("PUT", "/todos/{}"),
        ("DELETE", "/todos/{}"),
    ],
)
def test_an_unknown_id_is_4xx(send, method, path):
    body = '{"title": "x"}' if method in {"PATCH", "PUT"} else None

    answers = {id_: send(method, path.format(id_), body) for id_ in BAD_IDS}

    assert unsuitable(answers) == {}
    assert {answer.status_code for answer in answers.values()} <= {403, 404}


QUERIES = [
    "filter=%00",
    "filter=" + "[" * 3000,
    "filter[where][id]=1&filter=x",
    "include=user&include=user&include=" + "%5B" * 2000,
    "x=%ff&%ff=x",
    "access_token=%00",
    "access_token=%ed%a0%80",
    "access_token=" + "x" * 6000,
    "access_token=a&access_token=b",
    "&=&%",
]


@pytest.mark.parametrize("query", QUERIES, ids=lambda query: query[:30])
def test_a_bad_query_is_4xx(send, query):
    answers = {
        path: send(method, f"{path}?{query}", body)
        for method, path, body in [
            ("POST", "/users/login", "{}"),
            ("GET", "/todos/x", None),
            ("GET", "/users/2", None),
        ]
    }

    assert unsuitable(answers) == {}


HEADERS = ["Authorization", "X-Access-Token", "X-Request-Id", "Origin", "Sec-Fetch-Site"]


@pytest.mark.parametrize("header", [*HEADERS, "Cookie", "Host", "Content-Type", "Accept"])
def test_a_bad_header_is_4xx(client, header):
    values = ["\xff\xfe", "x" * 6000, ";;;===", "\x7f", ",", '"']

    answers = {value: client.get("/api/users/1", headers={header: value}) for value in values}

    assert unsuitable(answers) == {}


NAMES = ["email", "username", "password", "realm", "ttl", "sid", "title", "desc", "isComplete"]
NAMES += ["newPassword", "oldPassword", "id", "include", "filter", "__proto__", "access_token"]
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(), max_size=20)
    | st.sampled_from(["ada@example.com", PASSWORD, NEW, "1e400", "-1", "0x10"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.sampled_from(NAMES) | st.text(max_size=8), VALUES, max_size=6)
FUZZED = [*WRITING, ("GET", "/users/logout"), ("DELETE", "/todos/7"), ("POST", "/nowhere")]


# The thread that writes mails draws random numbers of its own meanwhile.
@pytest.mark.filterwarnings("ignore:Do not use the .random. module")
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(route=st.sampled_from(FUZZED), body=OBJECTS | VALUES, segment=st.text(max_size=12))
def test_arbitrary_json_is_never_answered_with_5xx(send, route, body, segment):
    method, path = route
    response = send(method, path, json.dumps(body))
    lookup = send("GET", f"/todos/{quote(segment, safe='')}")

    for answer in (response, lookup):
        assert answer.status_code < 500
        if answer.status_code >= 400:
            refusal(answer)


def test_a_body_that_is_no_json_is_refused_with_the_place(api, token):
    messages = [
        api("POST", "/todos", token=token, data=body, content_type=JSON).json["error"]["message"]
        for body in ("{a}", '{"title": "x"} x', "[NaN]", "\ufeff\ufeff{}")
    ]

    assert messages == [
        f"The body cannot be read: {reason}."
        for reason in (
            "Expecting property name enclosed in double quotes, line 1 column 2",
            "Extra data, line 1 column 16",
            "NaN is not a JSON number",
            "Expecting value, line 1 column 1",
        )
    ]


def test_a_byte_order_mark_before_the_json_of_a_body_is_skipped(api, token):
    def send(method, path, body):
        return api(method, path, token=token, data=b"\xef\xbb\xbf" + body, content_type=JSON)

    created = send("POST", "/todos", '{"title": "é"}'.encode())
    several = send("POST", "/todos", b'[{"title": "x"}]')
    emptied = send("PATCH", "/todos/1", b" ")

    assert [answer.status_code for answer in (created, several, emptied)] == [200] * 3
    assert created.json["title"] == emptied.json["title"] == "é"
    filtered = api("GET", "/todos?filter=%EF%BB%BF{}", token=token)
    assert refusal(filtered) == (400, "INVALID_FILTER")
