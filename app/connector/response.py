"""The response of a call: decoding its body and saying what the remote said."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from requests.structures import CaseInsensitiveDict
from requests.utils import get_encoding_from_headers

from .errors import ResponseDecodeError

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


@dataclass(frozen=True, slots=True, repr=False)
class Response:
    """What a call with `fullResponse` gives: status, headers (in any case) and decoded body."""

    status_code: int
    headers: CaseInsensitiveDict[str]
    body: Any
    reason: str = ""

    def __repr__(self) -> str:
        return f"<Response {self.status_code} {self.headers.get('Content-Type', '')}>"


def decode(content: bytes, headers: CaseInsensitiveDict[str], *, reads_json: bool) -> Any:
    """Return the body as JSON, text or bytes; raise ValueError for JSON that is none."""
    if not content:
        return None
    kind = headers.get("Content-Type", "").lower()
    if kind.startswith(_BINARY):
        return content
    if not reads_json:
        return _text(content, headers)
    try:
        return _json(content)
    except ValueError:
        if is_json(kind):
            raise
    return _text(content, headers)


def _json(content: bytes) -> Any:
    try:
        return json.loads(content)
    except RecursionError:
        raise ValueError from None


def is_json(kind: str) -> bool:
    """Tell whether a content type is JSON."""
    media_type = kind.partition(";")[0].strip()
    return media_type == "application/json" or media_type.endswith("+json")


def _text(content: bytes, headers: CaseInsensitiveDict[str]) -> str | bytes:
    charset = "utf-8"
    if "charset" in headers.get("Content-Type", "").lower():
        charset = get_encoding_from_headers(headers) or charset
    try:
        return content.decode(charset)
    except (UnicodeDecodeError, LookupError):
        return content


def read_body(
    content: bytes, headers: CaseInsensitiveDict[str], status: int, *, reads_json: bool
) -> Any:
    """Decode a body; broken JSON is an error, except where the status is one already."""
    try:
        return decode(content, headers, reads_json=reads_json)
    except ValueError:
        text = content.decode("utf-8", "replace")
    if status >= 400:
        return text
    raise ResponseDecodeError(f"{status}: the body is not the JSON it says: {text}", status, text)


def remote_message(response: Response) -> str:
    """Return the remote's own words about an error, else the reason phrase."""
    body = response.body
    if isinstance(body, dict):
        nested = body.get("error")
        for place in (nested if isinstance(nested, dict) else {}, body):
            for key in ("message", "detail", "title", "error_description", "error"):
                if isinstance(place.get(key), str) and place[key]:
                    return str(place[key])
    elif isinstance(body, str) and body.strip() and not body.lstrip().startswith("<"):
        return body.strip()
    return ""
