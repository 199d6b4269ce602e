"""Attacks on second factors: around them, with what somebody else has, and by what is answered."""

import pytest
from sqlalchemy import update

from app.access.roles import grant
from app.database.session import db
from app.factors.passkeys.models import Passkey
from app.signals import login_code_request
from app.users.models import AccessToken
from app.users.service import disable_user, enable_user
from tests.conftest import NEW, PASSWORD, Api
from tests.support.answers import refusal
from tests.support.passkeys import Authenticator, add_passkey
from tests.support.races import at_once
from tests.support.rows import count, make_old, statements
from tests.support.second_factors import OPTIONAL, Device, enrol

ORIGIN = "https://www.example.com"
EVERYTHING = {
    **OPTIONAL,
    "PASSKEYS": {},
    "PUBLIC_URL": ORIGIN,
    "PERSONAL_TOKENS": {},
    "EMAIL_LOGIN": True,
    "LOGIN_CODE_KEYS": ["k" * 32],
}
EMAIL = "ada@example.com"
CREDENTIALS = {"email": EMAIL, "password": PASSWORD}
REQUIRED = (401, "SECOND_FACTOR_REQUIRED")
STRONGER = (401, "STRONGER_LOGIN_REQUIRED")
WRONG = (401, "SECOND_FACTOR_FAILED")
# Whoever is logged in has own to-dos, and deletes them with several factors.
OWN = [
    {"principalId": "$authenticated", "permission": "ALLOW", "property": "create"},
    {"principalId": "$owner", "permission": "ALLOW"},
]
WEAK = {"principalId": "$weak", "permission": "DENY", "property": "deleteById"}
NEW_ADDRESS = {"email": "mallory@example.com", "password": PASSWORD}


@pytest.fixture
def app(shared_app):
    return shared_app(**EVERYTHING)


@pytest.fixture
def stolen(api, token):
    """A session of the same user from before there was a factor."""
    api.secrets.append(api("POST", "/users/login", CREDENTIALS).json["id"])
    return api.secrets[-1]


@pytest.fixture
def device(api, token, stolen):
    return enrol(api, token)


def first_step(api, **credentials):
    response = api("POST", "/users/login", {**CREDENTIALS, **credentials})
    assert refusal(response) == REQUIRED
    api.secrets.append(response.json["error"]["details"]["ticket"])
    return api.secrets[-1]


def finish(api, ticket, **proof):
    return api("POST", "/users/login/factor", {"ticket": ticket, **proof})


def recovery_codes(api, token, user_id=1):
    made = api("POST", f"/users/{user_id}/recoveryCodes", {}, token=token)
    assert made.status_code == 200
    api.secrets.extend(made.json["codes"])
    return made.json["codes"]


def test_a_password_reset_leaves_the_factor(app, api, device, reset_events):
    api.secrets.append(NEW)
    api("POST", "/users/reset", {"email": EMAIL})
    reset = reset_events[-1]["accessToken"].id
    done = api("POST", "/users/reset-password", {"newPassword": NEW}, token=reset)

    assert done.status_code == 204
    assert finish(api, first_step(api, password=NEW), code=device.code()).status_code == 200


def test_a_login_by_mail_takes_the_factor(app, api, device):
    codes = []
    with login_code_request.connected_to(lambda _, info: codes.append(info["code"]), sender=app):
        asked = api("POST", "/users/login/mail", {"email": EMAIL})
    body = {"ticket": asked.json["ticket"], "code": codes[0]}
    first = api("POST", "/users/login/mail/confirm", body)
    api.secrets.extend([body["ticket"], first.json["error"]["details"]["ticket"]])

    assert refusal(first) == REQUIRED


def test_disabling_and_enabling_leave_the_factor(app, api, device):
    with app.app_context():
        disable_user(1)
        enable_user(1)
    first_step(api)


def test_an_import_leaves_the_factor(app, api, device, runner, tmp_path):
    api.secrets.append(NEW)
    (tmp_path / "users.csv").write_text(f"email,password\n{EMAIL},{NEW}\n")
    for options in ((), ("--skip-existing",)):
        runner.invoke(args=["users", "import", str(tmp_path / "users.csv"), *options])
    first_step(api)


def test_a_session_from_before_changes_no_address(api, stolen, device):
    changed = api("PATCH", "/users/1", NEW_ADDRESS, token=stolen)

    assert refusal(changed) == STRONGER
    assert changed.json["error"]["details"] == {"kinds": ["totp"]}


