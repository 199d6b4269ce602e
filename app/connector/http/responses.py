"""Decoding the body of a response: JSON, text in its charset, or bytes; errors for responses."""

from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from encodings import normalize_encoding
from encodings.aliases import aliases

from requests.structures import CaseInsensitiveDict
from requests.utils import get_encoding_from_headers

from app.connector.errors import (
    ConnectorError,
    HTTPStatusError,
    NotFoundError,
    RateLimitedError,
    ResponseDecodeError,
    ResponseTooLargeError,
    UnauthorizedError,
)
from app.connector.redaction import Redactor
from app.connector.request.request import Request
from app.connector.settings.options import CallOptions
from app.connector.types import JsonObject, JsonValue, RawResponse, Response
from app.connector.values import parse_json

from .transport import REDIRECTS

_BINARY = (
    "image/",
    "audio/",
    "video/",
    "font/",
    "application/octet-stream",
    "application/pdf",
    "application/zip",
    "application/gzip",
)
# The charsets of the WHATWG Encoding standard, section 4.2, by Python's names. Others of Python's
# are not safe for untrusted input: punycode takes quadratic time.
_CHARSETS = frozenset(
    ["utf_8", "utf_8_sig", "utf_16", "utf_16_le", "utf_16_be", "ascii", "latin_1", "cp874"]
    + ["gbk", "gb2312", "gb18030", "big5", "euc_jp", "iso2022_jp", "shift_jis", "euc_kr"]
    + ["koi8_r", "koi8_u", "mac_roman"]
    + [f"iso8859_{part}" for part in range(2, 17)]
    + [f"cp{page}" for page in range(1250, 1259)]
)
_MAX_CHARSET_LENGTH = 40
# In JSON, each value but the first comes with one of them, and so does each name.
_SIGNS = (b",", b":", b"[", b"{")
#: Maximum characters of a remote's message in an error.
_MAX_MESSAGE_LENGTH = 300
# The names of messages in the bodies of error responses.
_MESSAGE_KEYS = ("message", "detail", "title", "error_description", "error")
_ERRORS: dict[int, type[HTTPStatusError]] = {
    401: UnauthorizedError,
    403: UnauthorizedError,
    404: NotFoundError,
    429: RateLimitedError,
}


def decode_body(
    raw: RawResponse, *, expects_json: bool, max_values: int | None = None
) -> JsonValue:
    """Return the body of a response as JSON, text or bytes.

    Invalid JSON is an error unless the status already is one; so is JSON with more than
    `max_values`, counted by its commas, colons and opening brackets.
    """
    if not raw.content:
        return None
    kind = raw.headers.get("Content-Type", "").lower()
    if kind.startswith(_BINARY):
        return raw.content
    if not expects_json:
        return _text(raw.content, raw.headers)
    if max_values is not None and sum(map(raw.content.count, _SIGNS)) > max_values:
        raise ResponseTooLargeError(f"the body has more than {max_values} values and names")
    with suppress(ValueError):
        return _read_json(raw)
    # Outside of the block: the parser's error contains the body, which may have secrets.
    return _broken(raw) if is_json(kind) else _text(raw.content, raw.headers)


def _read_json(raw: RawResponse) -> JsonValue:
    """Read JSON in UTF-8 as of RFC 8259, or else in the charset of its type; raise ValueError."""
    try:
        return parse_json(raw.content)
    except ValueError:
        charset = _charset(raw.headers)
        if charset == "utf_8" or charset not in _CHARSETS:
            raise
        return parse_json(raw.content.decode(charset))


def is_json(kind: str) -> bool:
    """Return True if a content type is JSON."""
    media_type = kind.partition(";")[0].strip()
    return media_type == "application/json" or media_type.endswith("+json")


def _text(content: bytes, headers: CaseInsensitiveDict[str]) -> str | bytes:
    charset = _charset(headers)
    try:
        return content.decode(charset) if charset in _CHARSETS else content
    except UnicodeDecodeError:
        return content


def _charset(headers: CaseInsensitiveDict[str]) -> str:
    named = None
    if "charset" in headers.get("Content-Type", "").lower():
        named = get_encoding_from_headers(headers)
    name = normalize_encoding((named or "utf-8")[:_MAX_CHARSET_LENGTH]).lower()
    return aliases.get(name, name)


def _broken(raw: RawResponse) -> str:
    text = raw.content.decode("utf-8", "replace")
    if raw.status_code >= 400:
        return text
    message = f"{raw.status_code}: the body is not the JSON that its type announces: {text}"
    raise ResponseDecodeError(message, raw.status_code, text)


def error_for_status(response: Response, options: CallOptions) -> HTTPStatusError | None:
    """Return the error for the status of a response, None for a success."""
    status = response.status_code
    if status < 400 and not (status in REDIRECTS and options.follow_redirects):
        return None
    remote = remote_message(response)
    message = f"{status} {response.reason}".strip()
    retry_after = read_retry_after(response.headers.get("Retry-After"))
    make = _ERRORS.get(status, HTTPStatusError)
    return make(f"{message}: {remote}" if remote else message, response, retry_after)


def remote_message(response: Response) -> str:
    """Return the message in the body of an error response, or an empty string."""
    body = response.body
    if isinstance(body, str):
        text = body.strip()
        return "" if text.startswith("<") else text
    if not isinstance(body, dict):
        return ""
    nested = body.get("error")
    return (_message_in(nested) if isinstance(nested, dict) else "") or _message_in(body)


def _message_in(part: JsonObject) -> str:
    found = (part.get(key) for key in _MESSAGE_KEYS)
    return next((text for text in found if isinstance(text, str) and text), "")


def read_retry_after(value: str | None) -> float | None:
    """Return the seconds that a Retry-After header asks for; None if it cannot be read."""
    if not value:
        return None
    if value.strip().isdecimal():
        return float(value)
    try:
        moment = parsedate_to_datetime(value)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        return max(0.0, (moment - datetime.now(UTC)).total_seconds())
    except (ValueError, OverflowError):
        return None


def describe_error(
    error: ConnectorError, operation: str, request: Request, secrets: Iterable[str]
) -> None:
    """Add the operation and the request to the message of an error, with secrets masked.

    `secrets` are those of the requests that were sent, with their credentials.
    """
    redactor = request.full_redactor().with_secrets(secrets)
    error.operation = operation
    error.request = request.describe(redactor)
    error.args = (f"{operation}: {error.request}: {_prefix(redactor, str(error))}",)
    if isinstance(error, ResponseDecodeError):
        error.text = _prefix(redactor, error.text)


def _prefix(redactor: Redactor, text: str) -> str:
    return " ".join(redactor.prefix(text.lstrip(), _MAX_MESSAGE_LENGTH).split())
