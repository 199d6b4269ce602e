"""Mails with the link for a password reset: what they say, and how they are delivered."""

import email.policy
import re
import ssl
import stat
import time
from email import message_from_bytes
from pathlib import Path

import pytest
import trustme
from aiosmtpd.controller import Controller

from app.mail import delivery, queue, subscribers
from tests.conftest import PASSWORD, Api
from tests.smtp import (
    Postbox,
    SmtpsController,
    accept_ada,
    eventually,
    free_port,
    hanging_server,
    smtp_server,
)

# No mail depends on which database there is.
pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)

LINK = re.compile(r"(\S*)/reset-password\?access_token=([A-Za-z0-9]{64})")


@pytest.fixture(autouse=True)
def _impatient(monkeypatch):
    """Try again soon; a server that says nothing still takes its time."""
    monkeypatch.setattr(queue, "FIRST_PAUSE", 0.05)
    monkeypatch.setattr(delivery, "SERVER_TIMEOUT", 5.0)


@pytest.fixture
def mailing(make_app, secrets):
    """Build an API with a user in it, whose mail goes where the settings say."""

    def mailing(**settings):
        api = Api(make_app(**settings).test_client(), secrets)
        api.register("ada@example.com")
        return api

    return mailing


@pytest.fixture
def authority(monkeypatch, tmp_path):
    """A certificate authority that this process trusts, and nobody else."""
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(tmp_path / "authority.pem"))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "authority.pem"))
    return authority


def request_reset(api, address="ada@example.com", **options):
    return api("POST", "/users/reset", {"email": address}, **options)


def parse(raw):
    return message_from_bytes(raw, policy=email.policy.default)


def written(api):
    """Return the paths of the mails that were written as files."""
    app = api.client.application
    app.extensions["outbox"].close()
    return sorted(Path(app.config["MAIL_FOLDER"]).iterdir())


def server_context(authority, name="127.0.0.1"):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(name).configure_cert(context)
    return context


def test_without_a_server_the_mail_is_a_file_that_only_the_service_reads(mailing):
    api = mailing()

    request_reset(api)

    [path] = written(api)
    assert path.suffix == ".eml"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_the_path_of_the_file_is_logged(mailing, caplog):
    api = mailing()

    request_reset(api)

    [path] = written(api)
    assert f"mail written to {path}" in caplog.text


def test_the_mail_goes_to_the_user_with_the_link_in_both_parts(mailing):
    api = mailing(MAIL_FROM="The Porter <porter@example.com>", RESET_TOKEN_TTL=1800)

    request_reset(api)

    message = parse(written(api)[0].read_bytes())
    assert message["To"] == "ada@example.com"
    assert message["From"] == "The Porter <porter@example.com>"
    assert message["Subject"] == "Set a new password"
    assert message["Date"]
    assert message["Message-ID"]
    parts = [message.get_body([kind]).get_content() for kind in ("plain", "html")]
    links = {LINK.search(part.replace('href="', "")).groups() for part in parts}
    assert len(links) == 1
    assert all("30 minutes" in part for part in parts)


def test_the_link_works(mailing):
    api = mailing()
    request_reset(api)
    path = LINK.search(parse(written(api)[0].read_bytes()).get_body(["plain"]).get_content())[0]

    response = api.client.get(path.removeprefix("http://127.0.0.1:3000"))

    assert response.status_code == 200
    assert "<form" in response.text


def test_the_link_starts_with_the_public_url_whatever_the_host_header(mailing):
    api = mailing(PUBLIC_URL="https://todo.example.com", TRUSTED_PROXIES=1)
    lies = {"Host": "evil.example", "X-Forwarded-Host": "evil.example"}

    request_reset(api, headers=lies)

    content = written(api)[0].read_text()
    assert LINK.search(content)[1] == "https://todo.example.com"
    assert "evil.example" not in content


def test_an_unknown_email_gets_no_mail(mailing):
    api = mailing()

    request_reset(api, "eve@example.com")

    assert written(api) == []


def test_an_address_beyond_ascii_gets_its_mail(mailing):
    port = free_port()
    api = mailing(MAIL_URL=f"smtp://127.0.0.1:{port}")
    api.register("jörg@example.com")

    with smtp_server(port, Postbox(), enable_SMTPUTF8=True) as postbox:
        request_reset(api, "jörg@example.com")

        assert postbox.wait().rcpt_tos == ["jörg@example.com"]


