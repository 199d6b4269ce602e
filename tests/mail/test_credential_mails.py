"""Mails about each change of what a user logs in with."""

from collections import Counter

from app.users.service import set_password
from tests.conftest import NEW, PASSWORD, Api
from tests.support.passkeys import add_passkey
from tests.support.rows import make_admin
from tests.support.second_factors import OPTIONAL, enrol

from .resets import LINK, parse, request_reset, written

ORIGIN = "https://www.example.com"
EVERYTHING = {**OPTIONAL, "PASSKEYS": {}, "PUBLIC_URL": ORIGIN}
SUBJECT = "The ways to log in to your account were changed"


def change_all(api):
    """Change each credential of a user once, as the user and then as somebody else."""
    token = api.logged_in()
    device, key = enrol(api, token), add_passkey(api, token, ORIGIN)
    codes = api("POST", "/users/1/recoveryCodes", {}, token=token).json["codes"]
    proof = {"credential": key.sign(api("POST", "/users/login/passkey/options").json)}
    calls = [
        ("POST", "/users/1/reauthenticate", {"code": codes[0]}),
        ("DELETE", "/users/1/passkeys/1", proof),
        ("DELETE", "/users/1/factors/1", {"code": device.code()}),
        ("POST", "/users/change-password", {"oldPassword": PASSWORD, "newPassword": NEW}),
    ]
    api.secrets.extend([*codes, NEW])
    for call in calls:
        assert api(*call, token=token).status_code == 204
    add_passkey(api, token, ORIGIN)
    app = api.client.application
    admin = api.logged_in("root@example.com")
    make_admin(app, user_id=2)
    assert api("DELETE", "/users/1/factors", token=admin).status_code == 204
    with app.app_context():
        set_password(1, PASSWORD)


def said(message):
    """Return what of the account the text of a mail says was changed."""
    text = message.get_body(("plain",)).get_content()
    return " ".join(text.split("Ostiary ")[1].split(".")[0].split())


def test_a_user_is_told_of_each_change(make_app, secrets):
    api = Api(make_app(**EVERYTHING).test_client(), secrets)
    change_all(api)
    mails = [parse(path.read_bytes()) for path in written(api)]

    assert {(mail["To"], mail["Subject"]) for mail in mails} == {("ada@example.com", SUBJECT)}
    assert Counter(map(said, mails)) == {
        "a second factor was added": 1,
        "a second factor was removed": 1,
        "a passkey was added": 2,
        "a passkey was removed": 1,
        "the recovery codes were replaced": 1,
        "a recovery code was used to log in": 1,
        "the password was changed": 2,
        "all second factors were removed, and all sessions ended": 1,
    }


def test_a_reset_is_told(make_app, secrets):
    api = Api(make_app(**EVERYTHING).test_client(), secrets)
    api.newcomer()
    request_reset(api)
    [link] = [LINK.search(parse(path.read_bytes()).as_string()) for path in written(api)]
    secrets.extend([link[2], NEW])
    done = api("POST", "/users/reset-password", {"newPassword": NEW}, token=link[2])
    told = parse(written(api)[-1].read_bytes())

    assert done.status_code == 204
    assert said(told) == "a new password was set, by a link that was mailed to you"
