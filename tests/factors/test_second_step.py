"""Logins in two steps: a password, and a code of an authenticator app or a recovery code."""

import re
from datetime import UTC, datetime

import pyotp
import pytest
from sqlalchemy import select, update
from werkzeug.security import generate_password_hash

from app.access.roles import grant
from app.audit.models import AuditRecord
from app.database.session import db
from app.factors.models import Factor, RecoveryCode
from app.factors.totp import service as totp
from app.times import now
from app.users.models import AccessToken, User, token_digest
from app.users.service import delete_user, disable_user, set_password
from tests.conftest import PASSWORD, Api
from tests.support.races import at_once
from tests.support.rows import count, expire, make_old, statements, store_hash
from tests.support.second_factors import FACTOR_KEY, OPTIONAL, PERIOD, Device, enrol

OTHER_KEY = "YW5vdGhlciBxdWlldCBoYXJib3VyIG9mIGtleXMgMTI="
EMAIL = "ada@example.com"
CREDENTIALS = {"email": EMAIL, "password": PASSWORD}


@pytest.fixture
def app(shared_app):
    return shared_app(**OPTIONAL)


@pytest.fixture
def device(api, token):
    """The device of the user with id 1."""
    return enrol(api, token)


def first_step(api, **fields):
    """Log in with the password; return the ticket for the second step."""
    response = api("POST", "/users/login", {**CREDENTIALS, **fields})
    assert response.status_code == 401
    ticket = response.json["error"]["details"]["ticket"]
    api.secrets.append(ticket)
    return ticket


def finish(api, ticket, code, **fields):
    response = api("POST", "/users/login/factor", {"ticket": ticket, "code": code, **fields})
    if response.status_code == 200:
        api.secrets.append(response.json["id"])
    return response


def code_of(response):
    return response.status_code, response.json["error"]["code"]


WRONG = (401, "SECOND_FACTOR_FAILED")
OVER = (401, "INVALID_TICKET")


def test_a_login_takes_a_code_once_a_factor_was_confirmed(app, api, token, device):
    first = api("POST", "/users/login?include=user", {**CREDENTIALS, "ttl": 60})
    ticket = first.json["error"]["details"]["ticket"]
    second = finish(api, ticket, device.code())

    assert code_of(first) == (401, "SECOND_FACTOR_REQUIRED")
    assert first.json["error"]["details"] == {"ticket": ticket, "kinds": ["totp"]}
    assert second.status_code == 200
    assert (second.json["ttl"], second.json["userId"]) == (60, 1)
    assert second.json["user"]["email"] == EMAIL
    with app.app_context():
        session = db.session.get(AccessToken, token_digest(second.json["id"]))
        assert session.methods == "pwd,otp,mfa"


def test_a_user_without_a_factor_notices_nothing(api, token):
    with statements(api.client.application) as sent:
        assert api("POST", "/users/login", CREDENTIALS).status_code == 200
    assert len([text for text in sent if "factors" in text]) == 1


def test_without_the_setting_nobody_is_asked(api, shared_app):
    other = shared_app()
    response = other.test_client().post("/api/users/login/factor", json={})
    assert response.status_code == 404


def test_the_code_may_come_with_the_password(api, token, device):
    response = api("POST", "/users/login", {**CREDENTIALS, "code": device.code()})
    wrong = api("POST", "/users/login", {**CREDENTIALS, "code": "000000"})

    assert response.status_code == 200
    assert code_of(wrong) == WRONG


@pytest.mark.both_databases
def test_what_is_made_names_the_service_and_is_stored_encrypted(app, api, token):
    made = api("POST", "/users/1/factors/totp", {}, token=token).json
    api.secrets.append(made["secret"])

    assert re.fullmatch(r"[A-Z2-7]{32}", made["secret"])
    assert made["uri"].startswith(f"otpauth://totp/Ostiary:{EMAIL.replace('@', '%40')}?")
    assert made["svg"].startswith("<svg ")
    with app.app_context():
        assert made["secret"] not in db.session.scalar(select(Factor.secret))
    # Nothing is asked for until it is confirmed.
    assert api("POST", "/users/login", CREDENTIALS).status_code == 200


