"""What is added to an account takes a proof of its address, by a code that is mailed to it."""

import re
from contextlib import contextmanager
from functools import partial

import pytest
from sqlalchemy import delete, select, update

from app.audit.entries import AuditRecord
from app.database.session import db
from app.factors.models import Factor
from app.factors.passkeys.models import Passkey
from app.signals import email_change_request, email_code_request, email_verified, login_code_request
from app.users.models import AccessToken, User
from tests.conftest import NEW, PASSWORD, Api
from tests.support.answers import field_codes, refusal
from tests.support.passkeys import Authenticator, add_passkey
from tests.support.races import at_once
from tests.support.rows import count, expire, make_admin
from tests.support.second_factors import OPTIONAL, Device, enrol
from tests.support.throttles import pass_time

ORIGIN = "https://www.example.com"
SETTINGS = {
    **OPTIONAL,
    "PASSKEYS": {},
    "PUBLIC_URL": ORIGIN,
    "PERSONAL_TOKENS": {},
    "EMAIL_LOGIN": True,
    "LOGIN_CODE_KEYS": ["k" * 32],
}
EMAIL, OTHER = "ada@example.com", "victim@example.com"
CREDENTIALS = {"email": EMAIL, "password": PASSWORD}
UNPROVED = (401, "EMAIL_PROOF_REQUIRED")
TOKEN = {"name": "backup", "scopes": {"todos": ["READ"]}}
FIRST = {
    "factors/totp": {"name": "phone"},
    "passkeys/options": {},
    "personalTokens": TOKEN,
}


@pytest.fixture
def app(shared_app):
    return shared_app(**SETTINGS)


@pytest.fixture
def token(api):
    """The session of the user with id 1, whose address is not verified."""
    return api.logged_in(verified=False)


@pytest.fixture
def mailed(app, secrets):
    """The codes that are mailed, and to which address, the oldest first."""
    with noted(app, secrets) as found:
        yield found


@contextmanager
def noted(app, secrets):
    """Note the codes that an app mails."""
    found = []

    def note(_sender, info):
        secrets.append(info["accessToken"].id)
        found.append((info["accessToken"].id, info["email"]))

    with email_code_request.connected_to(note, sender=app):
        yield found


def ask(api, token, **body):
    answer = api("POST", "/users/email-code", body, token=token)
    assert answer.status_code == 204, answer.json


def confirm(api, token, code, **body):
    return api("POST", "/users/email-code/confirm", {"code": code, **body}, token=token)


def prove(api, token, mailed, **body):
    """Prove the address of the account, or a new one."""
    ask(api, token, **body)
    answer = confirm(api, token, mailed[-1][0])
    assert answer.status_code == 204, answer.json


def add(api, token, kind, user_id=1):
    """Add a credential to a user."""
    if kind == "totp":
        enrol(api, token, user_id)
    elif kind == "passkey":
        add_passkey(api, token, ORIGIN, user_id)
    else:
        made = api("POST", f"/users/{user_id}/personalTokens", TOKEN, token=token)
        assert made.status_code == 200, made.json
        api.secrets.append(made.json["token"])


def is_verified(app, user_id=1):
    with app.app_context():
        return db.session.scalar(select(User.email_verified).where(User.id == user_id))


def email_of(app, user_id=1):
    with app.app_context():
        return db.session.scalar(select(User.email).where(User.id == user_id))


def unverify(app):
    with app.app_context():
        db.session.execute(update(User).values(email_verified=False))
        db.session.commit()


