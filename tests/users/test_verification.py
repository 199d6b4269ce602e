"""POST /users/{id}/verify, GET /users/confirm, and logins that need a verified address."""

from urllib.parse import urlencode

import pytest

from app.access import roles
from app.signals import verification_request
from app.users.models import AccessToken
from tests.conftest import NEW, PASSWORD, login_status
from tests.support.answers import refusal
from tests.support.rows import count, expire, statements

WELCOME = "https://todo.example.com/welcome?from=mail"
SETTINGS = {
    "EMAIL_VERIFICATION": "optional",
    "REDIRECT_URLS": [WELCOME, "/explorer"],
    "TOKEN_IN_QUERY": True,
}
INVALID = (400, "INVALID_TOKEN")
# The queries of confirmations that fail.
WRONG_QUERIES = [
    "",
    "uid=1",
    "token={token}",
    "uid=&token={token}",
    "uid=2&token={token}",
    "uid=01&token={token}",
    "uid=1%20&token={token}",
    "uid=%d9%a1&token={token}",
    "uid=1&token={token}x",
    "uid=1&token={short}",
    "uid=1&token=%ff%00",
    "uid=1&token[]={token}",
]
# Addresses to redirect to that are not listed.
FOREIGN = [
    "/",
    "//todo.example.com/welcome?from=mail",
    "https://todo.example.com/welcome",
    "https://todo.example.com/welcome?from=mail&x=1",
    "https://todo.example.com/welcome?from=mail#x",
    "https://todo.example.com/WELCOME?from=mail",
    "https://todo.example.com@evil.example/welcome?from=mail",
    "https://todo.example.com.evil.example/welcome?from=mail",
    "https://evil.example/?https://todo.example.com/welcome?from=mail",
    "http://todo.example.com/welcome?from=mail",
    "javascript:alert(1)",
    "data:text/html,x",
    " https://todo.example.com/welcome?from=mail",
    "https://todo.example.com/welcome?from=mail\r\nSet-Cookie: a=b",
    "https://todo.example.com\\welcome?from=mail",
    "\\\\evil.example",
    "/\\evil.example",
    "/explorer/../..//evil.example",
    "//explorer",
]
NOT_VERIFIED = "LOGIN_FAILED_EMAIL_NOT_VERIFIED"


@pytest.fixture
def app(shared_app):
    return shared_app(**SETTINGS)


@pytest.fixture
def verify_token(api, events):
    """The token that was mailed to the user with id 1 at registration."""
    api.register()
    return events.tokens()[0]


def confirm(api, token, uid=1, **query):
    return api("GET", f"/users/confirm?{urlencode({'uid': uid, 'token': token, **query})}")


def is_verified(api, email="ada@example.com"):
    response = api("POST", "/users/login?include=user", {"email": email, "password": PASSWORD})
    api.secrets.append(response.json["id"])
    return response.json["user"]["emailVerified"]


def test_a_registration_asks_to_confirm_the_address(api, events):
    user = api.register("Ada@example.com")

    [(name, info)] = events
    assert name == "verificationRequest"
    assert set(info) == {"accessToken", "email", "user"}
    assert info["email"] == info["user"].email == "ada@example.com"
    assert info["accessToken"].user_id == info["user"].id == user["id"]
    assert (info["accessToken"].ttl, len(info["accessToken"].id)) == (172800, 64)
    assert user["emailVerified"] is False


def test_users_of_an_array_are_asked_one_by_one(api, events):
    people = [{"email": f"{name}@example.com", "password": PASSWORD} for name in ("ada", "bob")]

    api("POST", "/users", people)

    assert [info["email"] for _, info in events] == ["ada@example.com", "bob@example.com"]


def test_a_registration_that_fails_asks_nobody(app, api, events):
    people = [{"email": "ada@example.com", "password": PASSWORD}] * 2

    assert api("POST", "/users", people).status_code == 422
    assert events == []
    assert count(app, AccessToken) == 0


def test_the_token_confirms_the_address_once(app, api, verify_token, events):
    first, second = confirm(api, verify_token), confirm(api, verify_token)

    assert (first.status_code, first.data) == (204, b"")
    assert refusal(second) == INVALID
    assert is_verified(api)
    info = events[-1][1]
    assert events.names == ["verificationRequest", "emailVerified"]
    assert (info["email"], info["user"].id) == ("ada@example.com", 1)
    assert info["user"].email_verified is True


