"""The audit log tells by which methods a user has logged in."""

import json

import pytest

from app.signals import login_code_request
from tests.conftest import PASSWORD
from tests.support.passkeys import add_passkey
from tests.support.rows import make_admin
from tests.support.second_factors import OPTIONAL, enrol

ORIGIN = "https://www.example.com"
SETTINGS = {
    **OPTIONAL,
    "PASSKEYS": {},
    "PUBLIC_URL": ORIGIN,
    "EMAIL_LOGIN": True,
    "LOGIN_CODE_KEYS": ["k" * 32],
}
CREDENTIALS = {"email": "ada@example.com", "password": PASSWORD}


@pytest.fixture
def app(shared_app):
    return shared_app(**SETTINGS)


def by_password(api, token):
    return api("POST", "/users/login", CREDENTIALS)


def by_app(api, token):
    return api("POST", "/users/login", {**CREDENTIALS, "code": enrol(api, token).code()})


def by_recovery_code(api, token):
    enrol(api, token)
    made = api("POST", "/users/1/recoveryCodes", {}, token=token).json["codes"]
    api.secrets.extend(made)
    return api("POST", "/users/login", {**CREDENTIALS, "code": made[0]})


def by_passkey(api, token):
    key = add_passkey(api, token, ORIGIN)
    signed = key.sign(api("POST", "/users/login/passkey/options").json)
    return api("POST", "/users/login/passkey", {"credential": signed})


def by_mail(api, token):
    codes, app = [], api.client.application
    with login_code_request.connected_to(lambda _, info: codes.append(info["code"]), sender=app):
        ticket = api("POST", "/users/login/mail", {"email": CREDENTIALS["email"]}).json["ticket"]
    api.secrets.append(ticket)
    return api("POST", "/users/login/mail/confirm", {"ticket": ticket, "code": codes[0]})


@pytest.mark.parametrize(
    ("log_in", "methods"),
    [
        (by_password, ["pwd"]),
        (by_app, ["pwd", "otp", "mfa"]),
        (by_recovery_code, ["pwd", "recovery", "mfa"]),
        (by_passkey, ["hwk", "user", "mfa"]),
        (by_mail, ["email"]),
    ],
)
def test_a_login_is_recorded_with_its_methods(app, api, runner, token, log_in, methods):
    make_admin(app)
    session = log_in(api, token).json["id"]
    api.secrets.append(session)
    only = json.dumps({"where": {"action": "login"}})
    lists = [
        api("GET", path, token=session, query_string={"filter": only}).json
        for path in ("/users/1/audit", "/admin/audit")
    ]
    printed = runner.invoke(args=["audit", "list", "--action", "login"]).output.splitlines()

    for [record] in lists:
        assert record["details"]["methods"] == methods
    assert f"methods={','.join(methods)}" in printed[1]
