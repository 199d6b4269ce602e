"""Passkeys: registration, logins, and what must not pass for one."""

import time
from datetime import timedelta

import cbor2
import pytest
from sqlalchemy import select, update

from app.access.roles import grant
from app.audit.models import AuditRecord
from app.database.purging import purger
from app.database.session import db
from app.factors.models import Factor
from app.factors.passkeys.models import Passkey, PasskeyChallenge
from app.factors.passkeys.service import MAX_PASSKEYS
from app.problems import ConfigurationError
from app.signals import credential_changed
from app.times import now
from app.users.models import AccessToken, User, token_digest
from app.users.service import delete_user, disable_user
from tests.conftest import PASSWORD, Api
from tests.support.passkeys import (
    BACKED_UP,
    ELIGIBLE,
    PRESENT,
    VERIFIED,
    Authenticator,
    add_passkey,
    encode,
)
from tests.support.races import at_once
from tests.support.rows import count, make_old
from tests.support.second_factors import OPTIONAL, enrol

ORIGIN, APP = "https://www.example.com", f"android:apk-key-hash:{'a' * 43}"
PASSKEYS = {"rp_id": "example.com", "origins": ["https://app.example.com", APP]}
SETTINGS = {"PASSKEYS": PASSKEYS, "PUBLIC_URL": ORIGIN}
EMAIL = "ada@example.com"


@pytest.fixture
def app(shared_app):
    return shared_app(**SETTINGS)


@pytest.fixture
def device(api, token):
    """The device with a passkey of the user with id 1."""
    return add_passkey(api, token, ORIGIN)


def options(api):
    response = api("POST", "/users/login/passkey/options")
    assert response.status_code == 200
    return response.json


def log_in(api, credential):
    response = api("POST", "/users/login/passkey", {"credential": credential})
    if response.status_code == 200:
        api.secrets.append(response.json["id"])
    return response


def code_of(response):
    return response.status_code, response.json["error"]["code"]


FAILED = (401, "LOGIN_FAILED")
WRONG = (401, "SECOND_FACTOR_FAILED")
INVALID = (422, "VALIDATION_ERROR")


@pytest.mark.both_databases
def test_a_passkey_logs_its_user_in(app, api, token, device):
    given = options(api)
    response = log_in(api, device.sign(given))

    assert given["rpId"] == "example.com"
    assert given["userVerification"] == "required"
    assert (response.status_code, response.json["userId"]) == (200, 1)
    assert api("GET", "/users/1", token=response.json["id"]).status_code == 200
    with app.app_context():
        session = db.session.get(AccessToken, token_digest(response.json["id"]))
        assert session.methods == "hwk,user,mfa"
        login = select(AuditRecord.details).where(AuditRecord.action == "login")
        details = db.session.scalars(login.order_by(AuditRecord.id.desc())).first()
        assert details["passkey"] == 1


def test_it_is_made_for_the_service_and_verifies_the_user(api, token):
    made = api("POST", "/users/1/passkeys/options", token=token).json

    assert made["rp"] == {"id": "example.com", "name": "Ostiary"}
    assert made["user"]["name"] == EMAIL
    assert made["attestation"] == "none"
    assert made["authenticatorSelection"]["residentKey"] == "required"
    assert made["authenticatorSelection"]["userVerification"] == "required"


@pytest.mark.both_databases
def test_a_user_sees_passkeys_and_names_them(app, api, token):
    device = add_passkey(api, token, ORIGIN, flags=PRESENT | VERIFIED | ELIGIBLE)
    with app.app_context():
        db.session.execute(update(Passkey).values(created=now() - timedelta(hours=1)))
        db.session.commit()
    device.flags |= BACKED_UP
    assert log_in(api, device.sign(options(api))).status_code == 200
    renamed = api("PATCH", "/users/1/passkeys/1", {"name": "key"}, token=token)
    [listed] = api("GET", "/users/1/passkeys", token=token).json

    assert listed.pop("created") < listed.pop("lastUsed")
    assert listed == {
        "id": 1,
        "name": "key",
        "transports": ["internal", "hybrid"],
        "backupEligible": True,
        "backedUp": True,
    }
    assert renamed.json["name"] == "key"
    excluded = api("POST", "/users/1/passkeys/options", token=token).json["excludeCredentials"]
    assert [entry["id"] for entry in excluded] == [device.id]