@pytest.mark.parametrize("verification", [None, "optional"])
@pytest.mark.parametrize("path", FIRST)
def test_the_first_factor_passkey_or_token_takes_a_proof_of_the_address(
    shared_app, secrets, path, verification
):
    app = shared_app(**SETTINGS, EMAIL_VERIFICATION=verification)
    api = Api(app.test_client(), secrets)
    token = api.logged_in(verified=False)
    call = partial(api, "POST", f"/users/1/{path}", FIRST[path], token=token)
    refused = call()
    with noted(app, secrets) as mailed:
        ask(api, token)
        [(code, email)] = mailed
        again = call()
        done = confirm(api, token, code)
    made = call()
    secrets.extend(filter(None, map(made.json.get, ("secret", "token"))))

    assert refusal(refused) == refusal(again) == UNPROVED
    assert refused.json["error"]["details"] == {}
    assert email == EMAIL
    assert re.fullmatch(r"([a-z2-7]{4}-){2}[a-z2-7]{4}", code)
    assert done.status_code == 204
    assert made.status_code == 200, made.json
    assert api("GET", "/users/1", token=token).json["emailVerified"] is True


def test_nothing_is_stored_before(app, api, token):
    for path, body in FIRST.items():
        api("POST", f"/users/1/{path}", body, token=token)

    assert count(app, Factor) == count(app, Passkey) == 0
    assert count(app, AccessToken) == 1


@pytest.mark.parametrize("kind", ["totp", "passkey", "personal"])
def test_whose_address_is_verified_notices_nothing(app, api, mailed, kind):
    token = api.logged_in()
    add(api, token, kind)
    ask(api, token)

    assert mailed == []


def test_a_proof_is_recorded_and_told_and_takes_place_once(app, api, token, mailed):
    told = []
    with email_verified.connected_to(lambda _, info: told.append(info["email"]), sender=app):
        prove(api, token, mailed)
    ask(api, token)
    with app.app_context():
        records = db.session.execute(select(AuditRecord.action, AuditRecord.user_id)).all()

    assert told == [EMAIL]
    assert [tuple(record) for record in records] == [("email-verified", 1)]
    assert len(mailed) == 1


@pytest.mark.parametrize(
    "write",
    [str.upper, lambda code: code.replace("-", ""), lambda code: f" {code.replace('-', ' ')} "],
    ids=["upper case", "without dashes", "with spaces"],
)
def test_a_code_may_be_typed_in_any_form(api, token, mailed, write):
    ask(api, token)

    assert confirm(api, token, write(mailed[0][0])).status_code == 204


@pytest.mark.parametrize("code", ["", "aaaa-aaaa-aaaa", "x" * 64, "%", "\u0130" * 12])
def test_a_wrong_code_is_422(app, api, token, mailed, code):
    ask(api, token)
    answer = confirm(api, token, code)

    assert field_codes(answer) == {"code": ["invalid"]}
    assert not is_verified(app)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "code"),
        ({"code": 5}, "code"),
        ({"code": "x" * 65}, "code"),
        ({"code": "x", "y": 1}, "y"),
    ],
)
def test_a_malformed_confirmation_is_422(api, token, body, field):
    answer = api("POST", "/users/email-code/confirm", body, token=token)

    assert list(field_codes(answer)) == [field]


@pytest.mark.parametrize(
    "email", [5, "ada", "a" * 65 + "@example.com", "x" * 250 + "@a.b", "a@b\tc"]
)
def test_no_code_is_mailed_to_what_is_no_address(api, token, mailed, email):
    answer = api("POST", "/users/email-code", {"email": email}, token=token)

    assert list(field_codes(answer)) == ["email"]
    assert mailed == []


def test_a_code_works_once_and_ends_the_others(app, api, token, mailed):
    ask(api, token)
    ask(api, token)
    used = confirm(api, token, mailed[0][0])
    unverify(app)

    assert used.status_code == 204
    for code, _ in mailed:
        assert confirm(api, token, code).status_code == 422
    assert not is_verified(app)


def test_of_two_uses_at_once_one_passes(app, api, token, mailed):
    ask(api, token)
    body, headers = {"code": mailed[0][0]}, {"Authorization": token}
    path = "/api/users/email-code/confirm"
    both = at_once(app, *[lambda client: client.post(path, json=body, headers=headers)] * 2)

    assert sorted(answer.status_code for answer in both) == [204, 422]


