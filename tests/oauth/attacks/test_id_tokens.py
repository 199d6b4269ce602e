"""A login by a provider whose token, keys or profile are not what they must be is refused."""

import hashlib
import hmac
import json
from base64 import urlsafe_b64encode
from time import time

import pytest
from joserfc.jwk import ECKey

from app.users.models import AccessToken, User
from tests.oauth.provider import CLIENT_ID, CLIENT_SECRET, USER
from tests.support.answers import refusal
from tests.support.rows import count

OTHER_KEY = ECKey.generate_key("P-256", {"kid": "second", "use": "sig", "alg": "ES256"})


def encode(text):
    """Encode a part of a token."""
    data = text if isinstance(text, bytes) else text.encode()
    return urlsafe_b64encode(data).decode().rstrip("=")


def claims(**changes):
    return lambda provider: provider.claims.update(changes)


def header(**changes):
    def prepare(provider):
        provider.sign = provider.sign_with(provider.key, **changes)

    return prepare


def unsigned(signature, **header):
    """Sign by no key at all."""

    def prepare(provider):
        first = encode(json.dumps({"alg": "none", **header}))
        provider.sign = lambda claims: f"{first}.{encode(json.dumps(claims))}.{signature}"

    return prepare


def shared_key(make_key):
    """Sign with a key that the attacker knows, as if it were one for HMAC."""

    def prepare(provider):
        def sign(claims):
            first = encode(json.dumps({"alg": "HS256", "kid": provider.key.kid}))
            signed = f"{first}.{encode(json.dumps(claims))}"
            digest = hmac.digest(make_key(provider), signed.encode(), hashlib.sha256)
            return f"{signed}.{encode(digest)}"

        provider.sign = sign

    return prepare


def wrong_key(**header):
    def prepare(provider):
        provider.sign = provider.sign_with(OTHER_KEY, **{"kid": provider.key.kid, **header})

    return prepare


def tokens(**changes):
    """Change what the token endpoint answers."""
    return lambda provider: provider.tokens.update(changes)


def profile(**changes):
    """Let the token be silent about the email, so that the profile is asked, and change that."""

    def prepare(provider):
        provider.claims = {"email": None, "email_verified": None, "sub": USER["sub"]}
        provider.user.update(changes)

    return prepare


NOW = int(time())
ATTACKS = {
    "nonce of another flow": claims(nonce="x" * 43),
    "no nonce": claims(nonce=None),
    "a nonce that is no text": claims(nonce=1),
    "a nonce with a lone surrogate": claims(nonce="\ud800"),
    "issued for another client": claims(aud="another-client"),
    "no audience": claims(aud=None),
    "an empty audience": claims(aud=[]),
    "an audience that is a number": claims(aud=1),
    "an audience that is an object": claims(aud={CLIENT_ID: 1}),
    "an audience of lists": claims(aud=[[CLIENT_ID]]),
    "another client as well": claims(aud=[CLIENT_ID, "another-client"]),
    "another authorized party": claims(aud=[CLIENT_ID], azp="another-client"),
    "another issuer": claims(iss="https://accounts.example.com"),
    "no issuer": claims(iss=None),
    "an issuer that begins alike": lambda provider: claims(iss=f"{provider.url}.evil")(provider),
    "no subject": claims(sub=None),
    "an empty subject": claims(sub=""),
    "a subject that is no text": claims(sub=["1"]),
    "a subject of 256 characters": claims(sub="1" * 256),
    "a subject with a NUL": claims(sub="1\0"),
    "a subject with a lone surrogate": claims(sub="1\ud800"),
    "expired": claims(exp=NOW - 3600),
    "no expiry": claims(exp=None),
    "expiry as text": claims(exp="tomorrow"),
    "expiry as infinity": claims(exp=float("inf")),
    "issued in the future": claims(iat=NOW + 3600),
    "no time of issue": claims(iat=None),
    "not valid yet": claims(nbf=NOW + 3600),
    "algorithm none": unsigned(""),
    "algorithm None, in another case": unsigned("", alg="nOnE"),
    "algorithm none with a signature": unsigned("eA", kid="first"),
    "no algorithm": unsigned("eA", alg=None),
    "the public key as HMAC key": shared_key(lambda provider: provider.key.as_pem(private=False)),
    "the public JWK as HMAC key": shared_key(
        lambda provider: json.dumps(provider.key.as_dict(private=False)).encode()
    ),
    "the client secret as HMAC key": shared_key(lambda _: CLIENT_SECRET.encode()),
    "an empty HMAC key": shared_key(lambda _: b""),
    "signed by another key": wrong_key(),
    "signed by a key in the header": wrong_key(jwk=OTHER_KEY.as_dict(private=False)),
    "signed by a key without an id": wrong_key(kid=None),
    "signed by an unknown key": wrong_key(kid="unknown"),
    "a key id that is no text": wrong_key(kid=1),
    "an access token as a JWT": header(typ="at+jwt"),
    "a logout token": claims(events={"http://schemas.openid.net/event/backchannel-logout": {}}),
    "a logout token by its type": header(typ="application/Logout+JWT"),
    "an unknown critical extension": header(crit=["exp2"], exp2=1),
    "a payload that is not encoded": header(crit=["b64"], b64=False),
    "no token": tokens(id_token=None),
    "a token that is a number": tokens(id_token=1),
    "a token that is none": tokens(id_token="a.b.c"),
    "a token with two parts": tokens(id_token="eyJhbGciOiJFUzI1NiJ9.e30"),
    "a token with five parts": tokens(id_token="eyJhbGciOiJkaXIifQ.a.b.c.d"),
    "a header of deep arrays": tokens(id_token=f"{encode('[' * 20_000)}.e30.eA"),
    "a token beyond ASCII": tokens(id_token="é.é.é"),
    "the profile of another subject": profile(sub="2"),
    "a profile without a subject": profile(sub=None),
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_what_is_not_proven_is_refused(app, browser, provider, attack):
    ATTACKS[attack](provider)

    response = browser.log_in()

    assert refusal(response) == (401, "LOGIN_FAILED")
    assert provider.url not in response.text
    assert browser.token is None
    assert (count(app, User), count(app, AccessToken)) == (0, 0)


def test_what_is_proven_is_not_refused(browser, provider):
    provider.claims = {"aud": [CLIENT_ID], "azp": CLIENT_ID, "iat": NOW - 30, "name": "A" * 1000}

    assert browser.log_in().headers["Location"] == "/welcome"
    assert browser.token is not None
