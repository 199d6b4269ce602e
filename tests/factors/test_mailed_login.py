"""Login by a code that is mailed: POST /users/login/mail and POST /users/login/mail/confirm."""

import re
from datetime import timedelta

import pytest
from sqlalchemy import select

from app.audit.models import AuditRecord
from app.database.session import db
from app.factors.mailed_login.service import LoginCode
from app.problems import ConfigurationError
from app.signals import account_claimed, login_code_request
from app.users.models import AccessToken
from app.users.service import delete_user, disable_user, enable_user
from tests.conftest import NEW, PASSWORD, Api, login_status
from tests.mail.resets import parse, written
from tests.support.answers import refusal
from tests.support.races import at_once
from tests.support.rows import count, statements
from tests.support.throttles import pass_time

KEY = "a key of the service, 32 characters"
SETTINGS = {"EMAIL_LOGIN": True, "LOGIN_CODE_KEYS": [KEY]}
ADA = {"email": "ada@example.com"}
FAILED = (401, "LOGIN_FAILED")


@pytest.fixture
def app(shared_app):
    return shared_app(**SETTINGS)


@pytest.fixture
def mailed(app):
    """The codes that were mailed, the oldest first, by their event."""
    found = []

    def note(sender, info):
        found.append(info)

    with login_code_request.connected_to(note, sender=app):
        yield found


@pytest.fixture
def ada(api):
    """A user with a verified address and the id 1; their token."""
    return api.logged_in()


def request(api, **body):
    """Ask for a code; return the ticket."""
    response = api("POST", "/users/login/mail", {**ADA, **body})
    assert response.status_code == 200, response.json
    api.secrets.append(response.json["ticket"])
    return response.json["ticket"]


def confirm(api, ticket, code):
    response = api("POST", "/users/login/mail/confirm", {"ticket": ticket, "code": code})
    if response.status_code == 200:
        api.secrets.append(response.json["id"])
    return response


def wrong(code):
    return f"{(int(code) + 1) % 10**8:08}"


def details(app, action):
    with app.app_context():
        named = select(AuditRecord.details).where(AuditRecord.action == action)
        return db.session.scalars(named.order_by(AuditRecord.id)).all()


@pytest.mark.both_databases
def test_the_code_and_the_ticket_log_in_once(app, api, ada, mailed):
    ticket = request(api)
    [info] = mailed

    token = confirm(api, ticket, info["code"])

    assert (token.status_code, list(token.json)) == (200, ["id", "ttl", "created", "userId"])
    assert re.fullmatch(r"[0-9]{8}", info["code"])
    assert (info["email"], info["user"].id, info["ttl"]) == ("ada@example.com", 1, 600)
    assert api("GET", "/users/1", token=token.json["id"]).status_code == 200
    assert refusal(confirm(api, ticket, info["code"])) == FAILED
    with app.app_context():
        methods = db.session.scalars(select(AccessToken.methods)).all()
    assert "email" in methods
    assert count(app, LoginCode) == 0
    # A verified user keeps everything.
    assert login_status(api, PASSWORD) == 200
    assert api("GET", "/users/1", token=ada).status_code == 200


def test_a_code_may_be_typed_with_spaces(api, ada, mailed):
    ticket = request(api)
    code = mailed[0]["code"]

    assert confirm(api, ticket, f" {code[:4]} {code[4:]}").status_code == 200


def test_the_answer_is_the_same_for_unknown_disabled_and_unverified_addresses(app, api, mailed):
    api.logged_in(verified=False)
    api.logged_in("off@example.com")
    with app.app_context():
        disable_user(2)
    answers = [
        api("POST", "/users/login/mail", {"email": f"{name}@example.com"})
        for name in ("ada", "off", "nobody")
    ]
    api.secrets.extend(answer.json["ticket"] for answer in answers)

    assert {answer.status_code for answer in answers} == {200}
    assert {re.sub(r"[A-Za-z0-9]{64}", "…", answer.text) for answer in answers} == {
        answers[0].text.replace(answers[0].json["ticket"], "…")
    }
    assert len({tuple(answer.headers.keys()) for answer in answers}) == 1
    assert [info["email"] for info in mailed] == ["ada@example.com"]


def kinds(sent):
    """Return statements without their values."""
    return [re.sub(r"'[^']*'", "?", text.split("(")[0]) for text in sent]


def test_the_work_is_the_same_for_unknown_addresses(app, api, ada):
    sent = {}
    for email in ("ada@example.com", "nobody@example.com"):
        with statements(app) as asked:
            ticket = request(api, email=email)
        with statements(app) as tried:
            assert refusal(confirm(api, ticket, "00000000")) == FAILED
        sent[email] = [kinds(asked), kinds(tried)]

    assert sent["ada@example.com"] == sent["nobody@example.com"]


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({}, "EMAIL_REQUIRED"),
        ({"email": 7}, "EMAIL_REQUIRED"),
        ({"email": "ada"}, "INVALID_EMAIL"),
        ({**ADA, "realm": 7}, "INVALID_REALM"),
    ],
)
def test_an_invalid_address_is_400(api, body, code):
    assert refusal(api("POST", "/users/login/mail", body)) == (400, code)


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"ticket": "x"},
        {"ticket": "x", "code": 12345678},
        {"ticket": ["x"], "code": "12345678"},
        {"ticket": "x" * 65, "code": "12345678"},
        {"ticket": "x", "code": "1" * 33},
    ],
    ids=str,
)
def test_a_malformed_confirmation_is_422(api, body):
    assert api("POST", "/users/login/mail/confirm", body).status_code == 422