@pytest.mark.parametrize("origin", [ORIGIN, "https://app.example.com", APP])
def test_pages_and_apps_of_the_settings_log_in(api, token, device, origin):
    device.origin = origin
    assert log_in(api, device.sign(options(api))).status_code == 200


@pytest.mark.parametrize(
    "lie",
    [
        {"origin": "https://www.examp1e.com"},
        {"origin": "https://www.example.com:8443"},
        {"origin": "http://www.example.com"},
        {"flags": PRESENT},
        {"flags": VERIFIED},
        {"flags": PRESENT | VERIFIED | ELIGIBLE},
        {"handle": "AAAA"},
        {"raw_id": b"another"},
        {"cross_origin": True},
    ],
    ids=["phishing", "port", "http", "unverified", "absent", "eligible", "handle", "id", "frame"],
)
def test_what_another_page_or_device_signs_is_refused(api, token, device, lie):
    for name, value in lie.items():
        setattr(device, name, value)
    assert code_of(log_in(api, device.sign(options(api)))) == FAILED


def test_a_signature_for_another_service_is_refused(api, token, device):
    given = {**options(api), "rpId": "example.org"}
    assert code_of(log_in(api, device.sign(given))) == FAILED


def test_a_signature_of_another_key_is_refused(api, token, device):
    thief = Authenticator(ORIGIN)
    thief.raw_id, thief.handle = device.raw_id, device.handle
    assert code_of(log_in(api, thief.sign(options(api)))) == FAILED


def test_a_challenge_is_for_one_login(api, token, device):
    signed = device.sign(options(api))
    assert log_in(api, signed).status_code == 200
    assert code_of(log_in(api, signed)) == FAILED


def test_a_challenge_is_used_up_by_a_wrong_answer(api, token, device):
    given = options(api)
    device.flags = PRESENT
    assert code_of(log_in(api, device.sign(given))) == FAILED
    device.flags = PRESENT | VERIFIED
    assert code_of(log_in(api, device.sign(given))) == FAILED


@pytest.mark.both_databases
def test_of_two_uses_of_a_signature_at_once_one_passes(app, api, token, device):
    body = {"credential": device.sign(options(api))}
    both = at_once(app, *[lambda client: client.post("/api/users/login/passkey", json=body)] * 2)
    api.secrets.extend(answer.json["id"] for answer in both if answer.status_code == 200)
    assert sorted(answer.status_code for answer in both) == [200, 401]


@pytest.mark.both_databases
def test_a_challenge_ends_after_five_minutes_and_is_purged(app, api, token, device):
    given = options(api)
    with app.app_context():
        ended = now() - timedelta(seconds=1)
        db.session.execute(update(PasskeyChallenge).values(expires_at=ended))
        db.session.commit()
    assert code_of(log_in(api, device.sign(given))) == FAILED
    purger.of(app).purge_some()
    assert count(app, PasskeyChallenge) == 0


def test_a_challenge_is_for_one_purpose_and_user(app, api, token, device):
    registration = api("POST", "/users/1/passkeys/options", token=token).json
    as_login = {"challenge": registration["challenge"], "rpId": "example.com"}
    login = {**registration, "challenge": options(api)["challenge"]}
    other = api.logged_in("bob@example.com")
    hers = {"credential": Authenticator(ORIGIN).make(registration)}

    assert code_of(log_in(api, device.sign(as_login))) == FAILED
    for path, caller, body in (
        ("/users/2/passkeys", other, hers),
        ("/users/1/passkeys", token, {"credential": Authenticator(ORIGIN).make(login)}),
    ):
        refused = api("POST", path, body, token=caller)
        assert code_of(refused) == INVALID
        assert "ask for new options" in refused.json["error"]["message"]
    assert count(app, Passkey) == 1


