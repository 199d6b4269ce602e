"""The context of a call, passed to hooks."""

from collections.abc import Callable
from dataclasses import dataclass, field

from app.connector.errors import ConnectorError
from app.connector.request.model import Request
from app.connector.response import Response, alias
from app.connector.settings.call_options import Options
from app.connector.types import JsonValue


@dataclass(repr=False)
class Call:
    """A call: hooks may change its request before it is sent, and its result afterwards.

    >>> def add_tenant(source, ctx: Call):
    ...     ctx.request.headers["x-tenant"] = "t1"
    >>> source.before_execute.connect(add_tenant)

    `select` turns the response into the result; `sent` lists the requests with credentials that
    were sent, one for each attempt; `elapsed` is in seconds.
    """

    operation: str
    request: Request
    options: Options
    select: Callable[[Response], JsonValue]
    response: Response | None = None
    result: JsonValue = None
    error: ConnectorError | None = None
    attempt: int = 0
    elapsed: float = 0.0
    is_ended: bool = False
    sent: list[Request] = field(default_factory=list)

    req = alias("request")
    res = alias("response")

    def end(self, result: JsonValue) -> None:
        """Use this as the result: nothing is sent after that, and no error is raised."""
        self.result = result
        self.error = None
        self.is_ended = True

    def __repr__(self) -> str:
        return f"<Call {self.operation}: {self.request}>"