@pytest.mark.parametrize("code", ["", "0", "12345678", "١٢٣٤٥٦٧٨", "a b"])
def test_a_wrong_code_or_ticket_is_401(api, ada, code):
    assert refusal(confirm(api, request(api), code)) == FAILED
    assert refusal(confirm(api, "unknown", code)) == FAILED


def test_five_wrong_codes_end_a_ticket(app, api, ada, mailed):
    ticket, other = request(api), request(api)
    codes = [info["code"] for info in mailed]

    for _ in range(5):
        assert refusal(confirm(api, ticket, wrong(codes[0]))) == FAILED

    assert refusal(confirm(api, ticket, codes[0])) == FAILED
    # An older one is not ended by a newer one, nor by its failures.
    assert confirm(api, other, codes[1]).status_code == 200
    assert details(app, "login-failed") == [{"reason": "mailed code"}] * 5


@pytest.mark.both_databases
def test_wrong_codes_at_once_are_no_more_than_five(app, ada, api, mailed):
    ticket = request(api)
    bad = {"ticket": ticket, "code": wrong(mailed[0]["code"])}

    at_once(app, *[lambda client: client.post("/api/users/login/mail/confirm", json=bad)] * 8)

    with app.app_context():
        assert db.session.scalar(select(LoginCode.tries)) == 5
    assert refusal(confirm(api, ticket, mailed[0]["code"])) == FAILED


@pytest.mark.both_databases
def test_of_two_uses_at_once_one_logs_in(app, ada, api, mailed):
    body = {"ticket": request(api), "code": mailed[0]["code"]}
    path = "/api/users/login/mail/confirm"

    answers = at_once(app, *[lambda client: client.post(path, json=body)] * 2)

    assert sorted(answer.status_code for answer in answers) == [200, 401]
    api.secrets.extend(answer.json["id"] for answer in answers if answer.status_code == 200)


def test_a_code_is_bound_to_the_ticket_that_asked_for_it(api, ada, mailed):
    first, second = request(api), request(api)

    assert refusal(confirm(api, first, mailed[1]["code"])) == FAILED
    assert refusal(confirm(api, second, mailed[0]["code"])) == FAILED
    assert mailed[0]["code"] != mailed[1]["code"]


@pytest.mark.both_databases
def test_a_code_ends_after_ten_minutes(app, api, ada, mailed):
    ticket = request(api)
    with app.app_context():
        for model in (LoginCode, AccessToken):
            for row in db.session.scalars(select(model)):
                row.expires_at -= timedelta(minutes=10)
        db.session.commit()

    assert refusal(confirm(api, ticket, mailed[0]["code"])) == FAILED


def _delete(app, api, token):
    with app.app_context():
        delete_user(1)


def _disable_and_enable(app, api, token):
    with app.app_context():
        disable_user(1)
        enable_user(1)


def _change_email(app, api, token):
    body = {"email": "countess@example.com", "password": PASSWORD}
    assert api("PATCH", "/users/1", body, token=token).status_code == 200


def _change_password(app, api, token):
    body = {"oldPassword": PASSWORD, "newPassword": NEW}
    assert api("POST", "/users/change-password", body, token=token).status_code == 204


def _end_sessions(app, api, token):
    assert api("DELETE", "/users/1/accessTokens", token=token).status_code == 204


@pytest.mark.parametrize(
    "end", [_delete, _disable_and_enable, _change_email, _change_password, _end_sessions]
)
def test_a_code_ends_with_the_user_the_address_and_the_sessions(app, api, ada, mailed, end):
    api.secrets.append(NEW)
    ticket = request(api)

    end(app, api, ada)

    assert refusal(confirm(api, ticket, mailed[0]["code"])) == FAILED


def test_a_ticket_opens_nothing(api, ada):
    ticket = request(api)

    assert api("GET", "/users/1", token=ticket).status_code == 401
    body = {"newPassword": NEW}
    assert api("POST", "/users/reset-password", body, token=ticket).status_code == 401
    assert len(api("GET", "/users/1/accessTokens", token=ada).json) == 1


@pytest.mark.both_databases
def test_an_account_that_was_never_verified_is_given_to_the_owner_of_the_address(app, api, mailed):
    squatter = api.logged_in(verified=False)
    claimed = []
    with account_claimed.connected_to(lambda sender, info: claimed.append(info), sender=app):
        token = confirm(api, request(api), mailed[0]["code"]).json["id"]

    assert api("GET", "/users/1", token=token).json["emailVerified"] is True
    assert api("GET", "/users/1", token=squatter).status_code == 401
    assert login_status(api, PASSWORD) == 401
    assert [info["provider"] for info in claimed] == [None]
    assert details(app, "account-claimed") == [{}]