def test_an_address_that_a_mail_header_would_decode_to_another_is_refused(mailing):
    user = {"email": "=?utf-8?q?eve=40evil.example?=@x.org", "password": PASSWORD}

    assert mailing()("POST", "/users", user).status_code == 422


def test_a_server_gets_the_mail(mailing):
    port = free_port()
    api = mailing(MAIL_URL=f"smtp://127.0.0.1:{port}", MAIL_FROM="Porter <porter@example.com>")

    with smtp_server(port, Postbox()) as postbox:
        request_reset(api)
        envelope = postbox.wait()

    assert envelope.mail_from == "porter@example.com"
    assert envelope.rcpt_tos == ["ada@example.com"]
    assert LINK.search(parse(envelope.content).get_body(["plain"]).get_content())
    assert envelope.tls is False


def test_several_mails_all_arrive(mailing):
    port = free_port()
    api = mailing(MAIL_URL=f"smtp://127.0.0.1:{port}")

    with smtp_server(port, Postbox()) as postbox:
        for _ in range(5):
            request_reset(api)
        tokens = {LINK.search(postbox.wait().content.decode())[2] for _ in range(5)}

    assert len(tokens) == 5


def test_starttls_and_login_are_used(mailing, authority):
    port, postbox = free_port(), Postbox()
    api = mailing(MAIL_URL=f"smtp://ada:p%40ss%2Fword@127.0.0.1:{port}?starttls=1")
    tls = server_context(authority)
    options = {"require_starttls": True, "auth_required": True, "authenticator": accept_ada}

    with smtp_server(port, postbox, tls_context=tls, **options):
        request_reset(api)
        envelope = postbox.wait()

    assert (envelope.tls, envelope.login) == (True, "ada")


def test_smtps_is_used(mailing, authority):
    port, postbox = free_port(), Postbox()
    api = mailing(MAIL_URL=f"smtps://127.0.0.1:{port}")

    with smtp_server(port, postbox, SmtpsController, ssl_context=server_context(authority)):
        request_reset(api)

        assert postbox.wait().tls is True


@pytest.mark.parametrize("kind", ["starttls", "smtps"])
@pytest.mark.parametrize("flaw", ["unknown authority", "other name"])
def test_a_server_that_cannot_prove_its_name_gets_no_mail(mailing, authority, caplog, kind, flaw):
    port, postbox = free_port(), Postbox()
    issuer = trustme.CA() if flaw == "unknown authority" else authority
    tls = server_context(issuer, "127.0.0.1" if flaw == "unknown authority" else "evil.example")
    address = {"starttls": "smtp://127.0.0.1:{}?starttls=1", "smtps": "smtps://127.0.0.1:{}"}[kind]
    options = {"starttls": {"tls_context": tls}, "smtps": {"ssl_context": tls}}[kind]
    api = mailing(MAIL_URL=address.format(port))

    with smtp_server(port, postbox, SmtpsController if kind == "smtps" else Controller, **options):
        request_reset(api)
        eventually(lambda: "mail delayed" in caplog.text or not postbox.messages.empty())

        assert postbox.messages.empty()


def test_a_server_that_hangs_does_not_keep_the_request(mailing):
    with hanging_server() as port:
        api = mailing(MAIL_URL=f"smtp://127.0.0.1:{port}")
        start = time.monotonic()

        answers = [request_reset(api), request_reset(api), request_reset(api, "eve@example.com")]

        assert time.monotonic() - start < delivery.SERVER_TIMEOUT / 5
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


def test_pauses_between_tries_double(mailing, caplog, monkeypatch):
    monkeypatch.setattr(queue, "FIRST_PAUSE", 0.01)
    monkeypatch.setattr(queue, "LONGEST_PAUSE", 0.04)
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
    monkeypatch.setattr(queue, "FIRST_PAUSE", 1.5)
    port = free_port()
    api = mailing(MAIL_URL=f"smtp://127.0.0.1:{port}", RESET_TOKEN_TTL=1)

    request_reset(api)

    eventually(lambda: "mail given up: ConnectionRefusedError" in caplog.text)
    with smtp_server(port, Postbox()) as postbox:
        api.client.application.extensions["outbox"].close()
    assert postbox.messages.empty()


