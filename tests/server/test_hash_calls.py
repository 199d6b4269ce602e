"""Requests that compute a password hash are recognized before a thread takes them."""

from contextlib import contextmanager
from urllib.parse import unquote

import pytest
from flask import request
from gunicorn.config import Config

from app.access import roles
from app.hash_slots import Slots
from app.rest.endpoint import computes_hash
from app.server.hash_queue import HashCalls, hashing_views
from app.server.incoming import IncomingRequest
from tests.conftest import NEW, PASSWORD
from tests.support.rows import make_old

EMAIL = "ada@example.com"
LOGIN = b'{"email": "ada@example.com", "password": "correct"}'


@pytest.fixture
def app(request, shared_app):
    return shared_app(**getattr(request, "param", {}))


def received(line: str, body: bytes = LOGIN, fields: str = "", peer=("192.0.2.1", 4711)):
    """Return a request as the worker has received it."""
    cfg = Config()
    cfg.set("limit_request_line", 0)
    incoming = IncomingRequest(cfg, peer, max_body=100_000)
    head = f"{line} HTTP/1.1\r\nHost: x\r\n{fields}Content-Length: {len(body)}\r\n\r\n"
    assert incoming.add(head.encode() + body)
    return incoming.request


@pytest.mark.parametrize(
    "line",
    [
        "POST /api/users/login",
        "POST /api/users/login/",
        "POST /api/Users/login?include=user",
        "POST /api/USERS",
        "POST /api/%75sers/%6cogin",
        "POST //api/users",
        "POST http://example.com/api/users/login",
        "\r\nPOST /api/users/login",
        "POST /api/users/reset-password",
        "POST /api/users/change-password",
        "PUT /api/users",
        "POST /api/users/7/replace",
        "PATCH /api/users/7",
        "POST /reset-password",
    ],
)
def test_every_way_to_write_a_call_is_recognized(app, line):
    assert HashCalls(app).includes(received(line))
    verb, target = line.split()
    path = unquote(target.removeprefix("http://example.com").partition("?")[0])
    answer = app.test_client().open(method=verb, environ_overrides={"PATH_INFO": path})
    assert answer.status_code != 404


@pytest.mark.parametrize(
    "line",
    [
        "GET /api/users/login",
        "GET /reset-password",
        "OPTIONS /api/users/login",
        "POST /api/todos",
        "POST /api/users/reset",
        "POST /api/users/logout",
        "POST /API/users/login",
        "POST /api/users/login%3F",
        "POST /api/users/7/todos",
        "PATCH /api/todos/7",
    ],
)
def test_other_requests_are_not_kept_waiting(app, line):
    assert not HashCalls(app).includes(received(line))


def test_a_change_without_a_password_is_not_kept_waiting(app):
    for line in ("PATCH /api/users/7", "PUT /api/users", "POST /api/users/update"):
        assert not HashCalls(app).includes(received(line, b'{"username": "ada"}'))


@pytest.mark.parametrize("body", [b'{"p\\u0061ssword": "x"}', b"p%61ssword=x"])
def test_an_escape_hides_no_password(app, body):
    assert HashCalls(app).includes(received("POST /api/users", body))


def test_a_view_of_the_applications_own_may_say_that_it_computes_a_hash(make_app):
    app = make_app()
    app.add_url_rule("/join", view_func=computes_hash(lambda: "joined"), methods=["PUT"])

    assert HashCalls(app).includes(received("PUT /join", b""))


def test_an_error_of_the_router_is_left_to_the_application(make_app):
    app = make_app()
    app.add_url_rule("/orders/<int:id>", view_func=lambda id: "", methods=["POST"])

    # More digits than Python converts.
    assert not HashCalls(app).includes(received(f"POST /orders/{'9' * 5000}"))


