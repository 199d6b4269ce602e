"""What is added to an account takes a proof of its address, by a code that is mailed to it."""

import re
from functools import partial

import pytest
from sqlalchemy import delete, select

from app.audit.models import AuditRecord
from app.database.session import db
from app.factors.models import Factor
from app.factors.passkeys.models import Passkey
from app.signals import email_verified, login_code_request
from app.users.models import AccessToken, User
from tests.conftest import NEW, PASSWORD, Api
from tests.support import email_codes
from tests.support.answers import field_codes, refusal
from tests.support.email_codes import (
    TOKEN,
    UNPROVED,
    add,
    ask,
    confirm,
    is_verified,
    noted,
    prove,
    unverify,
)
from tests.support.rows import count, make_admin
from tests.support.second_factors import Device, enrol

SETTINGS = {**email_codes.SETTINGS, "EMAIL_LOGIN": True, "LOGIN_CODE_KEYS": ["k" * 32]}
EMAIL, OTHER = "ada@example.com", "victim@example.com"
CREDENTIALS = {"email": EMAIL, "password": PASSWORD}
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


@pytest.mark.both_databases
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


@pytest.mark.both_databases
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


@pytest.mark.both_databases
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