def test_a_passkey_of_somebody_is_added_to_nobody_else(app, api, token, device):
    other = api.logged_in("bob@example.com")
    given = api("POST", "/users/2/passkeys/options", token=other).json
    taken = api("POST", "/users/2/passkeys", {"credential": device.make(given)}, token=other)

    assert code_of(taken) == INVALID
    assert "is registered already" in taken.json["error"]["message"]
    assert count(app, Passkey) == 1


@pytest.mark.parametrize(
    ("lie", "says"),
    [
        ({"origin": "https://evil.example"}, "origin"),
        ({"flags": PRESENT}, "verif"),
        ({"flags": VERIFIED}, "presence"),
        ({"cross_origin": True}, "frame of another site"),
    ],
)
def test_what_is_wrong_with_a_new_passkey_is_said(app, api, token, lie, says):
    device = Authenticator(ORIGIN)
    for name, value in lie.items():
        setattr(device, name, value)
    given = api("POST", "/users/1/passkeys/options", token=token).json
    refused = api("POST", "/users/1/passkeys", {"credential": device.make(given)}, token=token)

    assert code_of(refused) == INVALID
    assert says in refused.json["error"]["message"]
    assert count(app, Passkey) == 0


@pytest.mark.both_databases
def test_a_counter_that_goes_back_is_refused_and_said_to_the_operator(app, api, token, caplog):
    device = add_passkey(api, token, ORIGIN, count=7)
    assert log_in(api, device.sign(options(api))).status_code == 200
    device.count -= 2
    assert code_of(log_in(api, device.sign(options(api)))) == FAILED
    assert "passkey 1 of user 1 was refused: its counter went back" in caplog.text


def test_the_id_of_a_new_passkey_is_the_one_that_the_authenticator_has_made(app, api, token):
    device = Authenticator(ORIGIN)
    device.raw_id = b"x" * 2000
    given = api("POST", "/users/1/passkeys/options", token=token).json
    made = change_credential(device.make(given), {"id": "AAAA", "rawId": "AAAA"})

    assert code_of(api("POST", "/users/1/passkeys", {"credential": made}, token=token)) == INVALID
    assert count(app, Passkey) == 0


def change_credential(credential, change):
    response = {**credential["response"], **change.pop("response", {})}
    return {**credential, "response": response, **change}


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"id": "x" * 1365}, 422),
        ({"id": "no+base64/url="}, 422),
        ({"id": 5}, 422),
        ({"type": "password"}, 422),
        ({"rawId": "AAAA"}, 401),
        ({"response": {"clientDataJSON": "A" * 4097}}, 422),
        ({"response": {"clientDataJSON": "A"}}, 401),
        ({"response": {"clientDataJSON": encode(b"[" * 3000)}}, 401),
        ({"response": {"clientDataJSON": encode(b'{"challenge": 5}')}}, 401),
        ({"response": {"clientDataJSON": encode(b"\xff\xfe")}}, 401),
        ({"response": {"authenticatorData": "AAAA"}}, 401),
        ({"response": {"signature": "AAAA"}}, 401),
        ({"response": {"signature": None}}, 422),
        ({"response": {"userHandle": None}}, 401),
    ],
)
def test_malformed_logins_are_refused(api, token, device, change, status):
    credential = change_credential(device.sign(options(api)), dict(change))
    assert log_in(api, credential).status_code == status


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x80" * 6000,
        b"\x9f" * 6000,
        b"\xd8\x23\x79\x13\x88" + b"(a?){9}" * 714 + b"aa",
        b"\xc4\x82\x1b\x7f\xff\xff\xff\xff\xff\xff\xff\x01",
        b"\xbb\x7f\xff\xff\xff\xff\xff\xff\xff",
        b"\x5b\x7f\xff\xff\xff\xff\xff\xff\xff",
    ],
    ids=["empty", "arrays", "nested", "pattern", "decimal", "map", "bytes"],
)
def test_malformed_registrations_are_refused(app, api, token, data):
    given = api("POST", "/users/1/passkeys/options", token=token).json
    credential = Authenticator(ORIGIN).make(given)
    credential["response"]["attestationObject"] = encode(data) or "A"
    refused = api("POST", "/users/1/passkeys", {"credential": credential}, token=token)

    assert code_of(refused) == INVALID
    assert count(app, Passkey) == 0