def test_a_code_counts_once(api, token, device):
    code = device.code()
    assert finish(api, first_step(api), code).status_code == 200
    assert code_of(finish(api, first_step(api), code)) == WRONG


# Its codes of these two periods are the same.
SECRET, SHARED = "BYDPSOQ5UNOP7SCPJ7GQIHADPDBLIDJG", (59000000, 59000001)


@pytest.mark.parametrize("period", [SHARED[0] - 1, *SHARED, SHARED[1] + 1])
def test_a_code_that_two_periods_share_counts_once(app, api, token, device, monkeypatch, period):
    with app.app_context():
        stored = totp.codes.current.encrypt(SECRET)
        db.session.execute(update(Factor).values(secret=stored, last_step=None))
        db.session.commit()

    def log_in(at):
        moment = datetime.fromtimestamp(at * PERIOD, UTC)
        monkeypatch.setattr("app.factors.totp.codes.now", lambda: moment)
        return finish(api, first_step(api), pyotp.TOTP(SECRET).generate_otp(SHARED[0]))

    assert log_in(period).status_code == 200
    for later in (period, *SHARED, SHARED[1] + 1):
        assert code_of(log_in(later)) == WRONG


def test_clocks_may_differ_by_one_period(api, token, monkeypatch):
    device, moment = enrol(api, token), now()
    monkeypatch.setattr("app.factors.totp.codes.now", lambda: moment)
    present = int(moment.timestamp()) // PERIOD
    near, far = map(device.totp.generate_otp, (present + 1, present + 2))

    assert code_of(finish(api, first_step(api), far)) == WRONG
    assert finish(api, first_step(api), near).status_code == 200


def test_a_ticket_ends_with_success(api, token, device):
    ticket = first_step(api)
    assert finish(api, ticket, device.code()).status_code == 200
    assert code_of(finish(api, ticket, device.code())) == OVER


def test_a_ticket_ends_after_five_failures(api, token, device):
    ticket = first_step(api)
    wrong = [code_of(finish(api, ticket, "000000")) for _ in range(5)]
    assert wrong == [WRONG] * 5
    assert code_of(finish(api, ticket, device.code())) == OVER
    assert code_of(finish(api, ticket, device.code())) == OVER


def test_wrong_codes_are_throttled_by_user(shared_app, secrets):
    api = Api(shared_app(**OPTIONAL, THROTTLE_ENABLED=True).test_client(), secrets)
    device = enrol(api, api.logged_in())
    for _ in range(5):
        assert code_of(finish(api, first_step(api), "000000")) == WRONG
    refused = finish(api, first_step(api), device.code())
    assert refused.status_code == 429
    assert refused.headers["Retry-After"]


def test_a_ticket_ends_after_five_minutes(app, api, token, device):
    ticket = first_step(api)
    expire(app, ticket)
    assert code_of(finish(api, ticket, device.code())) == OVER


@pytest.mark.parametrize(
    "end",
    [
        lambda user_id: set_password(user_id, "another quiet harbour"),
        disable_user,
        delete_user,
    ],
    ids=["password", "disabled", "deleted"],
)
def test_a_ticket_ends_with_what_ends_sessions(app, api, token, device, end):
    ticket = first_step(api)
    with app.app_context():
        end(1)
    assert code_of(finish(api, ticket, device.code())) == OVER


def test_a_ticket_is_no_token(api, token, device):
    ticket = first_step(api)
    assert api("GET", "/users/1", token=ticket).status_code == 401
    assert api("GET", "/todos", token=ticket).status_code == 401
    assert api("POST", "/users/logout", token=ticket).status_code == 401
    assert finish(api, ticket, device.code()).status_code == 200


def test_a_code_of_another_user_is_wrong(api, token, device):
    other = enrol(api, api.logged_in("bob@example.com"), 2)
    assert code_of(finish(api, first_step(api), other.code())) == WRONG


def test_a_factor_that_was_removed_while_a_ticket_is_open_is_wrong(api, token, device):
    ticket = first_step(api)
    removed = api("DELETE", "/users/1/factors/1", {"code": device.code()}, token=token)
    assert removed.status_code == 204
    assert code_of(finish(api, ticket, device.code())) == WRONG
    assert api("POST", "/users/login", CREDENTIALS).status_code == 200


