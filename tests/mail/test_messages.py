"""Texts and recipients of mails."""

import re
from html import escape

import pytest

from app import outbox
from app.mail import messages, send
from app.mail.delivery import SEND_EVENT
from app.outbox import service as outbox_service
from tests.conftest import PASSWORD
from tests.support.ports import free_port
from tests.support.smtp import Postbox, smtp_server

from .resets import LINK, log_lines, parse, request_reset, written


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


@pytest.mark.parametrize(
    ("settings", "sender"),
    [
        ({}, "Ostiary <no-reply@localhost>"),
        ({"SERVICE_NAME": "Harbour"}, "Harbour <no-reply@localhost>"),
        ({"SERVICE_NAME": "Müller, Söhne & Co."}, '"Müller, Söhne & Co." <no-reply@localhost>'),
        ({"SERVICE_NAME": "Harbour", "MAIL_FROM": "x@example.com"}, "Harbour <x@example.com>"),
        ({"SERVICE_NAME": "Harbour", "MAIL_FROM": "X <x@example.com>"}, "X <x@example.com>"),
    ],
)
def test_a_mail_names_the_service(mailing, settings, sender):
    api = mailing(**settings)

    request_reset(api)

    message = parse(written(api)[0].read_bytes())
    assert message["From"] == sender
    name = settings.get("SERVICE_NAME", "Ostiary")
    parts = [message.get_body([kind]).get_content() for kind in ("plain", "html")]
    assert f"your account at {name}." in parts[0]
    assert f"your account at {escape(name)}." in parts[1]
    assert ("Ostiary" in parts[0] + parts[1]) is (name == "Ostiary")


def test_the_html_is_made_from_the_text_and_loads_nothing(mailing):
    api = mailing()

    request_reset(api)

    html = parse(written(api)[0].read_bytes()).get_body(["html"]).get_content()
    link = LINK.search(html.replace('href="', ""))[0]
    assert html.count(f'<a class="button" href="{link}"') == 1
    assert re.findall(r"\b(?:src|href|url)\b\W*(https?:[^\s\"')]*)", html) == [link]
    assert "prefers-color-scheme: dark" in html
    assert 'name="color-scheme" content="light dark"' in html


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


def test_an_address_that_a_mail_header_would_decode_to_another_is_refused(mailing):
    user = {"email": "=?utf-8?q?eve=40evil.example?=@x.org", "password": PASSWORD}

    assert mailing()("POST", "/users", user).status_code == 422


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


def test_nothing_is_rendered_before_the_answer(mailing, monkeypatch):
    rendered = []
    render = messages._render

    def record(templates, path, context):
        rendered.append(path)
        return render(templates, path, context)

    monkeypatch.setattr(outbox_service, "DELIVERY_DELAY", 3600.0)
    monkeypatch.setattr(messages, "_render", record)
    api = mailing()

    request_reset(api)
    before = list(rendered)

    assert len(written(api)) == 1
    texts = [f"en/reset_password/{part}" for part in ("subject.txt", "body.txt")]
    assert (before, rendered) == ([], [*texts, "base.html"])


def test_a_folder_of_templates_and_one_call_are_a_kind_of_mail(with_templates):
    api = with_templates(
        {
            "en/welcome/subject.txt": "Welcome,\n{{ name }}\n",
            "en/welcome/body.txt": "Hello {{ name }}.",
            "en/welcome/body.html": "<p>Hello {{ name }}.</p>",
        }
    )

    with api.client.application.app_context():
        send("welcome", "ada@example.com", {"name": "A & B"}, lifetime=60)

    message = parse(written(api)[0].read_bytes())
    assert (message["To"], message["Subject"]) == ("ada@example.com", "Welcome, A & B")
    assert message.get_body(["plain"]).get_content().strip() == "Hello A & B."
    assert message.get_body(["html"]).get_content().strip() == "<p>Hello A &amp; B.</p>"


@pytest.mark.parametrize(
    ("part", "template", "problem"),
    [
        ("body.txt", "{{ nickname }}", "the variable 'nickname' is undefined"),
        ("subject.txt", "{{ config }}", "the variable 'config' is undefined"),
        ("body.html", "{{ {}[link] }}", "an attribute or item is undefined"),
        ("body.txt", "{% include link %}", "TemplateNotFound"),
        ("body.txt", "{% if %}", "TemplateSyntaxError"),
    ],
)
def test_a_template_that_fails_is_logged_without_values(
    with_templates, caplog, part, template, problem
):
    api = with_templates({f"en/reset_password/{part}": template})

    response = request_reset(api)

    assert (response.status_code, response.json) == (200, {})
    assert written(api) == []
    # That it holds no token is checked after every test.
    assert log_lines(caplog) == [
        f"mail given up: {problem} in en/reset_password/{part}"
        " (resetPasswordRequest, attempts: 1, request: reset-1)"
    ]


def test_a_template_that_fails_stops_no_other_mail(with_templates):
    api = with_templates({"en/reset_password/body.txt": "{{ nickname }}"})
    token = api.login("ada@example.com")["id"]

    request_reset(api)
    api("PATCH", "/users/1", {"email": "eve@example.com"}, token=token)

    [path] = written(api)
    assert parse(path.read_bytes())["To"] == "ada@example.com"


def test_a_kind_without_templates_is_refused_and_nothing_recorded(mailing, caplog):
    api = mailing()
    refusal = "there is no mail 'welcome': the folder templates/mail/en/welcome needs subject.txt"

    with api.client.application.app_context(), pytest.raises(ValueError, match=refusal):
        send("welcome", "ada@example.com")

    assert written(api) == []
    assert caplog.text == ""


def test_a_mail_whose_templates_are_gone_is_logged(mailing, caplog):
    api = mailing()

    with api.client.application.app_context():
        data = {"kind": "welcome", "to": "ada@example.com", "context": {}}
        outbox.record(SEND_EVENT, data, lifetime=60)

    assert written(api) == []
    assert (
        "mail given up: TemplateNotFound in en/welcome/subject.txt (sendMail, attempts: 1)"
        in caplog.text
    )