def test_a_code_is_for_ten_minutes(app, api, token, mailed):
    ask(api, token)
    with app.app_context():
        row = db.session.scalar(select(AccessToken).where(AccessToken.scope == "email-code"))
        assert (row.expires_at - row.created).total_seconds() == 600
    expire(app, mailed[0][0])

    assert confirm(api, token, mailed[0][0]).status_code == 422


def test_a_code_is_for_its_user(app, api, token, mailed):
    bob = api.logged_in("bob@example.com", verified=False)
    ask(api, token)

    assert confirm(api, bob, mailed[0][0]).status_code == 422
    assert confirm(api, token, mailed[0][0]).status_code == 204
    assert not is_verified(app, 2)


def test_a_code_proves_no_address_that_the_account_has_got_since(app, api, token, mailed):
    ask(api, token)
    changed = api("PATCH", "/users/1", {"email": OTHER}, token=token)
    answer = confirm(api, token, mailed[0][0])

    assert changed.status_code == 200
    assert answer.status_code == 422
    assert not is_verified(app)


def _change_password(api, token):
    body = {"oldPassword": PASSWORD, "newPassword": NEW}
    return api("POST", "/users/change-password", body, token=token)


def _end_sessions(api, token):
    ended = api("DELETE", "/users/1/accessTokens", token=token)
    api.secrets.append(api("POST", "/users/login", CREDENTIALS).json["id"])
    return ended


@pytest.mark.parametrize("end", [_change_password, _end_sessions])
def test_a_code_ends_with_the_sessions(app, api, token, mailed, end):
    api.secrets.append(NEW)
    ask(api, token)
    assert end(api, token).status_code == 204
    later = token if end is _change_password else api.secrets[-1]

    assert confirm(api, later, mailed[0][0]).status_code == 422


def test_a_code_is_no_token(api, token, mailed):
    ask(api, token)
    code = mailed[0][0]

    assert api("GET", "/users/1", token=code).status_code == 401
    assert api("POST", "/users/reset-password", {"newPassword": NEW}, token=code).status_code == 401
    # Nor is another token a code.
    assert confirm(api, token, token).status_code == 422


def test_whoever_is_not_logged_in_proves_nothing(api, token):
    api.secrets.append(api("POST", "/users/login", CREDENTIALS).json["id"])
    for path, body in (("email-code", {}), ("email-code/confirm", {"code": "x"})):
        assert refusal(api("POST", f"/users/{path}", body)) == (401, "AUTHORIZATION_REQUIRED")
        assert refusal(api("POST", f"/users/{path}", body, token="x" * 64))[0] == 401


def test_a_personal_token_asks_for_no_code(api, mailed):
    add(api, api.logged_in(), "personal")
    for path, body in (("email-code", {}), ("email-code/confirm", {"code": "x"})):
        answer = api("POST", f"/users/{path}", body, token=api.secrets[-1])
        assert refusal(answer) == (403, "INSUFFICIENT_SCOPE")


def test_codes_are_counted_by_user_and_client(shared_app, secrets):
    app = shared_app(**SETTINGS, THROTTLE_ENABLED=True)
    api = Api(app.test_client(), secrets)
    tokens = [api.logged_in(f"user{n}@example.com", verified=False) for n in range(5)]

    def statuses(token, client="192.0.2.1", **body):
        options = {"token": token, "environ_overrides": {"REMOTE_ADDR": client}}
        return [api("POST", "/users/email-code", body, **options).status_code for _ in range(6)]

    with noted(app, secrets) as mailed:
        assert statuses(tokens[0], email=OTHER) == [204] * 5 + [429]
        assert statuses(tokens[1]) == [204] * 5 + [429]
        assert statuses(tokens[2]) == [204] * 5 + [429]
        # Of one client, together.
        assert statuses(tokens[3]) == [204] * 2 + [429] * 4
        assert statuses(tokens[4], "192.0.2.2") == [204] * 5 + [429]
        assert len(mailed) == 22
        pass_time(app, 3601)
        assert statuses(tokens[0])[0] == 204