def shared_values(levels):
    """Return CBOR of some bytes a level that would be written out as two to this power."""
    values = [b"\xd8\x1c\x82\x00\x00"]
    for level in range(levels - 1):
        values.append(b"\xd8\x1c\x82" + b"\xd8\x1d\x18%c" % level * 2)
    return b"\x98%c" % levels + b"".join(values)


def test_data_that_would_expand_takes_no_time(app, api, token, device):
    device.extensions = shared_values(100)
    made = Authenticator(ORIGIN)
    made.extensions = shared_values(100)
    given = api("POST", "/users/1/passkeys/options", token=token).json
    begun = time.process_time()
    refused = api("POST", "/users/1/passkeys", {"credential": made.make(given)}, token=token)
    failed = log_in(api, device.sign(options(api)))

    assert (code_of(refused), code_of(failed)) == (INVALID, FAILED)
    assert time.process_time() - begun < 1


def test_extensions_of_an_authenticator_are_ignored(api, token, device):
    device.extensions = cbor2.dumps({"credProtect": 2})
    assert log_in(api, device.sign(options(api))).status_code == 200


def test_an_unknown_attestation_is_refused(api, token):
    given = api("POST", "/users/1/passkeys/options", token=token).json
    for format_ in ("packed", "tpm", "android-safetynet", "unheard-of"):
        body = {"credential": Authenticator(ORIGIN).make(given, format_)}
        assert code_of(api("POST", "/users/1/passkeys", body, token=token)) == INVALID


@pytest.mark.parametrize("end", [disable_user, delete_user], ids=["disabled", "deleted"])
def test_who_may_not_log_in_does_not_by_a_passkey(app, api, token, device, end):
    given = options(api)
    with app.app_context():
        end(1)
    assert code_of(log_in(api, device.sign(given))) == FAILED


def test_a_passkey_that_was_removed_logs_nobody_in(api, token, device):
    given = options(api)
    assert api("DELETE", "/users/1/passkeys/1", {}, token=token).status_code == 204
    assert code_of(log_in(api, device.sign(given))) == FAILED


def test_an_address_that_must_be_verified_is(shared_app, secrets):
    app = shared_app(**SETTINGS, EMAIL_VERIFICATION="required")
    api = Api(app.test_client(), secrets)
    api("POST", "/users", {"email": EMAIL, "password": PASSWORD})
    with app.app_context():
        db.session.execute(update(User).values(email_verified=True))
        db.session.commit()
    login = api("POST", "/users/login", {"email": EMAIL, "password": PASSWORD})
    api.secrets.append(login.json["id"])
    device = add_passkey(api, login.json["id"], ORIGIN)
    with app.app_context():
        db.session.execute(update(User).values(email_verified=False))
        db.session.commit()

    refused = log_in(api, device.sign(options(api)))
    assert code_of(refused) == (401, "LOGIN_FAILED_EMAIL_NOT_VERIFIED")


@pytest.mark.both_databases
def test_adding_and_removing_take_a_recent_login(app, api, token, device):
    make_old(app, token)
    with app.app_context():
        db.session.execute(update(AccessToken).values(authenticated_at=None))
        db.session.commit()
    again = "/users/1/reauthenticate"

    for method, path in (("POST", "/users/1/passkeys/options"), ("DELETE", "/users/1/passkeys/1")):
        refused = api(method, path, {}, token=token)
        assert code_of(refused) == (401, "STRONGER_LOGIN_REQUIRED")
        assert refused.json["error"]["details"]["kinds"] == ["password", "passkey"]
    stranger = Authenticator(ORIGIN)
    stranger.handle = "AAAA"
    wrong = stranger.sign(options(api))
    assert code_of(api("POST", again, {"credential": wrong}, token=token)) == WRONG
    assert code_of(api("POST", again, {"code": "123456"}, token=token)) == INVALID
    signed = {"credential": device.sign(options(api))}
    assert api("POST", again, signed, token=token).status_code == 204
    assert api("POST", "/users/1/passkeys/options", token=token).status_code == 200


