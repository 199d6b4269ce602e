"""The service under gunicorn: several processes, the access log, and the stop."""

import re
import socket
from urllib.parse import urlsplit

import pytest
import requests

from app.outbox.delivery import drain
from tests.apps import build, close
from tests.conftest import PASSWORD, TOKEN
from tests.live import serve

# For what does not depend on the database; starting the service takes seconds.
on_one_database = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


@pytest.fixture
def server(database_url, tmp_path):
    with serve(tmp_path, database_url) as server:
        yield server


def newcomer(server) -> dict[str, str]:
    """Register, log in, and return the Authorization header."""
    credentials = {"email": "ada@example.com", "password": PASSWORD}
    requests.post(f"{server.url}/api/users", json=credentials, timeout=10).raise_for_status()
    token = requests.post(f"{server.url}/api/users/login", json=credentials, timeout=10).json()
    return {"Authorization": token["id"]}


def test_a_token_of_one_worker_is_valid_on_the_other_until_logout(server):
    first, second = server.workers()

    with server.only(first):
        headers = newcomer(server)
    with server.only(second):
        todos = requests.get(f"{server.url}/api/todos", headers=headers, timeout=10)
        logout = requests.post(f"{server.url}/api/users/logout", headers=headers, timeout=10)
    with server.only(first):
        after = requests.get(f"{server.url}/api/todos", headers=headers, timeout=10)

    assert [todos.status_code, logout.status_code, after.status_code] == [200, 204, 401]


@on_one_database
def test_the_log_has_a_line_with_the_request_id_and_never_a_query_or_token(server):
    headers = newcomer(server)
    token = headers["Authorization"]

    send_raw(server, f"GET /api/todos?access_token={token} HTTP/1.1\r\nHost: x\r\n\r\n")
    known = requests.get(f"{server.url}/api/todos", headers={"X-Request-Id": "abc-1"}, timeout=10)
    send_raw(server, f"GET /api/todos?access_token={token} x HTTP/1.1\r\n\r\n")
    send_raw(server, "GET /api/todos%0afake HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    server.stop()

    log = server.log.read_text()
    assert known.headers["X-Request-Id"] == "abc-1"
    assert re.search(r'"GET /api/todos" 401 \d+ \d+ms abc-1', log)
    assert not TOKEN.search(log)
    assert PASSWORD not in log
    assert "\nfake" not in log


@on_one_database
def test_mail_that_a_stop_leaves_is_delivered_by_the_next_process(server, database_url, tmp_path):
    newcomer(server)

    requests.post(f"{server.url}/api/users/reset", json={"email": "ada@example.com"}, timeout=10)
    status = server.stop()
    app = build(database_url, tmp_path / "instance" / "mail")
    drain(app)
    close(app)

    assert status == 0
    assert len(list((tmp_path / "instance" / "mail").glob("*.eml"))) == 1


def send_raw(server, text: str) -> bytes:
    address = urlsplit(server.url)
    with socket.create_connection((address.hostname, address.port), timeout=10) as connection:
        connection.sendall(text.encode())
        return connection.recv(65536)