def test_it_is_there_where_something_takes_it(shared_app):
    for settings, status in (({}, 404), ({"PERSONAL_TOKENS": {}}, 401), (OPTIONAL, 401)):
        client = shared_app(**settings).test_client()
        assert (
            client.post("/api/users/email-code/confirm", json={"code": "x"}).status_code == status
        )


def reset(api, reset_events, email=EMAIL):
    api.secrets.append(NEW)
    api("POST", "/users/reset", {"email": email})
    token = reset_events[-1]["accessToken"].id
    done = api("POST", "/users/reset-password", {"newPassword": NEW}, token=token)
    assert done.status_code == 204
    return api("POST", "/users/login", {"email": email, "password": NEW})


def test_nobody_prepares_an_account_for_the_owner_of_its_address(app, api, reset_events):
    squatter = api.newcomer()
    for path, body in FIRST.items():
        assert refusal(api("POST", f"/users/1/{path}", body, token=squatter)) == UNPROVED
    api("POST", "/users/email-code", {}, token=squatter)
    owner = reset(api, reset_events)
    api.secrets.append(owner.json["id"])

    assert owner.status_code == 200
    assert api("GET", "/users/1/factors", token=owner.json["id"]).json == []
    assert api("GET", "/users/1/passkeys", token=owner.json["id"]).json == []
    assert api("GET", "/users/1/personalTokens", token=owner.json["id"]).json == []


@pytest.mark.parametrize("kind", ["totp", "passkey"])
@pytest.mark.parametrize("verified", [True, False])
def test_no_reset_removes_a_factor(app, api, reset_events, mailed, kind, verified):
    token = api.newcomer()
    prove(api, token, mailed)
    add(api, token, kind)
    if not verified:
        # As after a change of the address by somebody who may.
        unverify(app)
    first = reset(api, reset_events)
    api.secrets.append(first.json["error"]["details"]["ticket"])

    assert refusal(first) == (401, "SECOND_FACTOR_REQUIRED")
    assert first.json["error"]["details"]["kinds"] == [kind]


@pytest.mark.parametrize("verified", [True, False])
def test_no_login_by_mail_removes_a_factor(app, api, verified):
    enrol(api, api.logged_in())
    codes = []
    if not verified:
        unverify(app)
    with login_code_request.connected_to(lambda _, info: codes.append(info["code"]), sender=app):
        ticket = api("POST", "/users/login/mail", {"email": EMAIL}).json["ticket"]
    body = {"ticket": ticket, "code": codes[0]}
    first = api("POST", "/users/login/mail/confirm", body)
    api.secrets.extend([ticket, first.json["error"]["details"]["ticket"]])

    assert refusal(first) == (401, "SECOND_FACTOR_REQUIRED")