@pytest.mark.both_databases
def test_changes_are_recorded_and_told(app, api, token):
    told = []
    with credential_changed.connected_to(lambda sender, info: told.append(info), sender=app):
        add_passkey(api, token, ORIGIN)
        removed = api("DELETE", "/users/1/passkeys/1", {}, token=token)
    assert removed.status_code == 204

    with app.app_context():
        about = AuditRecord.action.startswith("passkey-")
        records = db.session.scalars(select(AuditRecord).where(about).order_by(AuditRecord.id))
        found = [(row.action, row.user_id, row.details) for row in records]
    changes = ["passkey-added", "passkey-removed"]
    assert found == [(action, 1, {"passkey": 1}) for action in changes]
    assert [(info["change"], info["email"]) for info in told] == [
        (action, EMAIL) for action in changes
    ]


def test_the_last_way_to_log_in_stays(app, api, token, device):
    with app.app_context():
        db.session.execute(update(User).values(password_hash=None))
        db.session.commit()
    refused = api("DELETE", "/users/1/passkeys/1", {}, token=token)
    add_passkey(api, token, ORIGIN)
    removed = api("DELETE", "/users/1/passkeys/1", {}, token=token)

    assert code_of(refused) == (400, "LAST_CREDENTIAL")
    assert removed.status_code == 204


@pytest.mark.both_databases
def test_a_user_has_a_bounded_number(app, api, token):
    given = api("POST", "/users/1/passkeys/options", token=token).json
    state = {"sign_count": 0, "transports": [], "backup_eligible": False, "backed_up": False}
    with app.app_context():
        for number in range(MAX_PASSKEYS):
            key = {"credential_id": f"key{number}", "public_key": "key"}
            db.session.add(Passkey(user_id=1, **key, **state))
        db.session.commit()
    body = {"credential": Authenticator(ORIGIN).make(given)}

    assert code_of(api("POST", "/users/1/passkeys", body, token=token)) == INVALID
    assert code_of(api("POST", "/users/1/passkeys/options", token=token)) == INVALID
    assert count(app, Passkey) == MAX_PASSKEYS


def test_unknown_passkeys_are_404(api, token, device):
    other = api.logged_in("bob@example.com")
    for method, path in (("PATCH", "/users/2/passkeys/1"), ("DELETE", "/users/2/passkeys/1")):
        missing = api(method, path, {"name": "x"} if method == "PATCH" else {}, token=other)
        assert missing.status_code == 404
    assert api("GET", "/users/1/passkeys", token=token).json[0]["name"] == "phone"


def test_logins_and_failures_are_throttled_by_client(shared_app, secrets, stopped_clock):
    api = Api(shared_app(**SETTINGS, THROTTLE_ENABLED=True).test_client(), secrets)
    stranger = Authenticator(ORIGIN)
    stranger.handle = "AAAA"
    failed = [code_of(log_in(api, stranger.sign(options(api)))) for _ in range(10)]
    refused = log_in(api, stranger.sign(options(api)))
    for _ in range(9):
        options(api)
    over = api("POST", "/users/login/passkey/options")

    assert failed == [FAILED] * 10
    assert (refused.status_code, over.status_code) == (429, 429)


def test_without_the_setting_there_are_none(shared_app):
    other = shared_app().test_client()
    assert other.post("/api/users/login/passkey/options").status_code == 404
    assert other.post("/api/users/login/passkey", json={}).status_code == 404


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"PUBLIC_URL": "http://127.0.0.1:3000"}, "https"),
        ({"PUBLIC_URL": "https://192.0.2.1"}, "https and a name"),
        ({"PUBLIC_URL": "http://www.example.com"}, "https"),
        ({"PASSKEYS": {"rp_id": "example.org"}}, "rp_id must be www.example.com"),
        ({"PASSKEYS": {"rp_id": "ww.example.com"}}, "rp_id must be"),
        ({"PASSKEYS": {"rp_id": "https://example.com"}}, "rp_id"),
        ({"PASSKEYS": {"origins": ["http://app.example.com"]}}, "origin"),
        ({"PASSKEYS": {"origins": ["http://localhost.example.com"]}}, "origin"),
        ({"PASSKEYS": {"origins": ["*"]}}, "origin"),
    ],
)
def test_settings_of_no_use_are_refused_at_the_start(make_app, settings, says):
    with pytest.raises(ConfigurationError, match=says):
        make_app(**{**SETTINGS, **settings})


