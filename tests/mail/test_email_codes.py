"""The mails with a code that proves an address."""

import re

import pytest

from tests.conftest import Api
from tests.support.ports import free_port
from tests.support.smtp import Postbox, smtp_server
from tests.support.waiting import eventually

from .resets import parse, written

CODE = re.compile(r"^[a-z2-7]{4}-[a-z2-7]{4}-[a-z2-7]{4}$", re.MULTILINE)
SETTINGS = {"PERSONAL_TOKENS": {}}


def text_of(message):
    return message.get_body(("plain",)).get_content().replace("\r\n", "\n")


def confirm(api, token, code):
    api.secrets.append(code)
    return api("POST", "/users/email-code/confirm", {"code": code}, token=token).status_code


@pytest.mark.parametrize(
    ("language", "subject", "words"),
    [
        ("en", "Your code to prove your email address", "within 10 minutes"),
        ("de", "Ihr Code zur Bestätigung Ihrer E-Mail-Adresse", "innerhalb von 10 Minuten"),
    ],
)
@pytest.mark.parametrize("body", [{}, {"email": "countess@example.com"}])
def test_the_mail_has_the_code(make_app, secrets, language, subject, words, body):
    api = Api(make_app(**SETTINGS).test_client(), secrets)
    token = api.logged_in(verified=False)
    api("POST", "/users/email-code", body, token=token, headers={"Accept-Language": language})
    [mail] = [parse(path.read_bytes()) for path in written(api)]

    assert (mail["To"], mail["Subject"]) == (body.get("email", "ada@example.com"), subject)
    assert words in " ".join(text_of(mail).split())
    assert confirm(api, token, CODE.search(text_of(mail))[0]) == 204


def test_a_mail_that_is_tried_again_has_a_code_that_works(make_app, secrets):
    port = free_port()
    app = make_app(**SETTINGS, MAIL_URL=f"smtp://127.0.0.1:{port}")
    api = Api(app.test_client(), secrets)
    token = api.logged_in(verified=False)
    with smtp_server(port, Postbox("451 try again later")) as postbox:
        api("POST", "/users/email-code", {}, token=token)
        eventually(lambda: postbox.attempts >= 2)
        postbox.refusal = None
        mail = parse(postbox.wait().content)

    assert confirm(api, token, CODE.search(text_of(mail))[0]) == 204


def test_one_mailbox_gets_no_more_than_the_limit(make_app, secrets):
    few = {"THROTTLE_ENABLED": True, "THROTTLES": {"mail_recipient": {"limit": 2}}}
    api = Api(make_app(**SETTINGS, **few).test_client(), secrets)
    for number in range(4):
        token = api.logged_in(f"mallory{number}@example.com")
        body = {"email": f"stranger+{number}@example.com"}
        assert api("POST", "/users/email-code", body, token=token).status_code == 204
    mails = [parse(path.read_bytes()) for path in written(api)]
    secrets.extend(CODE.search(text_of(mail))[0] for mail in mails)

    assert len(mails) == 2