def test_confirming_ends_no_session_and_every_other_token_for_it(app, api, verify_token, events):
    session = api.login()["id"]
    api("POST", "/users/1/verify")

    confirm(api, events.tokens()[1])

    assert api("GET", "/users/1", token=session).json["emailVerified"] is True
    assert refusal(confirm(api, verify_token)) == INVALID
    assert count(app, AccessToken) == 1


def test_known_and_unknown_ids_get_the_same_answer_byte_for_byte(app, api, events):
    for email in ("ada@example.com", "bob@example.com", "eve@example.com"):
        api.register(email)
    confirm(api, events.tokens()[1], uid=2)
    token = api.login("eve@example.com")["id"]
    api("DELETE", "/users/3", token=token)
    ids = ["1", "2", "3", "99", "x", "01", "-1", "9" * 30, "%00", "1%20"]

    answers = {id_: api("POST", f"/users/{id_}/verify") for id_ in ids}

    expected = wire_form(answers["1"])
    assert expected[0] == "204 NO CONTENT"
    assert {id_: wire_form(answer) for id_, answer in answers.items()} == dict.fromkeys(
        ids, expected
    )
    assert [info["email"] for name, info in events if name == "verificationRequest"][3:] == [
        "ada@example.com"
    ]


def wire_form(answer):
    headers = [(name, value) for name, value in answer.headers if name != "X-Request-Id"]
    return answer.status, headers, answer.data


def test_known_and_unknown_ids_send_the_same_statements(shared_app, api, verify_token, events):
    api.register("bob@example.com")
    confirm(api, events.tokens()[1], uid=2)
    # Without a thread that sends statements of its own.
    app = shared_app(**SETTINGS, OUTBOX_IN_PROCESS=False)
    client, sent = app.test_client(), {}
    for user_id in ("1", "2", "99", "x"):
        with statements(app) as sent[user_id]:
            client.post(f"/api/users/{user_id}/verify")

    # SQLite traces a statement again when it deletes rows of another table.
    distinct = {user_id: list(dict.fromkeys(texts)) for user_id, texts in sent.items()}
    verbs = {user_id: [text.split()[0] for text in texts] for user_id, texts in distinct.items()}
    assert verbs["1"].count("INSERT") == 3
    assert verbs["1"] == verbs["2"] == verbs["99"] == verbs["x"]


def test_the_literal_of_the_current_user_stands_for_the_id(shared_app, api, verify_token, events):
    app = shared_app(**SETTINGS, TOKEN_MIDDLEWARE={"currentUserLiteral": "me"})
    client, token = app.test_client(), api.login()["id"]
    told = []

    def record(sender, info):
        api.secrets.append(info["accessToken"].id)
        told.append(info["email"])

    with verification_request.connected_to(record, sender=app):
        answers = [
            client.post("/api/users/me/verify", headers=headers)
            for headers in ({"Authorization": token}, {})
        ]

    assert [answer.status_code for answer in answers] == [204, 401]
    assert told == ["ada@example.com"]


@pytest.mark.parametrize("options", [{"json": {"any": 1}}, {"data": b"}{"}, {"token": "x" * 64}])
def test_body_and_token_of_a_request_to_verify_are_ignored(api, verify_token, events, options):
    assert api("POST", "/users/1/verify", **options).status_code == 204
    assert len(events.tokens()) == 2


def test_everybody_may_ask_for_the_mail_of_a_user(api, verify_token, events):
    bob = api.newcomer("bob@example.com")

    assert api("POST", "/users/1/verify", token=bob).status_code == 204
    assert events[-1][1]["email"] == "ada@example.com"


def test_a_wrong_uid_or_token_is_400_and_uses_nothing_up(api, verify_token, events):
    api.register("bob@example.com")
    queries = [
        template.format(token=verify_token, short=verify_token[:-1]) for template in WRONG_QUERIES
    ]

    answers = {query: refusal(api("GET", f"/users/confirm?{query}")) for query in queries}

    assert answers == dict.fromkeys(queries, INVALID)
    assert not is_verified(api)
    assert not is_verified(api, "bob@example.com")
    assert confirm(api, verify_token).status_code == 204


