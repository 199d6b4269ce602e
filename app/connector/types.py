"""Types that the modules of the connector share: JSON, settings, values and responses."""

from collections.abc import Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, TypeAlias

from requests.structures import CaseInsensitiveDict

# JSON as Python reads it; the body of a response may be text or bytes instead.
JsonValue: TypeAlias = Any
JsonObject: TypeAlias = dict[str, JsonValue]
# Settings that were checked by a schema.
Settings: TypeAlias = Mapping[str, Any]
# The values of variables, entries of a query, fields of an object: anything that can be sent.
Values: TypeAlias = Mapping[str, object]


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
