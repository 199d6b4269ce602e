"""Sending a request and its redirects, and reading the response up to the size limit."""

import requests
import urllib3
from requests.structures import CaseInsensitiveDict

from app.connector.errors import (
    BlockedHostError,
    CallTimeoutError,
    ConnectError,
    ConnectorError,
    ResponseDecodeError,
    ResponseTooLargeError,
    TLSError,
    TooManyRedirectsError,
    translate_errors,
)
from app.connector.redaction import current_redactor
from app.connector.request.request import Request
from app.connector.request.url import MAX_URL_LENGTH, resolve_location, url_length_error
from app.connector.settings.options import CallOptions
from app.connector.types import RawResponse
from app.connector.values import MISSING

from .connection import Adapter, HostPolicy, Limits, current_limits

_CHUNK = 65536
#: Maximum bytes of headers and framing of a response beyond twice `maxResponseBytes`.
_OVERHEAD = 1024 * 1024
#: Maximum bytes of the headers of all redirects of a call.
_MAX_REDIRECT_HEADERS = 65_536
_HOSTS = 20
REDIRECTS = frozenset({301, 302, 303, 307, 308})
_SAFE = ("GET", "HEAD")
# http.client raises the last two for a negative or too large chunk size.
_LIBRARY_ERRORS = (
    requests.RequestException,
    urllib3.exceptions.HTTPError,
    OSError,
    ValueError,
    OverflowError,
)


class Transport:
    """Pooled connections; they keep no cookies and use no settings of the environment."""

    def __init__(self, policy: HostPolicy, max_sockets: int) -> None:
        self.policy = policy
        # No requests.Session: it would add cookies, take proxies and passwords from the environment
        # and .netrc, and follow redirects without the checks of this module.
        self._adapter = Adapter(pool_connections=_HOSTS, pool_maxsize=max_sockets)

    def close(self) -> None:
        """Close the pooled connections."""
        self._adapter.close()

    def send(self, request: Request, options: CallOptions, deadline: float) -> RawResponse:
        """Send a request and follow its redirects as far as the options allow."""
        received = 2 * options.max_bytes + _OVERHEAD
        limits = Limits(self.policy, deadline, options.read_timeout, received)
        scope = current_limits.set(limits)
        redaction = current_redactor.set(request.full_redactor)
        headers = 0
        try:
            for _ in range(options.max_redirects + 1):
                url = request.full_url
                raw = self._send_once(request, url, options, limits)
                following = _redirected(request, url, raw, options)
                if following is None:
                    return raw
                headers += sum(len(name) + len(text) for name, text in raw.headers.items())
                if headers > _MAX_REDIRECT_HEADERS:
                    raise ResponseTooLargeError("the headers of the redirects are too large")
                request = following
        finally:
            current_redactor.reset(redaction)
            current_limits.reset(scope)
        raise TooManyRedirectsError(f"more than {options.max_redirects} redirects")

    def _send_once(
        self, request: Request, url: str, options: CallOptions, limits: Limits
    ) -> RawResponse:
        with translate_errors(_LIBRARY_ERRORS, _translate):
            prepared = _prepare(request, url)
            self.policy.check(prepared.url or "")
            response = self._adapter.send(
                prepared,
                stream=True,
                timeout=(min(options.connect_timeout, limits.next_read()), options.read_timeout),
                verify=options.verify,
                cert=options.certificate,
                proxies=options.proxies,
            )
            return _read(response, options.max_bytes)


def _prepare(request: Request, url: str) -> requests.PreparedRequest:
    data = request.encode_body()
    prepared = requests.PreparedRequest()
    prepared.prepare_method(request.method)
    if len(url) > MAX_URL_LENGTH:
        raise url_length_error()
    prepared.prepare_url(url, None)
    prepared.headers = CaseInsensitiveDict(request.headers)
    prepared.prepare_body(data, None)
    return prepared


def _read(response: requests.Response, max_bytes: int) -> RawResponse:
    chunks: list[bytes] = []
    size = 0
    for chunk in response.raw.stream(_CHUNK, decode_content=True):
        size += len(chunk)
        if size > max_bytes:
            response.close()
            raise ResponseTooLargeError(f"the body is larger than {max_bytes} bytes")
        chunks.append(chunk)
    reason = response.reason or ""
    return RawResponse(response.status_code, response.headers, b"".join(chunks), reason)


def _redirected(
    request: Request, url: str, raw: RawResponse, options: CallOptions
) -> Request | None:
    location = raw.headers.get("Location")
    if raw.status_code not in REDIRECTS or location is None:
        return None
    if not (options.follow_redirects and (request.method in _SAFE or options.follow_all_redirects)):
        return None
    redirected = request.redirected_to(resolve_location(url, location))
    if raw.status_code not in (307, 308) and request.method not in _SAFE:
        redirected.method = "GET"
        redirected.body = redirected.form = MISSING
        redirected.files = {}
        redirected.headers.pop("Content-Type", None)
    redirected.headers.pop("Content-Length", None)
    return redirected


def _translate(error: Exception) -> ConnectorError:
    if isinstance(error, requests.exceptions.InvalidURL | requests.exceptions.InvalidSchema):
        return BlockedHostError("the url is not valid, or not one that may be called")
    if isinstance(error, urllib3.exceptions.DecodeError):
        return ResponseDecodeError("the body cannot be decompressed", 0, "")
    if isinstance(error, requests.Timeout | urllib3.exceptions.TimeoutError | TimeoutError):
        return CallTimeoutError(_reason(error, "no response in time"))
    if isinstance(error, requests.exceptions.SSLError | urllib3.exceptions.SSLError):
        return TLSError(_reason(error, "the TLS handshake failed"))
    return ConnectError(_reason(error, "the connection was closed"))


def _reason(error: BaseException, default: str) -> str:
    """Return the operating system's message for the cause of an error, else the default."""
    message = default
    below: BaseException | None = error
    while below is not None:
        if isinstance(below, OSError) and below.strerror:
            message = below.strerror
        below = below.__cause__ or below.__context__
    return message
