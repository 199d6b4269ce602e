"""POST /auth/{provider}/token: the ID token that a provider issued to an app of this service."""

from base64 import urlsafe_b64decode

import pytest

from app.users.models import AccessToken, User
from tests.oauth.provider import CLIENT_ID
from tests.support.answers import refusal
from tests.support.races import at_once
from tests.support.rows import count

from .test_id_tokens import NOW, encode, shared_key, unsigned, wrong_key

REFUSED = (401, "LOGIN_FAILED")
CROSS_SITE = {"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"}


@pytest.fixture
def client(app):
    """A client that is no browser and keeps no cookies."""
    return app.test_client(use_cookies=False)


def post(client, body, **options):
    return client.post("/auth/test/token", json=body, **options)


CLAIMS = {
    "another client": {"aud": "another-client"},
    "another client as well": {"aud": [CLIENT_ID, "another-client"]},
    "an audience that is no text": {"aud": [[CLIENT_ID]]},
    "an audience that is a number": {"aud": 1},
    "another issuer": {"iss": "https://accounts.example.com"},
    "expired": {"exp": NOW - 3600},
    "issued in the future": {"iat": NOW + 3600},
    "issued days ago": {"iat": NOW - 3 * 86400, "exp": NOW + 86400},
}


@pytest.mark.parametrize("attack", CLAIMS)
def test_an_id_token_that_is_not_for_this_service_is_refused(app, client, provider, attack):
    response = post(client, {"id_token": provider.id_token(**CLAIMS[attack])})

    assert refusal(response) == REFUSED
    assert count(app, User) == 0


@pytest.mark.parametrize("forge", [unsigned(""), shared_key(lambda _: b""), wrong_key()])
def test_a_forged_id_token_is_refused(client, provider, forge):
    forge(provider)

    assert refusal(post(client, {"id_token": provider.id_token()})) == REFUSED


def test_a_nonce_must_be_that_of_the_token(client, provider, secrets):
    token = provider.id_token(nonce="chosen by the app")

    for nonce in ("another", "é"):
        assert refusal(post(client, {"id_token": token, "nonce": nonce})) == REFUSED
    response = post(client, {"id_token": token, "nonce": "chosen by the app"})
    assert response.status_code == 200
    secrets.append(response.json["id"])
    for nonce in (1, [], {}):
        body = {"id_token": provider.id_token(), "nonce": nonce}
        assert post(client, body).status_code == 422


BODIES = [
    {},
    {"access_token": "ya29.opaque"},
    {"id_token": None},
    {"id_token": 1},
    {"id_token": ["x"]},
    {"id_token": ""},
    {"id_token": "ya29.opaque"},
    {"id_token": "..", "access_token": "ya29.opaque"},
    {"id_token": "é.é.é"},
    {"id_token": "x" * 20_000},
    {"id_token": f"{encode('[' * 5_000)}.e30.eA"},
    {"id_token": f"{encode('null')}.{encode('null')}.eA"},
    {"id_token": f"{encode('1')}.{encode('1')}.eA"},
    {"id_token": f"{encode(chr(34) + 'x' + chr(34))}.e30.eA"},
    {"id_token": encode('{"alg":["ES256"]}') + ".e30.eA"},
    {"id_token": encode('{"alg":"ES256","kid":{"x":1}}') + ".e30.eA"},
    {"id_token": encode('{"alg":"ES256","kid":"first","crit":1}') + ".e30.eA"},
    {"id_token": encode('{"alg":"dir","enc":"A128GCM","zip":"DEF"}') + ".a.b.c.d"},
]


@pytest.mark.parametrize("body", BODIES, ids=lambda body: str(body)[:60])
def test_what_is_no_id_token_is_refused(app, client, provider, body):
    status, code = refusal(post(client, body))

    assert (status, code) in [REFUSED, (422, "VALIDATION_ERROR")]
    assert "/userinfo" not in provider.requests
    assert count(app, User) == 0


def test_no_form_of_another_site_logs_a_browser_in(client, provider, secrets):
    """Login CSRF: by the token of somebody else."""
    form = {"id_token": provider.id_token()}

    response = client.post("/auth/test/token", data=form, headers=CROSS_SITE)

    secrets.append(response.json["id"])
    assert "Set-Cookie" not in response.headers


@pytest.mark.both_databases
def test_a_token_is_used_once(app, client, provider, secrets):
    """An ID token that leaks from an app is of no use after its login (OWASP ASVS 10.5.1)."""
    token = provider.id_token()

    answers = at_once(app, *[lambda client: post(client, {"id_token": token})] * 4)

    secrets += [answer.json["id"] for answer in answers if answer.status_code == 200]
    assert sorted(answer.status_code for answer in answers) == [200, 401, 401, 401]
    assert count(app, AccessToken) == 1


def test_a_token_is_used_once_however_its_signature_is_written(app, client, provider, secrets):
    token = provider.id_token()
    secrets.append(post(client, {"id_token": token}).json["id"])
    signed, _, signature = token.rpartition(".")
    r, s = signature_numbers(signature)

    for other in (f"{signature}=", f"{signature}==", f"{signature}!", f"!{signature}"):
        assert refusal(post(client, {"id_token": f"{signed}.{other}"})) == REFUSED
    # The same numbers, one of them negative: valid for ECDSA, too.
    mirrored = encode(r + (P256_ORDER - int.from_bytes(s)).to_bytes(32))
    assert refusal(post(client, {"id_token": f"{signed}.{mirrored}"})) == REFUSED
    assert count(app, AccessToken) == 1


# Of the curve P-256 (NIST SP 800-186, 3.2.1.3).
P256_ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551


def signature_numbers(signature):
    data = urlsafe_b64decode(f"{signature}==")
    return data[:32], data[32:]
