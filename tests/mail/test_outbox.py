"""Mails in the outbox: delivered beside the requests, until they are accepted or expire."""

import json

import pytest

from app import outbox
from app.mail import delivery, send
from app.observability.logs import JsonFormatter
from app.outbox import claims
from app.outbox import delivery as attempts
from app.outbox import service as outbox_service
from app.outbox.delivery import drain
from app.outbox.models import Delivery
from tests.outbox.conftest import rows
from tests.support.ports import free_port
from tests.support.smtp import Postbox, hanging_server, smtp_server
from tests.support.waiting import eventually

from .resets import LINK, log_lines, parse, request_reset, written


def test_a_mail_names_the_request_that_caused_it(mailing, caplog):
    port = free_port()
    api = mailing(MAIL_URL=f"smtp://127.0.0.1:{port}")
    app = api.client.application

    answer = api("POST", "/users/reset", {"email": "ada@example.com"})
    with app.app_context():
        send("email_changed", "ada@example.com", {}, lifetime=60)
    with smtp_server(port, Postbox()) as postbox:
        mails = [parse(postbox.wait().content) for _ in range(2)]
    request_id = answer.headers["X-Request-Id"]
    listed = app.test_cli_runner().invoke(args=["outbox", "list", "--json"])
    sent = eventually(lambda: sent_records(caplog, 2))

    # Across further attempts, which a missing server makes, and without one for a command's.
    assert {mail["X-Request-Id"] for mail in mails} == {request_id, None}
    assert {row["requestId"] for row in json.loads(listed.stdout)} == {request_id, None}
    lines = [json.loads(JsonFormatter().format(record)) for record in sent]
    assert {line.get("request_id") for line in lines} == {request_id, None}
    assert f"attempts: 1, request: {request_id})" in caplog.text


def sent_records(caplog, number):
    """Return the records of mails that were sent, once there are so many."""
    found = [record for record in caplog.records if "mail sent" in record.getMessage()]
    return found if len(found) >= number else None


def test_several_mails_all_arrive(mailing):
    port = free_port()
    api = mailing(MAIL_URL=f"smtp://127.0.0.1:{port}")

    with smtp_server(port, Postbox()) as postbox:
        for _ in range(5):
            request_reset(api)
        tokens = {LINK.search(postbox.wait().content.decode())[2] for _ in range(5)}

    assert len(tokens) == 5


def test_a_server_that_hangs_does_not_keep_the_request(mailing, monkeypatch):
    # More than a test may take.
    monkeypatch.setattr(delivery, "SERVER_TIMEOUT", 600)
    with hanging_server() as port:
        api = mailing(MAIL_URL=f"smtp://127.0.0.1:{port}")

        answers = [request_reset(api), request_reset(api), request_reset(api, "eve@example.com")]

        assert {answer.status_code for answer in answers} == {200}


def test_the_mail_arrives_once_a_hanging_server_is_back(mailing, monkeypatch):
    monkeypatch.setattr(delivery, "SERVER_TIMEOUT", 0.2)
    with hanging_server() as port:
        api = mailing(MAIL_URL=f"smtp://127.0.0.1:{port}")
        request_reset(api)

    with smtp_server(port, Postbox()) as postbox:
        assert postbox.wait().rcpt_tos == ["ada@example.com"]


def test_the_mail_arrives_once_a_missing_server_is_there(mailing, caplog):
    port = free_port()
    api = mailing(MAIL_URL=f"smtp://127.0.0.1:{port}")

    assert request_reset(api).status_code == 200
    eventually(lambda: "mail delayed" in caplog.text)

    with smtp_server(port, Postbox()) as postbox:
        assert postbox.wait().rcpt_tos == ["ada@example.com"]
        eventually(lambda: "mail sent" in caplog.text)
        drain(api.client.application)
        assert postbox.messages.empty()


@pytest.mark.parametrize("farewell", ["421 the queue is full", "gone"])
def test_a_server_that_fails_after_it_has_taken_a_mail_gets_it_once(mailing, caplog, farewell):
    port = free_port()
    api = mailing(MAIL_URL=f"smtp://127.0.0.1:{port}")

    with smtp_server(port, RudePostbox(farewell)) as postbox:
        request_reset(api)
        postbox.wait()
        eventually(lambda: "mail sent" in caplog.text)
        drain(api.client.application)
        assert postbox.messages.empty()


class RudePostbox(Postbox):
    """Takes a message, and fails to say goodbye."""

    def __init__(self, farewell):
        super().__init__()
        self.farewell = farewell

    async def handle_QUIT(self, server, session, envelope):  # noqa: N802
        if self.farewell == "gone":
            server.transport.abort()
        return self.farewell


