"""Authorising a request: basic, bearer, API key, OAuth2 client credentials."""

from __future__ import annotations

import base64
import math
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from requests.structures import CaseInsensitiveDict

from app.connector.errors import CallTimeoutError, UnauthorizedError
from app.connector.redaction import credential_parts
from app.connector.request.body import encode_text
from app.connector.request.model import Auth, Request, validate_header
from app.connector.response import Response, remote_message
from app.connector.values import to_text

from .decoding import parse_json
from .transport import RawResponse

_RENEWAL_MARGIN = 30.0
_DEFAULT_LIFETIME = 3600.0
# What a header carries as it is; RFC 6749, appendix A.12.
_TOKEN = re.compile(r"[\x20-\x7e]+")


class HeaderAuth:
    """A fixed header: basic, bearer or API key."""

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.text = validate_header(name, text)

    def apply(self, request: Request, deadline: float) -> None:
        """Add the header."""
        request.headers.setdefault(self.name, self.text)

    def secrets(self) -> Iterable[str]:
        """Return the header's text and the credentials in it."""
        return credential_parts(self.text)


class QueryAuth:
    """An API key in the query."""

    def __init__(self, name: str, key: str) -> None:
        self.name = name
        self.key = key

    def apply(self, request: Request, deadline: float) -> None:
        """Add the query entry."""
        request.query.setdefault(self.name, self.key)

    def secrets(self) -> Iterable[str]:
        """Return the key."""
        return (self.key,)


Fetch = Callable[[Request, float], RawResponse]


class ClientCredentials:
    """OAuth2 client credentials: one token for all threads, renewed before it expires."""

    def __init__(self, settings: Mapping[str, str], fetch: Fetch) -> None:
        self._settings = settings
        self._basic = basic_credentials(settings["clientId"], settings["clientSecret"])
        self._fetch = fetch
        self._lock = threading.Lock()
        self._token = ""
        self._renew_at = 0.0

    def apply(self, request: Request, deadline: float) -> None:
        """Add the bearer token, fetching one first when there is none or it ends soon."""
        if "Authorization" not in request.headers:
            token = self._current_token(deadline)
            request.headers["Authorization"] = validate_header("Authorization", f"Bearer {token}")

    def secrets(self) -> Iterable[str]:
        """Return the credentials that the token is asked for with; a token is in its request."""
        return credential_parts(self._basic)

    def forget(self, request: Request, deadline: float) -> None:
        """Drop the token if it is still the one that this refused request carried."""
        with self._locked(deadline):
            if request.headers.get("Authorization") == f"Bearer {self._token}":
                self._token = ""

    def _current_token(self, deadline: float) -> str:
        with self._locked(deadline):
            if not self._token or time.monotonic() >= self._renew_at:
                self._renew(deadline)
            return self._token

    @contextmanager
    def _locked(self, deadline: float) -> Iterator[None]:
        if not self._lock.acquire(timeout=max(0.0, deadline - time.monotonic())):
            raise CallTimeoutError("another call was still fetching the access token")
        try:
            yield
        finally:
            self._lock.release()

    def _renew(self, deadline: float) -> None:
        raw = self._fetch(self._token_request(), deadline)
        document = _document(raw)
        token = document.get("access_token")
        if not isinstance(token, str) or not _TOKEN.fullmatch(token):
            raise _refusal(raw, document)
        lifetime = _lifetime(document.get("expires_in"))
        self._token = token
        self._renew_at = time.monotonic() + max(lifetime - _RENEWAL_MARGIN, lifetime / 2)

    def _token_request(self) -> Request:
        form = {"grant_type": "client_credentials"}
        if "scope" in self._settings:
            form["scope"] = self._settings["scope"]
        headers = {
            "Accept": "application/json",
            "Authorization": self._basic,
        }
        return Request("POST", self._settings["tokenUrl"], CaseInsensitiveDict(headers), form=form)


def _document(raw: RawResponse) -> dict[str, Any]:
    try:
        document = parse_json(raw.content)
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}


def _lifetime(seconds: Any) -> float:
    try:
        lifetime = float(seconds)
    except (TypeError, ValueError, OverflowError):
        return _DEFAULT_LIFETIME
    return lifetime if math.isfinite(lifetime) else _DEFAULT_LIFETIME


def _refusal(raw: RawResponse, document: dict[str, Any]) -> UnauthorizedError:
    response = Response(raw.status_code, raw.headers, document, raw.reason)
    words = remote_message(response) or raw.reason
    return UnauthorizedError(
        f"the token endpoint gave no access token: {raw.status_code} {words}", response
    )


def basic_credentials(user: str, password: str) -> str:
    """Return the value of a Basic authorization header."""
    return "Basic " + base64.b64encode(encode_text(f"{user}:{password}")).decode()


def make_auth(settings: Mapping[str, Any], fetch: Fetch) -> Auth | None:
    """Return what the `auth` object of the options asks for."""
    if "oauth2" in settings:
        return ClientCredentials(_to_texts(settings["oauth2"]), fetch)
    texts = _to_texts(settings)
    if texts.get("bearer"):
        return HeaderAuth("Authorization", f"Bearer {texts['bearer']}")
    if "user" in texts:
        return HeaderAuth("Authorization", basic_credentials(texts["user"], texts.get("pass", "")))
    if "apiKey" not in texts:
        return None
    name = texts.get("name", "X-Api-Key")
    kind = QueryAuth if texts.get("in") == "query" else HeaderAuth
    return kind(name, texts["apiKey"])


def _to_texts(settings: Mapping[str, Any]) -> dict[str, str]:
    # A variable in the settings may have a value of any type.
    return {key: to_text(value, f"auth.{key}") for key, value in settings.items()}