def test_removing_takes_a_recent_login_and_a_code(app, api, token, device):
    path = "/users/1/factors/1"
    assert code_of(api("DELETE", path, {"code": "000000"}, token=token)) == WRONG
    make_old(app, token)
    with app.app_context():
        db.session.execute(update(AccessToken).values(authenticated_at=None))
        db.session.commit()
    old = api("DELETE", path, {"code": device.code()}, token=token)
    assert code_of(old) == (401, "STRONGER_LOGIN_REQUIRED")
    assert api("GET", "/users/1/factors", token=token).json[0]["name"] == "phone"


def test_only_the_user_changes_factors(app, api, token, device):
    other = api.logged_in("bob@example.com")
    for method, path in (
        ("GET", "/users/1/factors"),
        ("POST", "/users/1/factors/totp/confirm"),
        ("DELETE", "/users/1/factors/1"),
        ("DELETE", "/users/1/factors"),
        ("POST", "/users/1/recoveryCodes"),
        ("GET", "/users/1/recoveryCodes"),
    ):
        assert api(method, path, {"code": "123456"}, token=other).status_code in (403, 404), path
    # Not even oneself: it is for those who have lost them.
    assert api("DELETE", "/users/1/factors", token=token).status_code == 403


def test_an_admin_resets_what_a_user_has_lost(app, api, token, device, mails):
    api("POST", "/users/1/recoveryCodes", {}, token=token)
    admin = api.logged_in("root@example.com")
    with app.app_context():
        grant(2, "admin")

    assert api("DELETE", "/users/1/factors", token=admin).status_code == 204
    assert api("GET", "/users/1", token=token).status_code == 401
    assert api("POST", "/users/login", CREDENTIALS).status_code == 200
    with app.app_context():
        assert db.session.scalars(select(RecoveryCode)).all() == []
        [record] = db.session.scalars(
            select(AuditRecord).where(AuditRecord.action == "factors-reset")
        )
        assert (record.user_id, record.actor_id) == (1, 2)


def test_recovery_codes_are_for_one_login_each(app, api, token, device):
    codes = api("POST", "/users/1/recoveryCodes", {}, token=token).json["codes"]
    api.secrets.extend(codes)
    assert len(set(codes)) == 10
    typed = codes[0].upper().replace("-", " ")

    used = finish(api, first_step(api), typed, kind="recovery")
    again = finish(api, first_step(api), codes[0], kind="recovery")
    left = api("GET", "/users/1/recoveryCodes", token=token).json
    renewed = api("POST", "/users/1/recoveryCodes", {}, token=token).json["codes"]
    api.secrets.extend(renewed)
    old = finish(api, first_step(api), codes[1], kind="recovery")

    assert used.status_code == 200
    assert code_of(again) == code_of(old) == WRONG
    assert left == {"left": 9}


def test_a_code_with_letters_is_a_recovery_code(api, token, device):
    codes = api("POST", "/users/1/recoveryCodes", {}, token=token).json["codes"]
    api.secrets.extend(codes)
    assert finish(api, first_step(api), codes[0]).status_code == 200


def test_a_code_is_a_recent_login(app, api, token, device):
    make_old(app, token)
    with app.app_context():
        db.session.execute(update(AccessToken).values(authenticated_at=None))
        db.session.commit()
    path = "/users/1/reauthenticate"
    wrong = api("POST", path, {"code": "000000"}, token=token)
    missing = api("POST", path, {}, token=token)
    done = api("POST", path, {"code": device.code()}, token=token)
    made = api("POST", "/users/1/factors/totp", {}, token=token)
    api.secrets.append(made.json["secret"])

    assert code_of(wrong) == WRONG
    assert missing.status_code == 422
    assert done.status_code == 204
    assert made.status_code == 200


def test_a_session_from_before_the_factor_changes_no_credentials(api, token):
    stolen = api("POST", "/users/login", CREDENTIALS).json["id"]
    api.secrets.append(stolen)
    device = enrol(api, token)
    again = "/users/1/reauthenticate"

    for proof in ({}, {"password": PASSWORD}):
        if proof:
            assert api("POST", again, proof, token=stolen).status_code == 204
        for path in ("/users/1/factors/totp", "/users/1/recoveryCodes"):
            refused = api("POST", path, {}, token=stolen)
            assert code_of(refused) == (401, "STRONGER_LOGIN_REQUIRED")
            assert refused.json["error"]["details"]["kinds"] == ["totp"]
    assert api("POST", again, {"code": device.code()}, token=stolen).status_code == 204
    made = api("POST", "/users/1/recoveryCodes", {}, token=stolen)
    api.secrets.extend(made.json["codes"])
    assert made.status_code == 200


