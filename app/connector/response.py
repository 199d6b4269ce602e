"""The response of a call, received and decoded, and the message of an error response."""

from dataclasses import dataclass
from operator import attrgetter

from requests.structures import CaseInsensitiveDict

from .types import JsonObject, JsonValue

_MESSAGE_KEYS = ("message", "detail", "title", "error_description", "error")


def alias(name: str) -> property:
    """Return a property that makes an attribute available by its name in LoopBack 3."""

    def set_(owner: object, value: object) -> None:
        setattr(owner, name, value)

    return property(attrgetter(name), set_)


@dataclass(frozen=True, slots=True)
class RawResponse:
    """A response as it was received, its body not decoded."""

    status_code: int
    headers: CaseInsensitiveDict[str]
    content: bytes
    reason: str


@dataclass(frozen=True, slots=True, repr=False)
class Response:
    """The response of a call: status, headers (case-insensitive) and decoded body.

    >>> response = source.report()  # of a template with `"fullResponse": true`
    >>> response.status_code, response.headers["content-type"], response.body
    (200, 'application/json', {'total': 3})
    """

    status_code: int
    headers: CaseInsensitiveDict[str]
    body: JsonValue
    reason: str = ""

    statusCode = alias("status_code")  # noqa: N815

    def __repr__(self) -> str:
        return f"<Response {self.status_code} {self.headers.get('Content-Type', '')}>"


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