@pytest.fixture
def hashing(app, monkeypatch):
    """The endpoints that have computed a hash, each with whether its request is recognized."""
    calls, found = HashCalls(app), {}
    reserve = Slots.reserve

    @contextmanager
    def note(slots):
        incoming = received(f"{request.method} {request.path}", request.get_data())
        found.setdefault(request.endpoint, set()).add(calls.includes(incoming))
        with reserve(slots):
            yield

    monkeypatch.setattr(Slots, "reserve", note)
    return found


@pytest.mark.parametrize("app", [{}], indirect=True)
def test_whatever_computes_a_hash_is_recognized(app, api, token, reset_token, hashing):
    make_old(app, token)
    with app.app_context():
        roles.grant(1, "admin")
    users = [{"email": f"{name}@example.com", "password": PASSWORD} for name in "bcd"]
    change, where = {"email": "e@example.com", "password": "wrong"}, "where[id]=1"
    for method, path, body in (
        ("POST", "/users/login", {"email": EMAIL}),
        ("POST", "/users", users[0]),
        ("POST", "/users", users[1:2]),
        ("PATCH", "/users", users[2]),
        ("PUT", "/users", {**change, "id": 1}),
        ("PATCH", "/users/1", change),
        ("PUT", "/users/1", change),
        ("POST", f"/users/update?{where}", change),
        ("POST", f"/users/upsertWithWhere?{where}", change),
        ("POST", "/users/change-password", {"oldPassword": "wrong", "newPassword": NEW}),
        ("POST", "/users/1/reauthenticate", {"password": "wrong"}),
    ):
        assert api(method, path, body, token=token).status_code in (200, 400, 401)
    api("POST", "/users/reset-password", {"newPassword": NEW}, token=reset_token)
    app.test_client().post("/reset-password", data={"access_token": "x", "newPassword": NEW})

    assert set(hashing) == set(hashing_views(app))
    assert set().union(*hashing.values()) == {True}


@pytest.mark.parametrize(
    "app",
    [{"USERS_PATH": "People", "REST_API_ROOT": "/v2", "EMAIL_CHANGE": "confirmed"}],
    indirect=True,
)
def test_settings_of_paths_are_followed(app, secrets, hashing):
    client = app.test_client()
    credentials = {"email": EMAIL, "password": PASSWORD}
    client.post("/v2/people", json=credentials)
    token = client.post("/v2/People/login", json=credentials).json["id"]
    secrets.append(token)
    body = {"newEmail": "b@example.com", "password": PASSWORD}
    changed = client.post("/v2/people/change-email", json=body, headers={"Authorization": token})

    assert changed.status_code == 204
    expected = ("users.create", "users.login", "users.changeEmail")
    assert hashing == {name: {True} for name in expected}


@pytest.mark.parametrize(
    ("peer", "proxies", "fields", "client"),
    [
        (("192.0.2.1", 4711), 0, "X-Forwarded-For: 198.51.100.1\r\n", "192.0.2.1"),
        (("192.0.2.1", 4711), 1, "", "192.0.2.1"),
        (("192.0.2.1", 4711), 1, "x-forwarded-for:198.51.100.1, 198.51.100.2\r\n", "198.51.100.2"),
        (("::1", 1, 0, 0), 2, "X-Forwarded-For: a, 198.51.100.1\r\nX-Forwarded-For: b\r\n",
         "198.51.100.1"),
        (("192.0.2.1", 4711), 1, 'X-Forwarded-For: "a, 198.51.100.1\r\n', "198.51.100.1"),
        (b"\0name", 0, "", ""),
        ("", 1, "X-Forwarded-For: 2001:db8::1\r\n", "2001:db8::/64"),
        ("", 0, "", ""),
    ],
)  # fmt: skip
def test_a_client_is_who_throttles_count(shared_app, peer, proxies, fields, client):
    app = shared_app(TRUSTED_PROXIES=proxies)

    assert HashCalls(app).client(received("POST /api/users", b"", fields, peer)) == client