def test_what_waits_is_tried_once_more_at_close(mailing, caplog, monkeypatch):
    monkeypatch.setattr(queue, "FIRST_PAUSE", 60.0)
    port = free_port()
    api = mailing(MAIL_URL=f"smtp://127.0.0.1:{port}")
    request_reset(api)
    eventually(lambda: "mail delayed" in caplog.text)

    with smtp_server(port, Postbox()) as postbox:
        api.client.application.extensions["outbox"].close()

        assert postbox.messages.qsize() == 1


def test_what_cannot_be_delivered_at_close_is_logged(mailing, caplog, monkeypatch):
    monkeypatch.setattr(queue, "DRAIN_TIMEOUT", 0.1)
    with hanging_server() as port:
        api = mailing(MAIL_URL=f"smtp://127.0.0.1:{port}")
        request_reset(api)
        request_reset(api)
        start = time.monotonic()

        api.client.application.extensions["outbox"].close()

    assert time.monotonic() - start < delivery.SERVER_TIMEOUT / 2
    assert "mail lost at shutdown: 1 undelivered" in caplog.text


def test_a_full_queue_drops_mail_and_says_so(mailing, caplog, monkeypatch):
    monkeypatch.setattr(queue, "LONGEST_QUEUE", 1)
    monkeypatch.setattr(queue, "DRAIN_TIMEOUT", 0.1)
    with hanging_server() as port:
        api = mailing(MAIL_URL=f"smtp://127.0.0.1:{port}")
        answers = [request_reset(api) for _ in range(4)]

    assert {answer.status_code for answer in answers} == {200}
    assert "mail dropped: 1 are waiting already" in caplog.text


def test_an_app_that_sent_nothing_closes_at_once(app, caplog):
    app.extensions["outbox"].close()

    assert "mail" not in caplog.text


def pauses(caplog, number):
    """Return the pauses of the first tries, from what is logged with them."""
    delays = [record.args[0] for record in caplog.records if "delayed" in record.msg]
    return delays[:number] if len(delays) >= number else None


def test_the_old_address_is_told_of_a_new_one(mailing):
    api = mailing()
    token = api.login("ada@example.com")["id"]

    api("PATCH", "/users/1", {"email": "eve@example.com"}, token=token)

    [path] = written(api)
    message = parse(path.read_bytes())
    assert message["To"] == "ada@example.com"
    assert message["Subject"] == "The email address of your account was changed"
    for kind in ("plain", "html"):
        content = message.get_body([kind]).get_content()
        assert "another email address" in content
        assert "eve@example.com" not in content


def test_an_international_domain_is_written_as_dns_has_it(mailing):
    port = free_port()
    with smtp_server(port, Postbox(), enable_SMTPUTF8=False) as postbox:
        api = mailing(MAIL_URL=f"smtp://127.0.0.1:{port}")
        api.register("ada@straße.example")
        request_reset(api, "ada@straße.example")
        envelope = postbox.wait()

    assert envelope.rcpt_tos == ["ada@xn--strae-oqa.example"]
    assert parse(envelope.content)["To"] == "ada@xn--strae-oqa.example"


def test_a_server_that_cannot_take_an_address_is_asked_once(mailing, caplog):
    port = free_port()
    with smtp_server(port, Postbox(), enable_SMTPUTF8=False):
        api = mailing(MAIL_URL=f"smtp://127.0.0.1:{port}")
        api.register("jörg@example.com")
        request_reset(api, "jörg@example.com")
        eventually(lambda: "mail given up: SMTPNotSupportedError" in caplog.text)

    assert "mail delayed" not in caplog.text


def test_nothing_is_rendered_before_the_answer(mailing, monkeypatch):
    rendered = []
    compose = subscribers.compose
    monkeypatch.setattr(queue, "HEAD_START", 3600.0)
    monkeypatch.setattr(
        subscribers, "compose", lambda *given: rendered.append(1) or compose(*given)
    )
    api = mailing()

    request_reset(api)
    before = list(rendered)

    assert len(written(api)) == 1
    assert (before, rendered) == ([], [1])