def test_recovery_codes_take_a_factor_and_go_with_it(app, api, token):
    refused = api("POST", "/users/1/recoveryCodes", {}, token=token)
    enrol(api, token)
    made = api("POST", "/users/1/recoveryCodes", {}, token=token)
    api.secrets.extend(made.json["codes"])
    proof = {"code": made.json["codes"][0]}
    removed = api("DELETE", "/users/1/factors/1", proof, token=token)

    assert code_of(refused) == (422, "VALIDATION_ERROR")
    assert removed.status_code == 204
    assert count(app, RecoveryCode) == 0


def test_an_outdated_hash_is_renewed_at_the_first_step(app, api, token, device):
    store_hash(app, generate_password_hash(PASSWORD, "pbkdf2:sha256:1000"))
    ticket = first_step(api)
    with app.app_context():
        assert db.session.scalar(select(User.password_hash)).startswith("$argon2id$")
    assert finish(api, ticket, device.code()).status_code == 200


def test_changing_the_password_leaves_the_factor(app, api, token, device):
    with app.app_context():
        set_password(1, "another quiet harbour")
    response = api("POST", "/users/login", {"email": EMAIL, "password": "another quiet harbour"})
    api.secrets.extend(["another quiet harbour", response.json["error"]["details"]["ticket"]])
    assert code_of(response) == (401, "SECOND_FACTOR_REQUIRED")


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({}, 422),
        ({"ticket": 1, "code": "123456"}, 422),
        ({"ticket": "x" * 200, "code": "123456"}, 422),
        ({"ticket": "unknown", "code": "123456"}, 401),
        ({"ticket": "unknown", "code": "1" * 200}, 422),
        ({"ticket": "unknown", "kind": "nothing"}, 401),
        ({"ticket": "unknown", "code": ["123456"]}, 422),
    ],
)
def test_malformed_second_steps_are_refused(api, body, status):
    assert api("POST", "/users/login/factor", body).status_code == status


def test_an_unknown_kind_is_a_bad_request_of_a_known_ticket(api, token, device):
    refused = finish(api, first_step(api), device.code(), kind="nothing")
    assert (refused.status_code, refused.json["error"]["code"]) == (422, "VALIDATION_ERROR")


def finish_at_once(app, bodies):
    """Take second steps at the same time; return their statuses."""
    path = "/api/users/login/factor"
    calls = [lambda client, body=body: client.post(path, json=body) for body in bodies]
    return sorted(answer.status_code for answer in at_once(app, *calls))


@pytest.mark.both_databases
def test_of_two_uses_of_a_code_at_once_one_passes(app, api, token, device):
    code = device.code()
    tickets = [first_step(api), first_step(api)]
    bodies = [{"ticket": ticket, "code": code} for ticket in tickets]
    assert finish_at_once(app, bodies) == [200, 401]


@pytest.mark.both_databases
def test_of_two_uses_of_a_recovery_code_at_once_one_passes(app, api, token, device):
    code = api("POST", "/users/1/recoveryCodes", {}, token=token).json["codes"][0]
    bodies = [{"ticket": first_step(api), "code": code, "kind": "recovery"} for _ in range(2)]
    assert finish_at_once(app, bodies) == [200, 401]


@pytest.mark.both_databases
def test_of_two_uses_of_a_ticket_at_once_one_passes(app, api, token, device):
    ticket = first_step(api)
    bodies = [{"ticket": ticket, "code": device.code()} for _ in range(2)]
    assert finish_at_once(app, bodies) == [200, 401]