class TestNewAddress:
    """An account that has something gets only an address that its user has proved."""

    @pytest.mark.parametrize("kind", ["totp", "passkey", "personal"])
    @pytest.mark.parametrize(
        ("verb", "path"), [("PATCH", "/users/1"), ("PUT", "/users/1"), ("POST", "/users/1/replace")]
    )
    def test_it_is_not_given_to_somebody_else(self, app, api, mailed, kind, verb, path):
        token = api.logged_in()
        add(api, token, kind)
        refused = api(verb, path, {"email": OTHER}, token=token)

        assert refusal(refused) == UNPROVED
        assert refused.json["error"]["details"] == {"email": OTHER}
        assert (email_of(app), mailed) == (EMAIL, [])

    def test_it_is_given_once_it_is_proved(self, app, api, mailed):
        token = api.logged_in()
        add(api, token, "totp")
        prove(api, token, mailed, email="Victim@Example.com")
        before = email_of(app)
        changed = api("PATCH", "/users/1", {"email": OTHER}, token=token)
        with app.app_context():
            actions = select(AuditRecord.action).order_by(AuditRecord.id.desc()).limit(2)
            assert db.session.scalars(actions).all() == ["email-verified", "email-changed"]

        assert mailed[0][1] == OTHER
        assert before == EMAIL
        assert (changed.json["email"], changed.json["emailVerified"]) == (OTHER, True)
        # It is one change that it is for.
        api("PATCH", "/users/1", {"email": EMAIL}, token=token)
        assert email_of(app) == OTHER

    def test_a_proof_takes_the_rest_that_a_new_address_takes(self, app, api, mailed):
        token = api.logged_in()
        api.secrets.append(api("POST", "/users/login", CREDENTIALS).json["id"])
        stolen = api.secrets[-1]
        add(api, token, "totp")
        prove(api, stolen, mailed, email=OTHER)
        refused = api("PATCH", "/users/1", {"email": OTHER, "password": PASSWORD}, token=stolen)

        assert refusal(refused) == (401, "STRONGER_LOGIN_REQUIRED")
        assert email_of(app) == EMAIL

    def test_a_proof_is_for_ten_minutes_and_for_one_address(self, app, api, mailed):
        token = api.logged_in()
        add(api, token, "personal")
        prove(api, token, mailed, email=OTHER)
        other = api("PATCH", "/users/1", {"email": "third@example.com"}, token=token)
        with app.app_context():
            proved = AccessToken.scope == "proved-email"
            row = db.session.scalar(select(AccessToken).where(proved))
            assert (row.expires_at - row.created).total_seconds() == 600
            db.session.execute(update(AccessToken).where(proved).values(expires_at=row.created))
            db.session.commit()
        late = api("PATCH", "/users/1", {"email": OTHER}, token=token)

        assert refusal(other) == refusal(late) == UNPROVED

    def test_a_proof_is_for_its_user(self, app, api, mailed):
        ada, bob = api.logged_in(), api.logged_in("bob@example.com")
        add(api, ada, "personal")
        prove(api, bob, mailed, email=OTHER)

        assert refusal(api("PATCH", "/users/1", {"email": OTHER}, token=ada)) == UNPROVED

    def test_an_address_of_another_user_stays_theirs(self, app, api, mailed):
        token = api.logged_in()
        api.logged_in(OTHER)
        add(api, token, "personal")
        prove(api, token, mailed, email=OTHER)
        taken = api("PATCH", "/users/1", {"email": OTHER}, token=token)

        assert field_codes(taken) == {"email": ["uniqueness"]}

    def test_without_anything_it_takes_no_proof_and_is_verified_by_one(self, app, api, mailed):
        token = api.logged_in()
        changed = api("PATCH", "/users/1", {"email": OTHER}, token=token).json["emailVerified"]
        prove(api, token, mailed, email=EMAIL)
        back = api("PATCH", "/users/1", {"email": EMAIL}, token=token).json["emailVerified"]

        assert (changed, back) == (False, True)

    def test_others_who_may_give_an_account_another_address_do_so(self, app, api):
        add(api, api.logged_in(), "totp")
        admin = api.logged_in("root@example.com")
        make_admin(app, user_id=2)
        changed = api("PATCH", "/users/1", {"email": OTHER}, token=admin)

        assert (changed.status_code, changed.json["emailVerified"]) == (200, False)

    def test_what_was_begun_before_the_change_is_not_added_after_it(self, app, api):
        token = api.logged_in()
        made = api("POST", "/users/1/factors/totp", {}, token=token).json
        given = api("POST", "/users/1/passkeys/options", token=token).json
        api.secrets.append(made["secret"])
        assert api("PATCH", "/users/1", {"email": OTHER}, token=token).status_code == 200
        code = {"code": Device(made["secret"]).code()}
        key = {"credential": Authenticator(ORIGIN).make(given)}

        confirmed = api("POST", "/users/1/factors/totp/confirm", code, token=token)
        added = api("POST", "/users/1/passkeys", key, token=token)
        assert refusal(confirmed) == refusal(added) == UNPROVED
        assert api("GET", "/users/1/factors", token=token).json == []
        assert count(app, Passkey) == 0

    def test_of_a_change_and_an_addition_at_once_one_passes(self, app, api):
        token = api.logged_in()
        headers = {"Authorization": token}

        def change(client):
            return client.patch("/api/users/1", json={"email": OTHER}, headers=headers)

        def make(client):
            return client.post("/api/users/1/personalTokens", json=TOKEN, headers=headers)

        changed, made = at_once(app, change, make)
        api.secrets.append(made.json.get("token", NEW))

        assert sorted([changed.status_code, made.status_code]) == [200, 401]


