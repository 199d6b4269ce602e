"""Delivery of mails: as files, and to SMTP servers that show their certificate."""

import resource
import ssl
import stat
from email.message import EmailMessage
from pathlib import Path

import pytest
import trustme
from aiosmtpd.controller import Controller

from app.mail.delivery import make_delivery
from tests.support.ports import free_port
from tests.support.smtp import Postbox, SmtpsController, accept, accept_ada, smtp_server
from tests.support.waiting import eventually

from .resets import LINK, log_lines, parse, request_reset, written


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


def test_a_mail_for_which_there_is_no_room_leaves_no_file(app):
    deliver, message = make_delivery(app), EmailMessage()
    message.set_content("x" * 1000)
    folder = Path(app.config["MAIL_FOLDER"])
    # Of other tests with this app.
    before = set(folder.glob("*"))
    _, most = resource.getrlimit(resource.RLIMIT_FSIZE)

    resource.setrlimit(resource.RLIMIT_FSIZE, (100, most))
    try:
        with pytest.raises(OSError, match="File too large"):
            deliver(message)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))

    assert set(folder.iterdir()) == before


def test_a_mail_that_is_written_is_one_log_line_with_its_path(mailing, caplog):
    api = mailing()

    request_reset(api)

    [path] = written(api)
    described = "(resetPasswordRequest, attempts: 1, request: reset-1)"
    assert log_lines(caplog) == [f"mail written to {path} {described}"]


def test_a_mail_that_is_sent_is_one_log_line_without_its_content(mailing, authority, caplog):
    port, tls = free_port(), server_context(authority)
    api = mailing(MAIL_URL=f"smtp://ada:p%40ss%2Fword@127.0.0.1:{port}?starttls=1")
    options = {"tls_context": tls, "auth_required": True, "authenticator": accept_ada}

    with smtp_server(port, Postbox(), **options):
        request_reset(api)
        [line] = eventually(lambda: log_lines(caplog))

    described = "(resetPasswordRequest, attempts: 1, request: reset-1)"
    assert line == f"mail sent by SMTP server 127.0.0.1:{port} {described}"


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


@pytest.mark.parametrize("address", ["ada@example.com", "jörg@example.com"])
def test_a_server_gets_text_beyond_ascii_as_every_server_takes_it(mailing, address):
    """8BITMIME (RFC 6152) is an extension; in a file the text can be read as it is."""
    port, german = free_port(), {"Accept-Language": "de"}
    api = mailing(MAIL_URL=f"smtp://127.0.0.1:{port}")
    if address != "ada@example.com":
        api.register(address)

    with smtp_server(port, Postbox(), enable_SMTPUTF8=True) as postbox:
        request_reset(api, address, headers=german)
        content = postbox.wait().content

    head, _, body = content.partition(b"\r\n\r\n")
    text = parse(content).get_body(["plain"]).get_content()
    assert body.isascii()
    assert head.isascii() is address.isascii()
    assert "hat ein neues Passwort für Ihr Konto bei Ostiary" in " ".join(text.split())
    assert LINK.search(text)


def test_a_file_has_its_text_as_it_is(mailing):
    api = mailing()

    request_reset(api, headers={"Accept-Language": "de"})

    assert "hat ein neues Passwort für Ihr Konto" in written(api)[0].read_text()


def test_an_address_beyond_ascii_gets_its_mail(mailing):
    port = free_port()
    api = mailing(MAIL_URL=f"smtp://127.0.0.1:{port}")
    api.register("jörg@example.com")

    with smtp_server(port, Postbox(), enable_SMTPUTF8=True) as postbox:
        request_reset(api, "jörg@example.com")

        assert postbox.wait().rcpt_tos == ["jörg@example.com"]


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


# Of the server, about logins without TLS, which keep the tests short.
without_tls = pytest.mark.filterwarnings("ignore:Requiring AUTH while not requiring TLS")
LOGIN = {"auth_required": True, "authenticator": accept_ada, "auth_require_tls": False}
NO_STARTTLS, NO_AUTH = (f"server does not offer {extension}" for extension in ("STARTTLS", "AUTH"))


@without_tls
@pytest.mark.parametrize(
    ("address", "poor", "good", "reason"),
    [
        ("smtp://{}?starttls=1", {}, {"tls_context": server_context}, NO_STARTTLS),
        ("smtp://ada:p%40ss%2Fword@{}", {}, LOGIN, NO_AUTH),
        # What the settings lack is mended by whoever runs the service, and not by each mail.
        ("smtp://{}", LOGIN, {}, "SMTPSenderRefused 530"),
        ("smtp://{}", {"tls_context": server_context, "require_starttls": True}, {}, "530"),
    ],
    ids=["no STARTTLS", "no AUTH", "AUTH is required", "STARTTLS is required"],
)
def test_a_mail_waits_until_the_server_and_the_settings_fit(
    mailing, authority, caplog, address, poor, good, reason
):
    port = free_port()
    api = mailing(MAIL_URL=address.format(f"127.0.0.1:{port}"))

    def options(given):
        return {name: v(authority) if v is server_context else v for name, v in given.items()}

    with smtp_server(port, Postbox(), **options(poor)) as postbox:
        request_reset(api)
        eventually(lambda: "mail delayed" in caplog.text)
        assert (postbox.attempts, postbox.messages.empty()) == (0, True)

    assert any(reason in line for line in log_lines(caplog))
    with smtp_server(port, Postbox(), **options(good)) as postbox:
        assert postbox.wait().tls is ("tls_context" in good)


@without_tls
@pytest.mark.parametrize("written", ["pässwörd✓", "p%C3%A4ssw%C3%B6rd%E2%9C%93"])
def test_a_password_beyond_ascii_is_sent_as_utf_8(mailing, caplog, written):
    port = free_port()
    api = mailing(MAIL_URL=f"smtp://jörg:{written}@127.0.0.1:{port}")

    with smtp_server(
        port, Postbox(), **{**LOGIN, "authenticator": accept("jörg", "pässwörd✓")}
    ) as postbox:
        request_reset(api)

        assert postbox.wait().login == "jörg"


@without_tls
def test_a_password_beyond_ascii_waits_for_a_server_that_takes_it(mailing, caplog):
    port = free_port()
    api = mailing(MAIL_URL=f"smtp://jörg:pässwörd@127.0.0.1:{port}")
    options = {**LOGIN, "authenticator": accept("jörg", "pässwörd")}

    with smtp_server(port, Postbox(), **options, auth_exclude_mechanism=["PLAIN"]):
        request_reset(api)
        eventually(lambda: "server does not offer AUTH PLAIN" in caplog.text)
    with smtp_server(port, Postbox(), **options) as postbox:
        assert postbox.wait().login == "jörg"