class TestRequired:
    """Users who must have a second factor add one at their login."""

    @pytest.fixture
    def app(self, shared_app):
        return shared_app(**{**OPTIONAL, "SECOND_FACTOR": ["admin"]})

    def test_who_must_have_one_is_led_to_enrol(self, app, api, token):
        with app.app_context():
            grant(1, "admin")
        first = api("POST", "/users/login", CREDENTIALS)
        ticket = first.json["error"]["details"]["ticket"]
        made = api("POST", "/users/login/enrol", {"ticket": ticket, "kind": "totp"})
        api.secrets.extend([ticket, made.json["secret"]])
        wrong = finish(api, ticket, "000000")
        done = finish(api, ticket, Device(made.json["secret"]).code())
        later = api("POST", "/users/login", CREDENTIALS)

        assert code_of(first) == (401, "SECOND_FACTOR_ENROLMENT_REQUIRED")
        assert first.json["error"]["details"]["kinds"] == ["totp"]
        assert code_of(wrong) == WRONG
        assert done.status_code == 200
        assert code_of(later) == (401, "SECOND_FACTOR_REQUIRED")

    @pytest.mark.both_databases
    def test_others_may_go_without(self, api, token):
        assert api("POST", "/users/login", CREDENTIALS).status_code == 200

    def test_the_ticket_of_a_user_with_a_factor_enrols_none(self, app, api, token):
        device = enrol(api, token)
        with app.app_context():
            grant(1, "admin")
        ticket = first_step(api)
        refused = api("POST", "/users/login/enrol", {"ticket": ticket, "kind": "totp"})
        assert code_of(refused) == OVER
        assert finish(api, ticket, device.code()).status_code == 200

    def test_an_enrolment_cannot_be_taken_past_a_factor_added_meanwhile(self, app, api, token):
        with app.app_context():
            grant(1, "admin")
        ticket, late = first_step(api), first_step(api)
        made = api("POST", "/users/login/enrol", {"ticket": ticket, "kind": "totp"}).json
        api.secrets.append(made["secret"])
        stolen = Device(made["secret"])
        with app.app_context():
            db.session.execute(update(Factor).values(confirmed_at=now()))
            db.session.commit()

        assert code_of(finish(api, ticket, stolen.code())) == OVER
        assert code_of(api("POST", "/users/login/enrol", {"ticket": late})) == OVER


def test_required_holds_for_everybody(shared_app, secrets):
    app = shared_app(**{**OPTIONAL, "SECOND_FACTOR": "required"})
    client = app.test_client()
    client.post("/api/users", json=CREDENTIALS)
    response = client.post("/api/users/login", json=CREDENTIALS)
    assert code_of(response) == (401, "SECOND_FACTOR_ENROLMENT_REQUIRED")


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"FACTOR_KEYS": []}, "SECOND_FACTOR needs a key in FACTOR_KEYS"),
        ({"FACTOR_KEYS": ["short"]}, "FACTOR_KEYS must be a list of keys"),
        ({"SECOND_FACTOR": "perhaps"}, 'must be "optional", "required" or a list of roles'),
        ({"SECOND_FACTOR": []}, 'must be "optional", "required" or a list of roles'),
    ],
)
def test_the_start_stops_without_a_key(make_app, settings, problem):
    with pytest.raises(Exception, match=re.escape(problem)):
        make_app(**{**OPTIONAL, **settings})


def test_keys_are_rotated(make_app, secrets):
    app = make_app(**OPTIONAL)
    api = Api(app.test_client(), secrets)
    device = enrol(api, api.logged_in())
    both = make_app(**{**OPTIONAL, "FACTOR_KEYS": [OTHER_KEY, FACTOR_KEY]})
    result = both.test_cli_runner().invoke(args=["factors", "rotate-keys"])
    assert result.output == "Encrypted 1 secrets with the first key.\n"
    new = Api(make_app(**{**OPTIONAL, "FACTOR_KEYS": [OTHER_KEY]}).test_client(), secrets)
    assert finish(new, first_step(new), device.code()).status_code == 200


def test_commands_list_and_reset_factors(app, api, token, device, runner):
    listed = runner.invoke(args=["users", "factors", EMAIL])
    reset = runner.invoke(args=["users", "reset-factors", EMAIL, "--yes"])
    assert "totp" in listed.output
    assert "phone" in listed.output
    assert reset.stdout == "Removed the second factors of user 1, and ended all sessions.\n"
    assert api("POST", "/users/login", CREDENTIALS).status_code == 200
