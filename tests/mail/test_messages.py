"""What mails say, and to whom."""

import pytest

from app.mail import messages, send
from app.outbox import worker
from tests.conftest import PASSWORD
from tests.mail.resets import LINK, log_lines, parse, request_reset, written
from tests.ports import free_port
from tests.smtp import Postbox, smtp_server


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

    def record(templates, kind, part, context):
        rendered.append(part)
        return render(templates, kind, part, context)

    monkeypatch.setattr(worker, "DELIVERY_DELAY", 3600.0)
    monkeypatch.setattr(messages, "_render", record)
    api = mailing()

    request_reset(api)
    before = list(rendered)

    assert len(written(api)) == 1
    assert (before, rendered) == ([], ["subject.txt", "body.txt", "body.html"])


def test_a_folder_of_templates_and_one_call_are_a_kind_of_mail(with_templates):
    api = with_templates(
        {
            "welcome/subject.txt": "Welcome,\n{{ name }}\n",
            "welcome/body.txt": "Hello {{ name }}.",
            "welcome/body.html": "<p>Hello {{ name }}.</p>",
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
    api = with_templates({f"reset_password/{part}": template})

    response = request_reset(api)

    assert (response.status_code, response.json) == (200, {})
    assert written(api) == []
    # That it holds no token is checked after every test.
    assert log_lines(caplog) == [
        f"mail given up: {problem} in reset_password/{part}"
        " (resetPasswordRequest, attempts: 1, request: reset-1)"
    ]


def test_a_template_that_fails_stops_no_other_mail(with_templates):
    api = with_templates({"reset_password/body.txt": "{{ nickname }}"})
    token = api.login("ada@example.com")["id"]

    request_reset(api)
    api("PATCH", "/users/1", {"email": "eve@example.com"}, token=token)

    [path] = written(api)
    assert parse(path.read_bytes())["To"] == "ada@example.com"


def test_a_kind_without_templates_is_logged(mailing, caplog):
    api = mailing()

    with api.client.application.app_context():
        send("welcome", "ada@example.com", {}, lifetime=60)

    assert written(api) == []
    assert (
        "mail given up: TemplateNotFound in welcome/subject.txt (sendMail, attempts: 1)"
        in caplog.text
    )