def test_nor_where_the_new_address_is_to_be_confirmed(shared_app, secrets):
    api = Api(shared_app(**EVERYTHING, EMAIL_CHANGE="confirmed").test_client(), secrets)
    session = api.logged_in()
    api.secrets.append(api("POST", "/users/login", CREDENTIALS).json["id"])
    stolen = api.secrets[-1]
    enrol(api, session)
    body = {"newEmail": NEW_ADDRESS["email"], "password": PASSWORD}

    assert refusal(api("POST", "/users/change-email", body, token=stolen)) == STRONGER
    changed = api("POST", "/users/change-email", body, token=session)
    assert refusal(changed) == (401, "EMAIL_PROOF_REQUIRED")


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("factors/totp", {}),
        ("factors/totp/confirm", {"code": "123456"}),
        ("recoveryCodes", {}),
        ("passkeys/options", {}),
        ("personalTokens", {"name": "x", "scopes": {"todos": ["*"]}}),
    ],
)
def test_a_session_from_before_and_the_password_add_no_credential(api, stolen, device, path, body):
    again = api("POST", "/users/1/reauthenticate", {"password": PASSWORD}, token=stolen)
    refused = api("POST", f"/users/1/{path}", body, token=stolen)

    assert again.status_code == 204
    assert refusal(refused) == STRONGER


@pytest.mark.parametrize("proof", ["password", "code", "credential"])
def test_each_proof_is_a_recent_authentication(app, api, token, device, proof):
    key = add_passkey(api, token, ORIGIN)
    make_old(app, token)
    with app.app_context():
        db.session.execute(update(AccessToken).values(authenticated_at=None))
        db.session.commit()
    options = api("POST", "/users/login/passkey/options").json
    proofs = {"password": PASSWORD, "code": device.code(), "credential": key.sign(options)}
    refused = api("POST", "/users/1/recoveryCodes", {}, token=token)
    again = api("POST", "/users/1/reauthenticate", {proof: proofs[proof]}, token=token)

    assert refusal(refused) == STRONGER
    assert refused.json["error"]["details"] == {
        "kinds": ["password", "passkey", "totp"],
        "maxAge": 300,
    }
    assert again.status_code == 204
    recovery_codes(api, token)


@pytest.mark.parametrize("kind", ["totp", "passkey"])
def test_what_a_rule_asks_for_is_said_and_is_enough(shared_app, secrets, kind):
    api = Api(shared_app(**EVERYTHING, ACLS={"todos": [*OWN, WEAK]}).test_client(), secrets)
    session = api.logged_in()
    api.secrets.append(api("POST", "/users/login", CREDENTIALS).json["id"])
    weak = api.secrets[-1]
    row = api("POST", "/todos", {"title": "Mine"}, token=weak).json["id"]
    if kind == "totp":
        proof = {"code": enrol(api, session).code()}
    else:
        key = add_passkey(api, session, ORIGIN)
        proof = {"credential": key.sign(api("POST", "/users/login/passkey/options").json)}
    for given, status in (({"password": PASSWORD}, 401), (proof, 200)):
        refused = api("DELETE", f"/todos/{row}", token=weak)
        assert refusal(refused) == STRONGER
        assert refused.json["error"]["details"] == {"kinds": [kind]}
        assert api("POST", "/users/1/reauthenticate", given, token=weak).status_code == 204
        deleted = api("DELETE", f"/todos/{row}", token=weak)
        assert deleted.status_code == status


def test_what_another_user_has_ends_no_login(api, token, device):
    bob = api.logged_in("bob@example.com")
    other = enrol(api, bob, 2)
    [code, *_] = recovery_codes(api, bob, 2)
    key = add_passkey(api, bob, ORIGIN, 2)
    options = api("POST", "/users/login/passkey/options").json
    for proof in ({"code": other.code()}, {"code": code}, {"credential": key.sign(options)}):
        assert refusal(finish(api, first_step(api), **proof)) == WRONG
    # Nothing of it was used up.
    ticket = first_step(api, email="bob@example.com")
    assert finish(api, ticket, code=code).status_code == 200


def test_what_proves_one_user_is_no_proof_for_the_session_of_another(api, token, device):
    bob = api.logged_in("bob@example.com")
    enrol(api, bob, 2)
    proof = {"code": device.code()}

    assert refusal(api("POST", "/users/2/reauthenticate", proof, token=bob)) == WRONG
    assert refusal(api("DELETE", "/users/2/factors/2", proof, token=bob)) == WRONG


@pytest.mark.both_databases
def test_of_two_uses_of_a_new_passkey_at_once_one_passes(app, api, token):
    given = api("POST", "/users/1/passkeys/options", token=token).json
    body = {"credential": Authenticator(ORIGIN).make(given)}
    headers = {"Authorization": token}
    both = at_once(
        app,
        *[lambda client: client.post("/api/users/1/passkeys", json=body, headers=headers)] * 2,
    )

    # A login without a factor no longer suffices once there is one.
    assert sorted(answer.status_code for answer in both) in ([200, 401], [200, 422])
    assert count(app, Passkey) == 1


