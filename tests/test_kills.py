"""Processes killed while they write: acknowledged writes persist, others have no effect."""

import os
import signal
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import get_context
from threading import Event

import requests
from sqlalchemy import event

from app.extensions import db
from app.users.accounts import change_password
from app.users.models import AccessToken
from tests.apps import build
from tests.conftest import NEW, PASSWORD, login_status
from tests.live import serve
from tests.rows import count
from tests.smtp import eventually

WRITERS = 4
# Rows acknowledged between two kills, and how many kills there are.
BETWEEN, KILLS = 15, 3


def test_no_acknowledged_row_is_lost_when_workers_are_killed(database_url, tmp_path):
    acknowledged, done = [], Event()
    with serve(tmp_path, database_url) as server, ThreadPoolExecutor(WRITERS) as pool:
        headers = newcomer(server)
        todos = f"{server.url}/api/todos"
        writers = [
            pool.submit(write, todos, headers, f"{number}", acknowledged, done)
            for number in range(WRITERS)
        ]
        try:
            for _ in range(KILLS):
                enough = len(acknowledged) + BETWEEN
                eventually(lambda: len(acknowledged) >= enough)  # noqa: B023 called at once
                os.kill(server.workers()[0], signal.SIGKILL)
        finally:
            done.set()
        sent = sum(each.result() for each in writers)
        stored = requests.get(todos, headers=headers, timeout=10).json()

    titles = [each["title"] for each in stored]
    assert set(acknowledged) <= set(titles)
    # Whatever got no answer was stored once or not at all.
    assert len(titles) == len(set(titles)) <= sent


def write(url, headers, name, acknowledged, done):
    """Create rows until there are enough; return how many requests were sent."""
    sent = 0
    while not done.is_set():
        title = f"{name}.{sent}"
        sent += 1
        try:
            response = requests.post(url, json={"title": title}, headers=headers, timeout=10)
        except requests.RequestException:
            continue
        assert response.status_code == 200
        acknowledged.append(title)
    return sent


def newcomer(server):
    """Register, log in, and return the header that says so."""
    credentials = {"email": "ada@example.com", "password": PASSWORD}
    requests.post(f"{server.url}/api/users", json=credentials, timeout=10).raise_for_status()
    token = requests.post(f"{server.url}/api/users/login", json=credentials, timeout=10).json()
    return {"Authorization": token["id"]}


def test_a_password_change_that_is_killed_has_no_effect(app, api, token, database_url, tmp_path):
    other = api.login()["id"]
    process = get_context("spawn").Process(target=change_and_die, args=(database_url, tmp_path))
    process.start()
    process.join(60)

    assert process.exitcode == -signal.SIGKILL
    assert count(app, AccessToken) == 2
    assert [api("GET", "/users/1", token=each).status_code for each in (token, other)] == [200, 200]
    assert [login_status(api, password) for password in (NEW, PASSWORD)] == [401, 200]


def change_and_die(database_url, folder):
    """Change the password of the user with id 1, and be killed once the new hash is stored."""
    app = build(database_url, folder)
    with app.app_context():
        event.listen(db.engine, "before_cursor_execute", die_before_tokens_end)
        change_password(1, PASSWORD, NEW)


def die_before_tokens_end(connection, cursor, statement, *_):
    if statement.startswith("DELETE FROM access_tokens"):
        os.kill(os.getpid(), signal.SIGKILL)
