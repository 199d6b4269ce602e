"""Logins by a provider, and lists of sessions, that are to cost as much as they can."""

import base64
import json
import time
from collections.abc import Iterator
from typing import Any

from .request import CALLER, TARGET, Request, get, raw, repeat

CLIENT = "ostiary"
# Characters of an ID token.
TOKEN = 16_000
# The point (0, sqrt(b)) of P-256: a key that nobody has signed with.
KEY = {
    "kty": "EC",
    "crv": "P-256",
    "x": "axfR8uEsQkf4vOblY6RA8ncDfYEt6zOg9KE5RdiYwpY",
    "y": "T-NC4v4af5uO5-tKfA-eFivOM1drMV7Oy7ZAaDe_UfU",
    "kid": "k",
}


def providers(url: str) -> dict[str, Any]:
    """Return the settings of a provider at a URL."""
    known = {"issuer": url, "clientID": CLIENT, "clientSecret": "x", "successRedirect": "/"}
    return {"test": known}


def metadata(url: str) -> dict[str, Any]:
    """Return what the provider publishes, by path."""
    ends = {name: f"{url}/{name}" for name in ("authorization_endpoint", "token_endpoint")}
    return {
        "/.well-known/openid-configuration": {"issuer": url, "jwks_uri": f"{url}/keys", **ends},
        "/keys": {"keys": [{**KEY, "kid": f"k{number}"} for number in range(50)]},
    }


def requests() -> Iterator[Request]:
    """Yield the requests."""
    for name, token in _tokens().items():
        yield _token(name, token)
    yield _raw_token("of 100 kB", repeat("x", '{"id_token":"', '"}'))
    yield _raw_token("of dots", repeat(".", '{"id_token":"', '"}'))
    for name in ("code", "state", "iss", "error"):
        path = f"/auth/test/callback?{name}=" + "x" * (TARGET - 100)
        yield Request(f"callback: {name}", "GET", path, headers={"Cookie": "login_flow=x"})
    states = "/auth/test/callback?" + "&".join(["state=x"] * (TARGET // 9))
    yield Request("callback: states", "GET", states, headers={"Cookie": "login_flow=x"})
    cookies = "; ".join(f"login_flow={number}" for number in range(440))
    yield Request("login: cookies", "GET", "/auth/test", headers={"Cookie": cookies})
    yield get("sessions", "/api/users/1/accessTokens")
    yield get("identities", "/api/users/1/identities")
    yield Request("account", "GET", "/api/users/1?filter=" + "x" * 15_000, headers=CALLER)


def _tokens() -> dict[str, str]:
    known = {"alg": "ES256", "kid": "k1"}
    moment = int(time.time())
    claims = {"iss": "x", "aud": CLIENT, "sub": "x", "iat": moment, "exp": moment + 300}
    many = {f"k{number}": 0 for number in range(1000)}
    return {
        "wrong signature": _jwt(known, claims),
        "long signature": _jwt(known, claims, "A" * (TOKEN - 300)),
        "RSA signature": _jwt({"alg": "RS256"}, claims, "A" * (TOKEN - 300)),
        "many claims": _jwt(known, {**claims, **many}),
        "many audiences": _jwt(known, {**claims, "aud": ["x"] * 2500}),
        "many header members": _jwt({**known, **many}, claims),
        "critical names": _jwt({**known, "crit": ["k"] * 2500}, claims),
        "long key id": _jwt({**known, "kid": "k" * 11_000}, claims),
        "no key id": _jwt({"alg": "ES256"}, claims),
        "nested header": f"{_part(b'[' * 11_000)}.e30.AA",
        "nested claims": f"{_part(json.dumps(known).encode())}.{_part(b'[' * 11_000)}.AA",
        "compressed": _jwt({**known, "zip": "DEF"}, claims),
        "of bars": "." * TOKEN,
        "five parts": ".".join(["e30"] * 5),
        "number of digits": f"{_part(b'9' * 11_000)}.e30.AA",
    }


def _jwt(header: dict[str, Any], claims: dict[str, Any], signature: str = "A" * 86) -> str:
    parts = [_part(json.dumps(part, separators=(",", ":")).encode()) for part in (header, claims)]
    return ".".join([*parts, signature])


def _part(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def _token(name: str, token: str) -> Request:
    return _raw_token(name, json.dumps({"id_token": token}).encode())


def _raw_token(name: str, body: bytes) -> Request:
    return raw(f"ID token: {name}", "application/json", body, "/auth/test/token")
