"""The service under gunicorn: several processes, the access log, and the stop."""

import json
import os
import re
import signal
import socket
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import requests

from app.metrics.exposition import MEMORY, PREFIX
from app.outbox.delivery import drain
from app.testing.apps import close
from tests.conftest import PASSWORD, TOKEN
from tests.support.apps import build
from tests.support.installation import Installation
from tests.support.live import children_of, newcomer, serve
from tests.support.ports import free_port
from tests.support.waiting import eventually

pytestmark = pytest.mark.live

TIME = r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"


@pytest.fixture
def server(database_url, tmp_path):
    with serve(tmp_path, database_url) as server:
        yield server


def test_a_token_of_one_worker_is_valid_on_the_other_until_logout(server):
    first, second = server.workers()

    with server.only(first):
        headers = newcomer(server.url)
    with server.only(second):
        todos = requests.get(f"{server.url}/api/todos", headers=headers, timeout=60)
        logout = requests.post(f"{server.url}/api/users/logout", headers=headers, timeout=60)
    with server.only(first):
        after = requests.get(f"{server.url}/api/todos", headers=headers, timeout=60)

    assert [todos.status_code, logout.status_code, after.status_code] == [200, 204, 401]


def test_the_log_has_a_line_with_the_request_id_and_never_a_query_or_token(server):
    headers = newcomer(server.url)
    token = headers["Authorization"]

    send_raw(server, f"GET /api/todos?access_token={token} HTTP/1.1\r\nHost: x\r\n\r\n")
    known = requests.get(f"{server.url}/api/todos", headers={"X-Request-Id": "abc-1"}, timeout=60)
    send_raw(server, f"GET /api/todos?access_token={token} x HTTP/1.1\r\n\r\n")
    send_raw(server, "GET /api/todos%0afake HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    server.stop()

    log = server.log.read_text()
    assert known.headers["X-Request-Id"] == "abc-1"
    assert re.search(rf'^{TIME} INFO gunicorn.access: 127.0.0.1 "GET /api/todos" 401 ', log, re.M)
    assert re.search(r" 401 \d+ \d+ms abc-1 user=- route=/api/todos/?$", log, re.M)
    assert re.search(r" 200 \d+ \d+ms [0-9a-f]{32} user=1 route=/api/todos/?$", log, re.M)
    assert not TOKEN.search(log)
    assert PASSWORD not in log
    assert "\nfake" not in log


def test_the_log_is_json_if_the_setting_says_so_and_has_no_planted_secret(database_url, tmp_path):
    planted = "Pl4ntedS3cret" * 5
    token = planted[:64]
    metrics_port = str(free_port())
    settings = {"APP_METRICS_ENABLED": "true", "APP_METRICS_PORT": metrics_port}
    with serve(tmp_path, database_url, APP_LOG_FORMAT="json", **settings) as server:
        headers = newcomer(server.url)
        for place in ("X-Access-Token", "Cookie", "Referer", "User-Agent", "X-Request-Id"):
            requests.get(f"{server.url}/api/todos", headers={place: f"a={token}"}, timeout=60)
        body = {"email": planted, "password": planted, "sid": token, "newPassword": planted}
        for path in ("login", "logout", "reset", "reset-password", "confirm"):
            requests.post(f"{server.url}/api/users/{path}", json=body, timeout=60)
            send_raw(server, f"GET /{path}?access_token={token} HTTP/1.1\r\nHost: x\r\n\r\n")
        send_raw(server, f"DELETE /api/users/1/accessTokens/{token} HTTP/1.1\r\nHost: x\r\n\r\n")
        requests.get(f"{server.url}/api/todos/7", headers=headers, timeout=60)
        send_raw(server, f"GET /{planted} {planted}\r\n{planted}: {planted}\r\n\r\n")
        metrics = requests.get(f"http://127.0.0.1:{metrics_port}/metrics", timeout=30).text
        server.stop()

    lines = [json.loads(line) for line in server.log.read_text().splitlines()]
    [read] = [line for line in lines if line.get("path") == "/api/todos/7"]
    assert re.fullmatch(TIME, read.pop("time"))
    assert re.fullmatch("[0-9a-f]{32}", read.pop("request_id"))
    assert read.pop("ms") >= 0
    assert read.pop("bytes") > 0
    assert read == {
        "level": "INFO",
        "logger": "gunicorn.access",
        "method": "GET",
        "path": "/api/todos/7",
        "route": "/api/todos/<id>",
        "status": 404,
        "user_id": 1,
        "address": "127.0.0.1",
    }
    assert any(line.get("message", "").startswith("Listening at") for line in lines)
    assert any(line.get("path") == "/api/users/1/accessTokens/***" for line in lines)
    assert not list(MEMORY.glob(f"{PREFIX}{server.process.pid}-*"))
    assert 'ostiary_logins_total{outcome="failed"} 1.0' in metrics
    for text in (server.log.read_text(), metrics):
        assert planted[:32].lower() not in text.lower()
        assert not TOKEN.search(text)


def test_mail_that_a_stop_leaves_is_delivered_by_the_next_process(server, database_url, tmp_path):
    newcomer(server.url)

    requests.post(f"{server.url}/api/users/reset", json={"email": "ada@example.com"}, timeout=60)
    status = server.stop()
    app = build(database_url, tmp_path / "instance" / "mail")
    drain(app)
    close(app)

    assert status == 0
    assert len(list((tmp_path / "instance" / "mail").glob("*.eml"))) == 1


def test_new_code_is_served_after_usr2_and_not_after_hup(database_url, tmp_path):
    folder = Installation(tmp_path).folder
    with serve(tmp_path, database_url, root=folder, WEB_CONCURRENCY="1") as server:
        [worker] = server.workers()
        with (folder / "wsgi.py").open("a") as code:
            code.write('app.add_url_rule("/new", view_func=lambda: "new")\n')
        server.process.send_signal(signal.SIGHUP)
        eventually(lambda: worker not in server.workers())
        after_hup = get_status(server, "/new")

        server.process.send_signal(signal.SIGUSR2)
        eventually(lambda: get_status(server, "/new") == 200)
        [second] = [pid for pid in server.workers() if children_of(pid)]
        status = server.stop()
        after_usr2 = {get_status(server, "/new") for _ in range(5)}
        [worker] = children_of(second)
        os.kill(second, signal.SIGTERM)
        eventually(lambda: not Path(f"/proc/{worker}").exists())

    assert (after_hup, status, after_usr2) == (404, 0, {200})


def test_a_worker_that_is_stopped_while_it_starts_ends_at_once(database_url, tmp_path):
    settings, starting = tmp_path / "gunicorn.conf.py", tmp_path / "starting"
    settings.write_text(f"""
import pathlib, time
from app.commandline.gunicorn_settings import *

def post_fork(server, worker):
    if worker.age == 2:
        pathlib.Path({str(starting)!r}).touch()
        time.sleep(10)
""")
    with serve(tmp_path, database_url, GUNICORN_CMD_ARGS=f"--config={settings}") as server:
        eventually(starting.exists)
        server.process.terminate()
        status = server.process.wait(20)

    assert status == 0


def get_status(server, path):
    return requests.get(server.url + path, timeout=60).status_code


def send_raw(server, text: str) -> bytes:
    address = urlsplit(server.url)
    with socket.create_connection((address.hostname, address.port), timeout=60) as connection:
        connection.sendall(text.encode())
        return connection.recv(65536)
