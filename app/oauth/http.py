"""Requests to providers: with time-outs, without redirects, and with limited responses."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from threading import BoundedSemaphore
from urllib.parse import urlsplit

import requests
import urllib3
from authlib.common.errors import AuthlibBaseError
from authlib.integrations.requests_client import OAuth2Session
from requests.utils import get_environ_proxies

from app.connector import ConnectorError
from app.connector.http.connection import Adapter, HostPolicy, Limits, current_limits

from .configuration import Provider
from .errors import MALFORMED, ProviderError
from .schemas import LOCAL_HOSTS, is_secure

#: Seconds for all requests of a login to its provider.
LOGIN_TIMEOUT = 8.0
#: Seconds for each read of a provider's response.
READ_TIMEOUT = 5.0
#: Seconds to connect to a provider.
CONNECT_TIMEOUT = 3.0
#: Seconds that a request to a provider waits if half of `THREADS` are in use by others.
SLOT_TIMEOUT = 1.0
#: Maximum bytes of a provider's response, including headers; Microsoft's keys and metadata take
#: about 20,000.
MAX_ANSWER = 131_072
# Any host with a public address; those in the settings may have private ones.
PUBLIC_HOSTS = "?*"
FAILURES = (
    requests.RequestException,
    urllib3.exceptions.HTTPError,
    AuthlibBaseError,
    ConnectorError,
    OSError,
    *MALFORMED,
)
# The deadline of the current login's requests, by the monotonic clock.
current_deadline: ContextVar[float] = ContextVar("current_deadline")


def _seconds_left() -> float:
    """Return the seconds for the login's next request; raise ProviderError if none are left."""
    left = current_deadline.get() - time.monotonic()
    if left <= 0:
        raise ProviderError("no time is left for another request")
    return left


class Http:
    """The connections to one provider."""

    def __init__(self, provider: Provider, slots: int) -> None:
        self._provider = provider
        self._adapter = Adapter(pool_connections=4, pool_maxsize=slots)
        self._policy = HostPolicy()
        self._policy.trust(provider.urls.values(), [PUBLIC_HOSTS])
        # An unresponsive provider must not occupy all threads of the process.
        self._slots = BoundedSemaphore(slots)

    @staticmethod
    @contextmanager
    def deadline() -> Iterator[None]:
        """Limit all requests of a login, made in the block, to LOGIN_TIMEOUT seconds."""
        scope = current_deadline.set(time.monotonic() + LOGIN_TIMEOUT)
        try:
            yield
        finally:
            current_deadline.reset(scope)

    def get(
        self, url: str, token: str | None = None, query: Mapping[str, str] | None = None
    ) -> object:
        """Return the JSON at a URL, requested with an access token; raise ProviderError."""
        headers = {"Accept": "application/json"}
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        with self._request(url) as session:
            response = session.get(
                url, params=query, headers=headers, withhold_token=True, allow_redirects=False
            )
            if response.status_code != 200:
                raise ProviderError(f"{_host(url)} answered {response.status_code}")
            document: object = response.json()
            return document

    def fetch_token(
        self, url: str, method: str, code: str, verifier: str, redirect_uri: str
    ) -> dict[str, object]:
        """Redeem a code at the token endpoint; `method` is the client authentication.

        Raises ProviderError.
        """
        values = {"code": code, "code_verifier": verifier, "redirect_uri": redirect_uri}
        with self._request(url, method) as session:
            answer: dict[str, object] = session.fetch_token(
                url, grant_type="authorization_code", allow_redirects=False, **values
            )
            return answer

    @contextmanager
    def _request(self, url: str, method: str | None = None) -> Iterator[OAuth2Session]:
        """Yield a session for one request of a login; raise ProviderError for any failure."""
        if not is_secure(url.partition("?")[0]):
            raise ProviderError("an endpoint is no https address")
        if not self._slots.acquire(timeout=min(SLOT_TIMEOUT, _seconds_left())):
            raise ProviderError("too many requests to it are under way")
        limits = Limits(self._policy, current_deadline.get(), READ_TIMEOUT, MAX_ANSWER)
        scope = current_limits.set(limits)
        try:
            self._policy.check(url)
            session = self._session(method, min(CONNECT_TIMEOUT, _seconds_left()))
            session.proxies = _proxies(url)
            if session.proxies:
                self._policy.check_proxied(url)
            yield session
        except FAILURES as error:
            raise ProviderError(f"{_host(url)}: {_reason(error)}") from None
        finally:
            current_limits.reset(scope)
            self._slots.release()

    def _session(self, method: str | None, connect_timeout: float) -> OAuth2Session:
        session = OAuth2Session(
            self._provider.client_id,
            self._provider.client_secret,
            token_endpoint_auth_method=method,
            default_timeout=(connect_timeout, READ_TIMEOUT),
        )
        # No passwords from .netrc, and only the proxy that `_proxies` returns.
        session.trust_env = False
        # A compressed response could expand to more than is received.
        session.headers["Accept-Encoding"] = "identity"
        session.hooks["response"].append(_check_answer)
        for scheme in ("http://", "https://"):
            session.mount(scheme, self._adapter)
        return session


def _proxies(url: str) -> dict[str, str]:
    """Return the environment's proxies for a URL; none for this machine.

    Those are HTTPS_PROXY and ALL_PROXY, unless NO_PROXY contains the host.
    """
    if urlsplit(url).hostname in LOCAL_HOSTS:
        return {}
    proxies = get_environ_proxies(url)
    return {name: proxies[name] for name in ("https", "all") if name in proxies}


def _check_answer(response: requests.Response, **_options: object) -> None:
    """Close the connection of an unusable response; raise ProviderError."""
    is_compressed = response.headers.get("Content-Encoding", "identity") != "identity"
    if is_compressed or response.is_redirect:
        response.close()
        raise ProviderError(f"its answer is {'compressed' if is_compressed else 'a redirect'}")


def _host(url: str) -> str:
    return url.split("/")[2]


def _reason(error: Exception) -> str:
    """Return a description of a failure without the URL and without the provider's text."""
    code = getattr(error, "error", None)
    if isinstance(error, AuthlibBaseError) and isinstance(code, str):
        return f"{type(error).__name__} {error_code(code)}"
    return type(error).__name__


def error_code(text: str) -> str:
    """Return an OAuth error code in a form that can be logged."""
    return text if len(text) <= 40 and text.isascii() and text.isidentifier() else "unknown error"
