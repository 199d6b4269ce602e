"""Authentication schemes: basic, bearer, API key, OAuth 2 client credentials."""

import base64
import json
import math
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress

from requests.structures import CaseInsensitiveDict

from app.connector.errors import CallTimeoutError, UnauthorizedError
from app.connector.redaction import credential_parts
from app.connector.request.encoding import encode_text, validate_header
from app.connector.request.request import Auth, FetchToken, Request
from app.connector.settings.options import AUTH
from app.connector.types import JsonObject, JsonValue, RawResponse, Response, Settings, Values
from app.connector.values import parse_json, to_text

from .responses import remote_message

# Seconds before its end at which a token is renewed; never before half of its lifetime.
_RENEWAL_MARGIN = 30.0
# Seconds that a token is used if the token endpoint does not state its lifetime.
_DEFAULT_LIFETIME = 3600.0
# The characters of an access token; RFC 6749, appendix A.12.
_TOKEN = re.compile(r"[\x20-\x7e]+")
#: Maximum number of OAuth 2 clients of a data source whose tokens are kept.
# Credentials may contain variables; beyond this number, calls with other credentials fetch a token
# of their own.
_MAX_CLIENTS = 1000


class FixedCredentials(Auth):
    """Credentials of the settings in a header or query entry: basic, bearer or API key."""

    def __init__(self, name: str, text: str, *, in_query: bool = False) -> None:
        self.name = name
        self.text = text if in_query else validate_header(name, text)
        self.in_query = in_query

    def apply(self, request: Request) -> None:
        """Add the credentials to the request."""
        (request.query if self.in_query else request.headers).setdefault(self.name, self.text)

    def secrets(self) -> Iterable[str]:
        """Return the text and the credentials in it."""
        return credential_parts(self.text)


class ClientCredentials(Auth):
    """OAuth 2 client credentials: one access token for all threads, renewed before it expires."""

    def __init__(self, settings: Mapping[str, str]) -> None:
        self._settings = settings
        self._basic = basic_credentials(settings["clientId"], settings["clientSecret"])
        self._lock = threading.Lock()
        self._token = ""
        self._renew_at = 0.0

    def apply(self, request: Request) -> None:
        """Add the access token, if there is one."""
        if self._token:
            request.headers.setdefault("Authorization", self._header)

    def refresh(
        self, request: Request, fetch: FetchToken, deadline: float, rejected: Request | None = None
    ) -> bool:
        """Fetch a token if there is none, if it expires soon, or if the rejected request had it."""
        if "Authorization" in request.headers:
            return False
        with self._locked(deadline):
            # Another thread may have renewed the token since the request was sent.
            if rejected is not None and rejected.headers.get("Authorization") == self._header:
                self._renew_at = 0.0
            if time.monotonic() >= self._renew_at:
                self._renew(fetch, deadline)
        return True

    def secrets(self) -> Iterable[str]:
        """Return the client's credentials; access tokens are masked as a header of the request."""
        return credential_parts(self._basic)

    @property
    def _header(self) -> str:
        return f"Bearer {self._token}"

    @contextmanager
    def _locked(self, deadline: float) -> Iterator[None]:
        if not self._lock.acquire(timeout=max(0.0, deadline - time.monotonic())):
            raise CallTimeoutError("another call was still fetching the access token")
        try:
            yield
        finally:
            self._lock.release()

    def _renew(self, fetch: FetchToken, deadline: float) -> None:
        raw = fetch(self._token_request(), deadline)
        document = _token_document(raw)
        token = document.get("access_token")
        if not isinstance(token, str) or not _TOKEN.fullmatch(token):
            raise _token_error(raw, document)
        lifetime = _lifetime(document.get("expires_in"))
        self._token = validate_header("Authorization", token)
        self._renew_at = time.monotonic() + max(lifetime - _RENEWAL_MARGIN, lifetime / 2)

    def _token_request(self) -> Request:
        form = {"grant_type": "client_credentials"}
        if "scope" in self._settings:
            form["scope"] = self._settings["scope"]
        headers = {"Accept": "application/json", "Authorization": self._basic}
        return Request("POST", self._settings["tokenUrl"], CaseInsensitiveDict(headers), form=form)


def _token_document(raw: RawResponse) -> JsonObject:
    with suppress(ValueError):
        document = parse_json(raw.content)
        return document if isinstance(document, dict) else {}
    return {}


def _lifetime(seconds: JsonValue) -> float:
    try:
        lifetime = float(seconds)
    except (TypeError, ValueError, OverflowError):
        return _DEFAULT_LIFETIME
    return lifetime if math.isfinite(lifetime) else _DEFAULT_LIFETIME


def _token_error(raw: RawResponse, document: JsonObject) -> UnauthorizedError:
    response = Response(raw.status_code, raw.headers, document, raw.reason)
    message = remote_message(response) or raw.reason
    return UnauthorizedError(
        f"the token endpoint returned no access token: {raw.status_code} {message}", response
    )


def basic_credentials(user: str, password: str) -> str:
    """Return the value of a Basic authorization header."""
    return "Basic " + base64.b64encode(encode_text(f"{user}:{password}")).decode()


def auth_factory() -> Callable[[Settings], Auth | None]:
    """Return a function that makes the scheme of an `auth` object, None for an empty one.

    Calls with the same OAuth 2 settings share one scheme and so its access token.
    """
    clients: dict[str, ClientCredentials] = {}

    def make(settings: Settings) -> Auth | None:
        if "oauth2" not in settings:
            return _fixed_credentials(_to_texts(settings))
        texts = _to_texts(settings["oauth2"])
        key = json.dumps(texts, sort_keys=True)
        client = clients.get(key) or ClientCredentials(texts)
        return clients.setdefault(key, client) if len(clients) < _MAX_CLIENTS else client

    return make


def _fixed_credentials(texts: Mapping[str, str]) -> Auth | None:
    if texts.get("bearer"):
        return FixedCredentials("Authorization", f"Bearer {texts['bearer']}")
    if "user" in texts:
        password = texts.get("pass", AUTH["pass"].value)
        return FixedCredentials("Authorization", basic_credentials(texts["user"], password))
    if "apiKey" not in texts:
        return None
    name = texts.get("name", AUTH["name"].value)
    in_query = texts.get("in", AUTH["in"].value) == "query"
    return FixedCredentials(name, texts["apiKey"], in_query=in_query)


def _to_texts(settings: Values) -> dict[str, str]:
    # The value of a variable in the settings may be a number or a date.
    return {key: to_text(value, f"auth.{key}") for key, value in settings.items()}