def test_a_login_by_mail_needs_no_verification_before(shared_app, secrets):
    app = shared_app(**SETTINGS, EMAIL_VERIFICATION="required")
    api, found = Api(app.test_client(), secrets), []
    api.logged_in(verified=False)

    with login_code_request.connected_to(lambda sender, info: found.append(info), sender=app):
        assert confirm(api, request(api), found[0]["code"]).status_code == 200


def test_requests_are_counted_by_client_email_and_mailbox(make_app, secrets):
    app = make_app(**SETTINGS, THROTTLE_ENABLED=True)
    api, found = Api(app.test_client(), secrets), []
    api.logged_in()

    def ask(email, client):
        body, environ = {"email": email}, {"REMOTE_ADDR": client}
        response = api("POST", "/users/login/mail", body, environ_overrides=environ)
        secrets.append(response.json.get("ticket", NEW))
        return response.status_code

    with login_code_request.connected_to(lambda sender, info: found.append(info), sender=app):
        # More than five of one client are answered alike, and mail nothing.
        assert {ask("ada@example.com", "192.0.2.1") for _ in range(7)} == {200}
        assert len(found) == 5
        for number in range(7):
            assert ask("ada@example.com", f"198.51.100.{number}") == 200
        assert len(found) == 10
        assert {ask(f"user{n}@example.com", "192.0.2.1") for n in range(13)} == {200}
        assert ask("other@example.com", "192.0.2.1") == 429
        pass_time(app, 901)
        assert ask("ada@example.com", "192.0.2.1") == 200
        assert len(found) == 11


def test_strangers_use_up_no_budget_of_a_verified_address(make_app, secrets):
    app = make_app(**SETTINGS, THROTTLE_ENABLED=True)
    api, found = Api(app.test_client(), secrets), []
    api.logged_in()
    emails = [f"ada+{number}@example.com" for number in range(12)]
    for email in emails[:6]:
        api.logged_in(email, verified=False)
    with login_code_request.connected_to(lambda sender, info: found.append(info), sender=app):
        for number, email in enumerate([*emails * 2, "ada@example.com"]):
            environ = {"REMOTE_ADDR": f"198.51.100.{number}"}
            body = {"email": email}
            asked = api("POST", "/users/login/mail", body, environ_overrides=environ)
            secrets.append(asked.json["ticket"])

    assert len(found) == 11
    assert found[-1]["email"] == "ada@example.com"


def test_wrong_codes_are_counted_by_client(make_app, secrets):
    api = Api(make_app(**SETTINGS, THROTTLE_ENABLED=True).test_client(), secrets)

    statuses = [confirm(api, "unknown", "12345678").status_code for _ in range(11)]

    assert statuses == [401] * 10 + [429]


def test_keys_are_replaced_without_a_break(make_app, secrets):
    old = make_app(**SETTINGS)
    rotated = make_app(**{**SETTINGS, "LOGIN_CODE_KEYS": ["b" * 40, KEY]})
    other = make_app(**{**SETTINGS, "LOGIN_CODE_KEYS": ["b" * 40]})
    api, found = Api(old.test_client(), secrets), []
    api.logged_in()
    with login_code_request.connected_to(lambda sender, info: found.append(info), sender=old):
        ticket = request(api)

    assert refusal(confirm(Api(other.test_client(), secrets), ticket, found[0]["code"])) == FAILED
    # Another instance on the same database, and with the new key.
    assert confirm(Api(rotated.test_client(), secrets), ticket, found[0]["code"]).status_code == 200


def test_without_a_key_the_service_does_not_start(make_app):
    with pytest.raises(ConfigurationError, match="EMAIL_LOGIN needs LOGIN_CODE_KEYS"):
        make_app(EMAIL_LOGIN=True)


def test_it_is_off_by_default(make_app):
    client = make_app().test_client()

    assert client.post("/api/users/login/mail", json=ADA).status_code in (404, 405)
    assert client.get("/login-code?code=12345678").status_code == 404


@pytest.mark.parametrize(
    ("language", "subject", "words"),
    [
        ("en", "Your code to log in", "Type this\ncode within 10 minutes"),
        ("de", "Ihr Code zur Anmeldung", "innerhalb von 10 Minuten"),
    ],
)
def test_the_mail_has_the_code_and_a_link(make_app, secrets, language, subject, words):
    app = make_app(**SETTINGS)
    api, found = Api(app.test_client(), secrets), []
    api.logged_in()
    with login_code_request.connected_to(lambda sender, info: found.append(info), sender=app):
        response = api("POST", "/users/login/mail", ADA, headers={"Accept-Language": language})
    secrets.append(response.json["ticket"])

    [mail] = [parse(path.read_bytes()) for path in written(api)]

    text = mail.get_body(["plain"]).get_content().replace("\r\n", "\n")
    assert (mail["Subject"], mail["To"]) == (subject, "ada@example.com")
    assert words in text
    assert f"\n{found[0]['code']}\n" in text
    assert f"/login-code?code={found[0]['code']}\n" in text
    assert response.json["ticket"] not in mail.as_string()