class TestConfirmedChange:
    """The same, where a new address is stored when it is confirmed."""

    @pytest.fixture
    def app(self, shared_app):
        return shared_app(**SETTINGS, EMAIL_CHANGE="confirmed")

    @pytest.fixture
    def links(self, app, secrets):
        """The tokens of the links that are mailed."""
        found = []

        def note(_sender, info):
            found.append(info["accessToken"].id)
            secrets.append(found[-1])

        with email_change_request.connected_to(note, sender=app):
            yield found

    def change(self, api, token, password=PASSWORD):
        body = {"newEmail": OTHER, "password": password}
        return api("POST", "/users/change-email", body, token=token)

    @pytest.mark.parametrize("kind", ["totp", "passkey", "personal"])
    def test_no_link_gives_an_account_to_somebody_else(self, app, api, links, kind):
        token = api.logged_in()
        add(api, token, kind)
        refused = self.change(api, token)

        assert refusal(refused) == UNPROVED
        assert refused.json["error"]["details"] == {"email": OTHER}
        assert links == []

    @pytest.mark.parametrize("kind", ["totp", "passkey", "personal"])
    def test_a_link_of_before_gives_it_no_more(self, app, api, links, kind):
        token = api.logged_in()
        assert self.change(api, token).status_code == 204
        add(api, token, kind)
        page = api.client.get(f"/confirm-email?token={links[0]}")
        answer = api.client.post("/confirm-email", data={"token": links[0]})

        assert (page.status_code, answer.status_code) == (400, 400)
        assert email_of(app) == EMAIL

    def test_an_address_that_was_proved_is_given_at_once(self, app, api, mailed, links):
        token = api.logged_in()
        api.secrets.append(api("POST", "/users/login", CREDENTIALS).json["id"])
        other = api.secrets[-1]
        add(api, token, "totp")
        prove(api, token, mailed, email=OTHER)
        wrong = self.change(api, token, "not the password")
        done = self.change(api, token)

        assert (refusal(wrong), done.status_code) == ((400, "INVALID_PASSWORD"), 204)
        assert (email_of(app), is_verified(app), links) == (OTHER, True, [])
        assert api("GET", "/users/1", token=token).status_code == 200
        assert api("GET", "/users/1", token=other).status_code == 401

    def test_an_address_of_another_user_is_said_to_who_has_proved_it(self, app, api, mailed):
        token = api.logged_in()
        api.logged_in(OTHER)
        add(api, token, "totp")
        prove(api, token, mailed, email=OTHER)

        assert field_codes(self.change(api, token)) == {"email": ["uniqueness"]}