def test_the_token_of_one_user_with_the_uid_of_another_is_400(api, events):
    api.register("ada@example.com")
    api.register("eve@example.com")
    ada, eve = events.tokens()

    assert refusal(confirm(api, eve, uid=1)) == refusal(confirm(api, ada, uid=2)) == INVALID
    assert confirm(api, eve, uid=2).status_code == 204
    assert not is_verified(api)


def test_other_tokens_confirm_nothing(app, api, verify_token, reset_events):
    api("POST", "/users/reset", {"email": "ada@example.com"})
    session = api.login()["id"]

    for token in (session, reset_events[0]["accessToken"].id):
        assert refusal(confirm(api, token)) == INVALID
    assert not is_verified(api)


def test_the_token_opens_nothing_else(api, verify_token):
    body = {"newPassword": NEW}

    assert api("POST", "/users/reset-password", body, token=verify_token).status_code == 401
    assert api("GET", "/users/1", token=verify_token).status_code == 401
    assert api("POST", "/users/logout", token=verify_token).status_code == 401
    assert api("POST", "/users/logout", {"sid": verify_token}).status_code == 401
    session = api.login()["id"]
    assert len(api("GET", "/users/1/accessTokens", token=session).json) == 1
    assert confirm(api, verify_token).status_code == 204


def test_an_expired_token_is_400(app, api, verify_token):
    expire(app, verify_token)

    assert refusal(confirm(api, verify_token)) == INVALID
    assert not is_verified(api)


def test_the_token_dies_with_the_user(api, verify_token):
    api("DELETE", "/users/1", token=api.login()["id"])

    assert refusal(confirm(api, verify_token)) == INVALID


def test_the_token_dies_with_the_address_and_the_new_one_is_asked(api, verify_token, events):
    session = api.login()["id"]

    changed = api("PATCH", "/users/1", {"email": "countess@example.com"}, token=session)

    assert changed.json["emailVerified"] is False
    assert refusal(confirm(api, verify_token)) == INVALID
    assert events.names[1:] == ["emailChanged", "verificationRequest"]
    assert events[-1][1]["email"] == "countess@example.com"
    assert confirm(api, events.tokens()[1]).status_code == 204
    assert is_verified(api, "countess@example.com")


def test_a_new_address_is_unverified_and_the_same_one_stays_verified(api, verify_token, events):
    confirm(api, verify_token)
    session = api.login()["id"]

    same = [
        api(method, "/users/1", body, token=session).json["emailVerified"]
        for method, body in [
            ("PATCH", {"email": "ADA@example.com"}),
            ("PUT", {"email": "ada@example.com", "username": "ada"}),
            ("PATCH", {"username": "countess"}),
        ]
    ]
    other = api("PATCH", "/users/1", {"email": "countess@example.com"}, token=session)

    assert same == [True, True, True]
    assert other.json["emailVerified"] is False


@pytest.mark.both_databases
def test_an_admin_who_changes_an_address_has_it_asked(app, api, verify_token, events):
    admin = api.newcomer("admin@example.com")
    with app.app_context():
        roles.grant(2, "admin")

    api("POST", '/users/update?where={"id":1}', {"email": "new@example.com"}, token=admin)

    assert events.names[-2:] == ["emailChanged", "verificationRequest"]
    assert events[-1][1]["email"] == "new@example.com"


@pytest.mark.parametrize("target", [WELCOME, "/explorer"])
def test_a_listed_redirect_is_302(api, verify_token, target):
    response = confirm(api, verify_token, redirect=target)

    assert (response.status_code, response.headers["Location"]) == (302, target)
    assert response.headers["Cache-Control"] == "no-store"
    assert is_verified(api)


def test_any_other_redirect_is_400_and_uses_nothing_up(api, verify_token):
    answers = {url: confirm(api, verify_token, redirect=url) for url in FOREIGN}

    for target, answer in answers.items():
        assert (target, *refusal(answer)) == (target, 400, "INVALID_REDIRECT")
        assert "Location" not in answer.headers
        assert "evil" not in answer.text
    assert confirm(api, verify_token).status_code == 204


def test_a_wrong_token_is_not_redirected(api, verify_token):
    response = confirm(api, "x" * 64, redirect=WELCOME)

    assert refusal(response) == INVALID
    assert "Location" not in response.headers