def test_pauses_between_tries_double(mailing, caplog, monkeypatch):
    monkeypatch.setattr(attempts, "FIRST_BACKOFF", 0.01)
    monkeypatch.setattr(claims, "MAX_BACKOFF", 0.04)
    api = mailing(MAIL_URL=f"smtp://127.0.0.1:{free_port()}")

    request_reset(api)

    delays = [0.01, 0.02, 0.04, 0.04]
    found = eventually(lambda: pauses(caplog, len(delays)))
    assert found == pytest.approx(delays)


@pytest.mark.parametrize(("refusal", "attempts"), [("550 no", 1), ("450 later", 2)])
def test_only_a_passing_refusal_is_tried_again(mailing, caplog, refusal, attempts):
    port, postbox = free_port(), Postbox(refusal)
    api = mailing(MAIL_URL=f"smtp://127.0.0.1:{port}")

    with smtp_server(port, postbox):
        request_reset(api)
        if attempts == 1:
            eventually(lambda: "mail given up: SMTPRecipientsRefused" in caplog.text)
        else:
            eventually(lambda: postbox.attempts >= attempts)

    assert ("mail delayed" in caplog.text) is (attempts > 1)
    assert postbox.attempts >= attempts


def test_a_delivery_is_logged_with_its_attempts(mailing, caplog):
    port, postbox = free_port(), Postbox("450 later")
    api = mailing(MAIL_URL=f"smtp://127.0.0.1:{port}")

    with smtp_server(port, postbox):
        request_reset(api)
        eventually(lambda: "mail delayed" in caplog.text)
        postbox.refusal = None
        postbox.wait()
        eventually(lambda: "mail sent" in caplog.text)

    *delayed, sent = log_lines(caplog)
    expected = "SMTPRecipientsRefused (resetPasswordRequest, attempts: "
    assert all(expected in line for line in delayed)
    assert sent.endswith(f"(resetPasswordRequest, attempts: {len(delayed) + 1}, request: reset-1)")


def test_a_refused_mail_does_not_hold_up_the_next(mailing, caplog):
    port, postbox = free_port(), Postbox("550 no")
    api = mailing(MAIL_URL=f"smtp://127.0.0.1:{port}")

    with smtp_server(port, postbox):
        request_reset(api)
        eventually(lambda: "mail given up" in caplog.text)
        postbox.refusal = None
        request_reset(api)

        assert postbox.wait().rcpt_tos == ["ada@example.com"]


def test_a_mail_is_given_up_when_its_token_would_have_expired(mailing, caplog, monkeypatch):
    monkeypatch.setattr(attempts, "FIRST_BACKOFF", 60.0)
    port = free_port()
    api = mailing(MAIL_URL=f"smtp://127.0.0.1:{port}", RESET_TOKEN_TTL=30)

    request_reset(api)

    eventually(lambda: "mail given up: ConnectionRefusedError" in caplog.text)
    outbox.stop(api.client.application)
    assert drain(api.client.application).total() == 0


def test_a_mail_whose_deadline_has_passed_is_not_tried(mailing, caplog):
    api = mailing()

    with api.client.application.app_context():
        send("email_changed", "ada@example.com", {}, lifetime=0)

    assert written(api) == []
    assert log_lines(caplog) == ["mail given up: its deadline has passed (sendMail, attempts: 1)"]


def test_a_stop_waits_for_no_mail_server(mailing, monkeypatch):
    monkeypatch.setattr(outbox_service, "STOP_TIMEOUT", 0.1)
    monkeypatch.setattr(delivery, "SERVER_TIMEOUT", 600)
    with hanging_server() as port:
        api = mailing(MAIL_URL=f"smtp://127.0.0.1:{port}")
        request_reset(api)
        request_reset(api)

        outbox.stop(api.client.application)

        assert rows(api.client.application, Delivery.state) == [("pending",), ("pending",)]


def test_a_server_that_cannot_take_an_address_is_asked_once(mailing, caplog):
    port = free_port()
    with smtp_server(port, Postbox(), enable_SMTPUTF8=False):
        api = mailing(MAIL_URL=f"smtp://127.0.0.1:{port}")
        api.register("jörg@example.com")
        request_reset(api, "jörg@example.com")
        eventually(lambda: "mail given up: SMTPNotSupportedError" in caplog.text)

    assert "mail delayed" not in caplog.text


def pauses(caplog, number):
    """Return the pauses of the first tries, from what is logged with them."""
    delays = [record.args[1] for record in caplog.records if "delayed" in record.msg]
    return delays[:number] if len(delays) >= number else None