class TestAtALogin:
    """Who must have a factor and has none proves the address with the ticket of the login."""

    @pytest.fixture
    def app(self, shared_app):
        return shared_app(**{**SETTINGS, "SECOND_FACTOR": "required"})

    @pytest.fixture
    def ticket(self, api):
        api.register()
        first = api("POST", "/users/login", CREDENTIALS)
        assert refusal(first) == (401, "SECOND_FACTOR_ENROLMENT_REQUIRED")
        api.secrets.append(first.json["error"]["details"]["ticket"])
        return api.secrets[-1]

    def test_the_code_is_typed_between_the_steps(self, app, api, ticket, mailed):
        refused = api("POST", "/users/login/enrol", {"ticket": ticket})
        ask(api, None, ticket=ticket)
        wrong = confirm(api, None, "x", ticket=ticket)
        done = confirm(api, None, mailed[0][0], ticket=ticket)
        made = api("POST", "/users/login/enrol", {"ticket": ticket})
        api.secrets.append(made.json["secret"])
        code = Device(made.json["secret"]).code()
        login = api("POST", "/users/login/factor", {"ticket": ticket, "code": code})
        api.secrets.append(login.json["id"])

        assert refusal(refused) == UNPROVED
        assert (wrong.status_code, done.status_code) == (422, 204)
        assert login.status_code == 200
        assert mailed == [(mailed[0][0], EMAIL)]

    def test_a_browser_has_the_ticket_in_a_cookie(self, app, api, ticket, mailed):
        client, same = app.test_client(), {"Sec-Fetch-Site": "same-origin"}
        client.set_cookie("second_step", ticket)
        crossing = client.post("/api/users/email-code", json={})
        asked = client.post("/api/users/email-code", json={}, headers=same)
        body = {"code": mailed[0][0]}
        done = client.post("/api/users/email-code/confirm", json=body, headers=same)

        assert (crossing.status_code, asked.status_code, done.status_code) == (403, 204, 204)
        assert is_verified(app)

    def test_a_ticket_asks_for_no_other_address(self, api, ticket, mailed):
        answer = api("POST", "/users/email-code", {"ticket": ticket, "email": OTHER})

        assert list(field_codes(answer)) == ["email"]
        assert mailed == []

    def test_a_ticket_of_a_user_with_a_factor_proves_nothing(self, app, api, ticket, mailed):
        bob = {**CREDENTIALS, "email": "bob@example.com"}
        enrol(api, api.logged_in(bob["email"]), 2)
        first = api("POST", "/users/login", bob)
        api.secrets.append(first.json["error"]["details"]["ticket"])
        for path, body in (("email-code", {}), ("email-code/confirm", {"code": "x"})):
            for wrong in (api.secrets[-1], "unknown"):
                answer = api("POST", f"/users/{path}", {**body, "ticket": wrong})
                assert refusal(answer) == (401, "INVALID_TICKET")
        assert mailed == []


def test_an_operator_vouches_for_an_address_that_no_mail_reaches(app, api, runner, token):
    done = runner.invoke(args=["users", "verify", EMAIL])
    again = runner.invoke(args=["users", "verify", EMAIL])
    add(api, token, "totp")

    assert done.output == f"The address of user 1, {EMAIL}, is verified.\n"
    assert again.output == "It was verified before.\n"
    with app.app_context():
        vouched = select(AuditRecord).where(AuditRecord.action == "email-vouched")
        assert len(db.session.scalars(vouched).all()) == 1


def test_who_was_made_by_a_command_or_vouched_for_by_an_admin_adds_a_factor(app, api, runner):
    runner.invoke(args=["users", "create", EMAIL, "--password-stdin"], input=PASSWORD)
    admin, bob = api.logged_in("root@example.com"), api.logged_in("bob@example.com", verified=False)
    make_admin(app, user_id=2)
    api("POST", "/users/3/markVerified", token=admin)

    add(api, api.login()["id"], "totp", 1)
    add(api, bob, "passkey", 3)


def test_a_service_account_needs_no_proof(app, api, runner):
    admin = api.logged_in()
    make_admin(app)
    runner.invoke(args=["users", "create", "robot@example.com", "--service"])
    unverify(app)

    add(api, admin, "personal", 2)


def test_a_user_who_is_deleted_meanwhile_is_none(app, api, token):
    with app.app_context():
        db.session.execute(delete(User))
        db.session.commit()

    assert api("POST", "/users/email-code", {}, token=token).status_code == 401
