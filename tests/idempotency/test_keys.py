"""The header `Idempotency-Key`: its forms, and which calls take it."""

import pytest

from tests.support.answers import refusal
from tests.support.rows import statements

from .conftest import KEYED, is_replayed

TODO = {"title": "water the plants"}


def test_a_key_may_be_sent_with_or_without_quotes(call):
    for number, key in enumerate(["k", " ~", "a b", "x" * 255, 'a"b', "a\\b", "{1}:2=/?", "'"]):
        quoted = '"' + key.replace("\\", "\\\\").replace('"', '\\"') + '"'
        first = call("POST", "/todos", {"title": f"{number}"}, quoted)

        assert first.status_code == 200, key
        assert not is_replayed(first), key
        again = call("POST", "/todos", {"title": f"{number}"}, quoted)
        assert again.data == first.data
        assert is_replayed(again)
        if not {'"', "\\", " ~"} & {*key, key}:
            assert is_replayed(call("POST", "/todos", {"title": f"{number}"}, f" {key}\t")), key


@pytest.mark.parametrize(
    "header",
    [
        *("", " ", '""', '"', '"a', 'a"', '"a"b"', '"a", "b"', "a,b", "a, b", '"a";b=1', '"a\\b"'),
        *("x" * 256, f'"{"x" * 256}"', "x" * 100_000, '"' + "\\" * 100_000),
        *("é", '"é"', "\x7f", '"\x7f"', "a\tb", '"a\tb"', "\x00", "\xff" * 300),
    ],
    ids=lambda header: ascii(header[:8]),
)
def test_anything_else_is_no_key(app, call, header):
    with statements(app) as sent:
        answer = call("POST", "/todos", TODO, header)

    assert refusal(answer) == (400, "INVALID_IDEMPOTENCY_KEY")
    # That of the token.
    assert len(sent) == 1


def test_it_is_ignored_unless_the_setting_is_on(shared_app, api, token):
    client = shared_app().test_client()
    headers = {**KEYED, "Authorization": token}

    answers = [client.post("/api/todos", json=TODO, headers=headers) for _ in range(2)]

    assert [answer.json["id"] for answer in answers] == [1, 2]
    assert client.post("/api/todos", json=TODO, headers={**headers, "Idempotency-Key": ""})


def test_a_call_that_changes_nothing_ignores_it(call, stored):
    call("POST", "/todos", TODO, "other")

    for path in ("/todos", "/todos/1", "/todos/count", "/todos/findOne", "/users/1/todos"):
        for key in ("k", ""):
            assert call("GET", path, key=key).status_code == 200, path
    assert call("HEAD", "/todos/1").status_code == 200
    assert len(stored()) == 1


@pytest.mark.parametrize(
    ("verb", "path", "body"),
    [
        ("POST", "/users/login", {"email": "ada@example.com", "password": "x"}),
        ("POST", "/users/logout", None),
        ("GET", "/users/logout", None),
        ("POST", "/users/reset", {"email": "ada@example.com"}),
        ("POST", "/users/change-password", {}),
        ("DELETE", "/users/1/accessTokens", None),
    ],
)
def test_a_call_that_cannot_be_repeated_refuses_it(call, verb, path, body):
    assert refusal(call(verb, path, body)) == (400, "IDEMPOTENCY_KEY_UNSUPPORTED")
    # Nobody is logged out.
    assert call("GET", "/users/1").status_code == 200


def test_the_document_declares_it_for_calls_that_take_it(app, shared_app):
    paths = app.test_client().get("/api/openapi.json").json["paths"]
    off = shared_app().test_client().get("/api/openapi.json").json["paths"]

    def takes_key(operation):
        return "Idempotency-Key" in [each.get("name") for each in operation["parameters"]]

    with_key = {
        (path, verb)
        for path, operations in paths.items()
        for verb, operation in operations.items()
        if takes_key(operation)
    }

    assert {("/todos", "post"), ("/todos/{id}", "patch"), ("/users", "post")} <= with_key
    assert ("/users/{id}/todos", "post") in with_key
    assert not {each for each in with_key if each[1] in ("get", "head")}
    assert ("/users/login", "post") not in with_key
    for path, verb in with_key:
        assert {"400", "409", "422"} <= paths[path][verb]["responses"].keys()
        assert not takes_key(off[path][verb])
    assert "IDEMPOTENCY_KEY_REUSED" not in str(off)


def test_pages_of_other_origins_may_read_that_an_answer_is_repeated(shared_app, api, token):
    app = shared_app(IDEMPOTENCY_TTL=60, CORS_ORIGINS=["https://pages.example.com"])
    client, headers = app.test_client(), {**KEYED, "Origin": "https://pages.example.com"}
    asked = {
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "idempotency-key",
    }

    preflight = client.options("/api/todos", headers={**headers, **asked})
    answer = client.post("/api/todos", json=TODO, headers={**headers, "Authorization": token})

    assert "idempotency-key" in preflight.headers["Access-Control-Allow-Headers"].lower()
    assert "Idempotency-Replayed" in answer.headers["Access-Control-Expose-Headers"]