@pytest.mark.both_databases
def test_a_reset_removes_factors_that_are_switched_off_now(app, api, token, device):
    with app.app_context():
        db.session.add(Factor(user_id=1, secret="secret", confirmed_at=now()))
        db.session.commit()
    app.test_cli_runner().invoke(args=["users", "reset-factors", EMAIL, "--yes"])
    assert (count(app, Factor), count(app, Passkey)) == (0, 0)


class TestAsASecondFactor:
    """Where logins take a second step, a passkey is one."""

    @pytest.fixture
    def app(self, shared_app):
        return shared_app(**SETTINGS, **OPTIONAL)

    def first_step(self, api):
        response = api("POST", "/users/login", {"email": EMAIL, "password": PASSWORD})
        assert code_of(response) == (401, "SECOND_FACTOR_REQUIRED")
        details = response.json["error"]["details"]
        api.secrets.append(details["ticket"])
        return details

    def finish(self, api, ticket, device):
        body = {"ticket": ticket, "credential": device.sign(options(api))}
        response = api("POST", "/users/login/factor", body)
        if response.status_code == 200:
            api.secrets.append(response.json["id"])
        return response

    def test_it_ends_the_second_step(self, app, api, token, device):
        first = self.first_step(api)
        done = self.finish(api, first["ticket"], device)

        assert first["kinds"] == ["passkey"]
        assert done.status_code == 200
        with app.app_context():
            session = db.session.get(AccessToken, token_digest(done.json["id"]))
            assert session.methods == "pwd,hwk,user,mfa"

    def test_a_login_by_it_takes_no_second_step(self, api, token, device):
        assert log_in(api, device.sign(options(api))).status_code == 200

    def test_the_passkey_of_another_user_is_wrong(self, api, token, device):
        other = add_passkey(api, api.logged_in("bob@example.com"), ORIGIN, 2)
        assert code_of(self.finish(api, self.first_step(api)["ticket"], other)) == WRONG

    def test_one_that_was_removed_while_a_ticket_is_open_is_wrong(self, api, token, device):
        ticket = self.first_step(api)["ticket"]
        proof = {"credential": device.sign(options(api))}
        assert api("DELETE", "/users/1/passkeys/1", proof, token=token).status_code == 204
        assert code_of(self.finish(api, ticket, device)) == WRONG

    def test_removing_takes_a_factor(self, api, token, device):
        app_of_user = enrol(api, token)
        made = api("POST", "/users/1/recoveryCodes", {}, token=token)
        api.secrets.extend(made.json["codes"])
        path = "/users/1/passkeys/1"

        assert code_of(api("DELETE", path, {}, token=token)) == WRONG
        proof = {"code": app_of_user.code()}
        assert api("DELETE", path, proof, token=token).status_code == 204
        # The authenticator app is left, and the codes with it.
        assert api("GET", "/users/1/recoveryCodes", token=token).json == {"left": 10}
        assert self.first_step(api)["kinds"] == ["totp", "recovery"]

    @pytest.mark.both_databases
    def test_recovery_codes_go_with_the_last_factor(self, api, token, device):
        made = api("POST", "/users/1/recoveryCodes", {}, token=token)
        api.secrets.extend(made.json["codes"])
        proof = {"credential": device.sign(options(api))}

        assert api("DELETE", "/users/1/passkeys/1", proof, token=token).status_code == 204
        assert api("GET", "/users/1/recoveryCodes", token=token).json == {"left": 0}

    def test_an_admin_resets_what_a_user_has_lost(self, app, api, token, device):
        admin = api.logged_in("root@example.com")
        with app.app_context():
            grant(2, "admin")
        assert api("DELETE", "/users/1/factors", token=admin).status_code == 204
        assert count(app, Passkey) == 0

    def test_the_command_lists_them(self, app, api, token, device):
        enrol(api, token)
        result = app.test_cli_runner().invoke(args=["users", "factors", EMAIL, "--json"])
        assert result.exit_code == 0, result.output
        assert '"kind": "passkey"' in result.output
        assert '"kind": "totp"' in result.output
