"""Health: /health, /ready and the status."""

import re
import shutil
import socket
import sqlite3
from urllib.parse import urlsplit

import pytest
import requests
from alembic.script import ScriptDirectory

from app.migrate.chains import PRODUCT, SCRIPTS, newest
from app.testing.apps import close
from tests.support.apps import build
from tests.support.live import serve
from tests.support.waiting import eventually

# A worker has it when it answers 100.
HALF_A_REQUEST = (
    b"GET /ready HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n"
)


def ask(app, path):
    return app.test_client().get(path)


def test_health_and_ready_answer_anybody(app):
    health_, ready = ask(app, "/health"), ask(app, "/ready")

    assert (health_.status_code, health_.json) == (200, {"status": "ok"})
    assert (ready.status_code, ready.json) == (200, {"status": "ready"})


@pytest.mark.parametrize("path", ["/", "/api/", "/api"])
def test_the_status_says_when_the_process_started_and_for_how_long_it_runs(app, path):
    before, after = ask(app, path).json, ask(app, path).json

    assert re.fullmatch(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", before["started"])
    assert before["started"] == after["started"]
    assert 0 < before["uptime"] <= after["uptime"]


def test_the_newest_migrations_are_those_that_alembic_finds(app):
    # The migrations read a setting.
    with app.app_context():
        heads = ScriptDirectory(str(SCRIPTS)).get_heads()

    assert newest(PRODUCT.migrations.values()) == set(heads)


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("UPDATE alembic_version SET version_num = '0001'", "not at the newest migration"),
        ("DELETE FROM alembic_version", "not at the newest migration"),
        ("DROP TABLE alembic_version", "was never migrated"),
    ],
)
def test_ready_is_503_on_a_database_that_is_not_migrated(
    sqlite_template, tmp_path, statement, message
):
    path = shutil.copy(sqlite_template, tmp_path / "old.sqlite")
    with sqlite3.connect(path) as connection:
        connection.execute(statement)
    connection.close()
    app = build(f"sqlite:///{path}", tmp_path)

    health_, ready = ask(app, "/health"), ask(app, "/ready")
    close(app)

    assert health_.status_code == 200
    assert ready.status_code == 503
    assert ready.json["error"]["code"] == "NOT_READY"
    assert message in ready.json["message"]
    assert ready.headers["Retry-After"]


def test_ready_is_200_on_a_database_that_a_newer_release_has_migrated(sqlite_template, tmp_path):
    path = shutil.copy(sqlite_template, tmp_path / "new.sqlite")
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE alembic_version SET version_num = 'of_a_newer_release'")
    connection.close()
    app = build(f"sqlite:///{path}", tmp_path)

    ready = ask(app, "/ready")
    close(app)

    assert (ready.status_code, ready.json) == (200, {"status": "ready"})


@pytest.mark.live
def test_while_the_service_stops_ready_is_503_and_new_connections_are_refused(
    database_url, tmp_path
):
    with serve(tmp_path, database_url) as server:
        address = urlsplit(server.url)
        before = requests.get(f"{server.url}/ready", timeout=60)
        with socket.create_connection((address.hostname, address.port), timeout=60) as begun:
            begun.sendall(HALF_A_REQUEST)
            assert begun.recv(65536).startswith(b"HTTP/1.1 100 ")
            server.process.terminate()
            wait_for_the_idle_worker_to_exit(server)
            # A proxy that is refused asks another instance at once.
            with pytest.raises(ConnectionRefusedError):
                socket.create_connection((address.hostname, address.port), timeout=60)
            begun.sendall(b"{}")
            answer = b"".join(iter(lambda: begun.recv(65536), b""))

    assert before.status_code == 200
    assert answer.startswith(b"HTTP/1.1 503 ")
    assert b"The service is stopping." in answer


def wait_for_the_idle_worker_to_exit(server):
    eventually(lambda: len(server.workers()) == 1, told=lambda: "both workers go on")