@pytest.mark.both_databases
def test_of_two_confirmations_of_a_factor_at_once_one_passes(app, api, token):
    made = api("POST", "/users/1/factors/totp", {}, token=token).json
    api.secrets.append(made["secret"])
    body, headers = {"code": Device(made["secret"]).code()}, {"Authorization": token}
    path = "/api/users/1/factors/totp/confirm"
    both = at_once(app, *[lambda client: client.post(path, json=body, headers=headers)] * 2)

    assert sorted(answer.status_code for answer in both) == [204, 401]


def test_a_wrong_password_says_nothing_of_the_factor(app, api, device):
    api.logged_in("bob@example.com")
    sent, answers = [], []
    for email in (EMAIL, "bob@example.com", "nobody@example.com"):
        with statements(app) as seen:
            answers.append(api("POST", "/users/login", {"email": email, "password": "wrong one"}))
        sent.append([text.split()[:3] for text in seen])

    assert len({answer.data for answer in answers}) == 1
    assert {refusal(answer) for answer in answers} == {(401, "LOGIN_FAILED")}
    assert sent[0] == sent[1] == sent[2]


def test_a_failed_login_by_passkey_says_nothing_of_the_credential(app, api, token):
    known, unknown = add_passkey(api, token, ORIGIN), Authenticator(ORIGIN)
    known.handle = unknown.handle = "AAAA"
    sent, answers = [], []
    for key in (known, unknown):
        body = {"credential": key.sign(api("POST", "/users/login/passkey/options").json)}
        with statements(app) as seen:
            answers.append(api("POST", "/users/login/passkey", body))
        sent.append([text.split()[:3] for text in seen])

    assert answers[0].data == answers[1].data
    assert sent[0] == sent[1]


def test_a_wrong_proof_says_nothing_of_the_factors(api, device):
    proofs = [{"code": "000000"}, {"code": "000000", "kind": "recovery"}, {"kind": "passkey"}]
    answers = [finish(api, first_step(api), **proof) for proof in proofs]

    assert {refusal(answer) for answer in answers} == {WRONG}
    assert len({answer.data for answer in answers}) == 1


def test_a_request_takes_two_statements_with_everything_switched_on(app, api, token, device):
    row = api("POST", "/todos", {"title": "Mine"}, token=token).json["id"]
    with statements(app) as sent:
        assert api("GET", f"/todos/{row}", token=token).status_code == 200

    assert len(sent) == 2


def test_a_user_adds_a_bounded_number_of_credentials(shared_app, secrets):
    """Each is a row of the audit log, and so is its removal."""
    limited = {"THROTTLE_ENABLED": True, "THROTTLES": {"credential": {"limit": 3}}}
    app = shared_app(**EVERYTHING, **limited)
    api = Api(app.test_client(), secrets)
    token, other = api.logged_in(), api.logged_in("bob@example.com")
    new = {"name": "backup", "scopes": {"todos": ["READ"]}}

    def send(path, body=None, caller=token, user=1):
        return api("POST", f"/users/{user}/{path}", body, token=caller)

    enrol(api, token)
    made = [send("personalTokens", new), send("recoveryCodes")]
    unconfirmed = send("factors/totp", {}).json["secret"]
    options = send("passkeys/options").json
    refused = [
        send("personalTokens", new),
        send("recoveryCodes"),
        send("factors/totp/confirm", {"code": Device(unconfirmed).code()}),
        send("passkeys", {"credential": Authenticator(ORIGIN).make(options)}),
        api("PATCH", "/users/1", NEW_ADDRESS, token=token),
    ]

    assert [answer.status_code for answer in made] == [200, 200]
    assert {refusal(answer) for answer in refused} == {(429, "TOO_MANY_REQUESTS")}
    secrets += [unconfirmed, made[0].json["token"], *made[1].json["codes"]]
    # What is there is removed all the same, and others have their own budget.
    ended = api("DELETE", f"/users/1/personalTokens/{made[0].json['handle']}", token=token)
    assert ended.status_code == 204
    of_other = send("personalTokens", new, other, 2)
    secrets.append(of_other.json["token"])
    assert of_other.status_code == 200
    # Admins set the emails of many.
    with app.app_context():
        grant(2, "admin")
    body = [{"email": f"ada{number}@example.com"} for number in range(4)]
    assert {api("PATCH", "/users/1", new, token=other).status_code for new in body} == {200}