def test_an_empty_redirect_counts_as_absent(api, verify_token):
    assert confirm(api, verify_token, redirect="").status_code == 204


def test_a_completed_reset_verifies_the_address(api, verify_token, reset_events, events, secrets):
    secrets.append(NEW)
    api("POST", "/users/reset", {"email": "ada@example.com"})
    for _ in range(2):
        reset = reset_events[-1]["accessToken"].id
        api("POST", "/users/reset-password", {"newPassword": NEW}, token=reset)
        api("POST", "/users/reset", {"email": "ada@example.com"})

    token = api.login(password=NEW)["id"]
    assert api("GET", "/users/1", token=token).json["emailVerified"] is True
    # The second reset finds it verified.
    assert events.names == ["verificationRequest", "emailVerified"]
    assert events[-1][1]["user"].email_verified is True
    assert refusal(confirm(api, verify_token)) == INVALID


@pytest.fixture
def strict(shared_app):
    return shared_app(EMAIL_VERIFICATION="required")


class TestRequired:
    """With EMAIL_VERIFICATION="required"."""

    @pytest.fixture
    def app(self, strict):
        return strict

    def test_an_unverified_user_logs_in_after_the_confirmation(self, app, api, verify_token):
        credentials = {"email": "ada@example.com", "password": PASSWORD}

        refused = api("POST", "/users/login", credentials)
        tokens = count(app, AccessToken)
        confirm(api, verify_token)

        assert refusal(refused) == (401, NOT_VERIFIED)
        assert refused.json["message"] == "login failed as the email has not been verified"
        assert refused.json["error"]["details"] == {"userId": 1}
        assert tokens == 1
        assert is_verified(api)

    def test_only_the_right_password_tells_that_the_address_is_not_verified(self, api, events):
        api.register()

        wrong, unknown = (
            api("POST", "/users/login", {"email": email, "password": "wrong password"})
            for email in ("ada@example.com", "eve@example.com")
        )

        assert refusal(wrong) == (401, "LOGIN_FAILED")
        assert wrong.data == unknown.data

    def test_the_id_in_the_refusal_gets_another_mail(self, api, verify_token, events):
        credentials = {"email": "ada@example.com", "password": PASSWORD}
        user_id = api("POST", "/users/login", credentials).json["error"]["details"]["userId"]

        api("POST", f"/users/{user_id}/verify")

        assert confirm(api, events.tokens()[1]).status_code == 204
        assert login_status(api, PASSWORD) == 200

    def test_an_unverified_user_may_reset_and_then_log_in(self, api, events, reset_events, secrets):
        secrets.append(NEW)
        api.register()

        known, unknown = (
            api("POST", "/users/reset", {"email": email})
            for email in ("ada@example.com", "eve@example.com")
        )
        reset = reset_events[0]["accessToken"].id
        api("POST", "/users/reset-password", {"newPassword": NEW}, token=reset)

        assert (known.status_code, known.data) == (unknown.status_code, unknown.data)
        assert login_status(api, NEW) == 200

    def test_a_user_of_the_command_line_needs_no_mail(self, api, runner, events):
        arguments = ["users", "create", "root@example.com", "--password-stdin"]

        runner.invoke(args=arguments, input=f"{PASSWORD}\n")

        assert is_verified(api, "root@example.com")
        assert events == []


class TestOff:
    """Without EMAIL_VERIFICATION, which is the default."""

    @pytest.fixture
    def app(self, shared_app):
        return shared_app()

    def test_nobody_is_asked_and_there_are_no_such_endpoints(self, app, api, client, events):
        token = api.newcomer()
        api("PATCH", "/users/1", {"email": "countess@example.com"}, token=token)
        paths = api("GET", "/openapi.json").json["paths"]

        assert events.names == ["emailChanged"]
        assert api("POST", "/users/1/verify").status_code == 404
        # The id of a user, as any other word.
        assert api("GET", "/users/confirm?uid=1&token=x", token=token).status_code == 403
        assert client.get("/confirm-email?token=x").status_code == 404
        assert {"/users/{id}/verify", "/users/confirm", "/users/change-email"}.isdisjoint(paths)
        assert count(app, AccessToken) == 1
