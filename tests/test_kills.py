"""Processes killed while they work: acknowledged writes and mails persist, others do not."""

import os
import signal
from datetime import timedelta
from multiprocessing import get_context
from multiprocessing.context import ForkServerContext

import pytest
import requests
from sqlalchemy import event, text

from app.database.session import db
from app.outbox import claims
from app.outbox import service as outbox_service
from app.outbox.delivery import drain
from app.testing.apps import close
from app.users.accounts.passwords import change_password
from app.users.models import AccessToken
from tests.conftest import NEW, PASSWORD, login_status
from tests.mail.resets import LINK
from tests.outbox.conftest import make_past
from tests.support.apps import build
from tests.support.databases import connected
from tests.support.live import serve
from tests.support.ports import free_port
from tests.support.rows import count
from tests.support.smtp import Postbox, smtp_server
from tests.support.waiting import wait_to_be_ended

pytestmark = pytest.mark.live


@pytest.fixture(scope="module")
def forks() -> ForkServerContext:
    """Forks of a process that has imported what they need, and has neither threads nor an app."""
    context = get_context("forkserver")
    context.set_forkserver_preload([__name__])
    return context


def test_a_password_change_that_is_killed_has_no_effect(
    app, api, token, database_url, tmp_path, forks
):
    other = api.login()["id"]
    process = forks.Process(target=change_and_die, args=(database_url, tmp_path))
    process.start()
    process.join(60)

    assert process.exitcode == -signal.SIGKILL
    assert count(app, AccessToken) == 2
    assert [api("GET", "/users/1", token=session).status_code for session in (token, other)] == [
        200,
        200,
    ]
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


@pytest.mark.parametrize(("moment", "mails"), [("before_delivery", 1), ("after_delivery", 2)])
def test_a_mail_whose_process_is_killed_arrives(
    app, api, token, database_url, tmp_path, forks, moment, mails
):
    arguments = (database_url, tmp_path, moment)
    process = forks.Process(target=request_reset_and_die, args=arguments)
    process.start()
    process.join(60)
    assert process.exitcode == -signal.SIGKILL
    # The lease of the dead process ends.
    make_past(app, next_attempt=timedelta(seconds=1))

    other = build(database_url, tmp_path)
    drain(other)
    close(other)

    found = [LINK.search(path.read_text())[2] for path in sorted(tmp_path.glob("*.eml"))]
    assert len(set(found)) == mails
    api.secrets.extend(found)
    body = {"newPassword": NEW}
    answers = [api("POST", "/users/reset-password", body, token=reset) for reset in found]
    assert [answer.status_code for answer in answers] == [204] + [401] * (mails - 1)


def request_reset_and_die(database_url, folder, moment):
    """Request a reset, and be killed once it is committed, or once its mail is delivered."""
    app = build(database_url, folder)
    if moment == "before_delivery":
        outbox_service.Worker.reserve = die
    else:
        claims.finish = die
    app.test_client().post("/api/users/reset", json={"email": "ada@example.com"})
    wait_to_be_ended()


def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)


def test_each_mail_arrives_once_and_all_though_a_worker_is_killed(database_url, tmp_path):
    port, everyone = free_port(), [f"user{number}@example.com" for number in range(8)]
    settings = {
        "APP_MAIL_URL": f"smtp://127.0.0.1:{port}",
        "APP_OUTBOX_POLL_INTERVAL": "0.1",
    }
    with (
        smtp_server(port, Postbox()) as postbox,
        serve(tmp_path, database_url, **settings) as server,
    ):
        for email in everyone:
            user = {"email": email, "password": PASSWORD}
            requests.post(f"{server.url}/api/users", json=user, timeout=60).raise_for_status()
        for email in everyone:
            request_reset(server, email)
        once = [postbox.wait().rcpt_tos[0] for _ in everyone]

        for email in everyone:
            request_reset(server, email)
        for pid in server.workers():
            os.kill(pid, signal.SIGKILL)
        # Their leases end.
        with connected(database_url) as connection:
            connection.execute(text("UPDATE deliveries SET next_attempt = created FROM outbox"))
        missing = set(everyone)
        while missing:
            missing -= set(postbox.wait().rcpt_tos)

    assert sorted(once) == everyone


def request_reset(server, email):
    answer = requests.post(f"{server.url}/api/users/reset", json={"email": email}, timeout=60)
    assert answer.status_code == 200
