"""The errors that the connector raises, and the warnings of settings."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from app.problems import Problems

from .types import JsonObject, Response

ErrorKind = Literal["config", "caller", "remote", "transport"]


class ConnectorError(Exception):
    """The base class of everything that the connector raises."""

    kind: ClassVar[ErrorKind] = "caller"
    operation: str | None = None
    request: str | None = None

    def __reduce__(self) -> tuple[object, ...]:
        # Unpickled without __init__, whose parameters are not `args`.
        return _recreate, (type(self), self.args), self.__dict__


def _recreate(kind: type[ConnectorError], args: tuple[object, ...]) -> ConnectorError:
    return kind.__new__(kind, *args)


class ConfigError(ConnectorError, ValueError):
    """Invalid settings; `errors` maps paths in them to lists of messages."""

    kind = "config"

    def __init__(self, errors: Mapping[str, list[str]], name: str = "") -> None:
        self.errors = dict(errors)
        found = [(path, text) for path, texts in errors.items() for text in texts]
        lines = [f"{path}: {text}" if path else text for path, text in found]
        start = f"data source {name!r}: " if name else ""
        super().__init__(start + "; ".join(lines))


@dataclass(frozen=True, slots=True)
class ConfigWarning:
    """A warning about valid but probably unintended settings: their path and likely meaning."""

    path: str
    meaning: str

    def __str__(self) -> str:
        return f"{self.path}: {self.meaning}"


def raise_problems(problems: Problems, name: str = "", mask: Callable[[str], str] = str) -> None:
    """Raise one ConfigError with all problems, masked, if there are any."""
    errors: dict[str, list[str]] = {}
    for path, message in problems.errors:
        errors.setdefault(path, []).append(mask(message))
    if errors:
        raise ConfigError(errors, name)


class VariableError(ConnectorError, ValueError):
    """An argument of a call is invalid."""


class MissingVariableError(VariableError):
    """A required variable has no value."""


class VariableTypeError(VariableError):
    """A value does not have the type of its variable, or is not in its `enum`."""


class UnknownVariableError(VariableError, TypeError):
    """The function or template has no variable of this name."""


class NotSupportedError(ConnectorError):
    """There is no conventional request for this method; a template operation can replace it."""


class HTTPStatusError(ConnectorError):
    """The response has an error status."""

    kind = "remote"

    def __init__(self, message: str, response: Response, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.response = response
        self.status_code = response.status_code
        self.headers = response.headers
        self.body = response.body
        self.retry_after = retry_after

    def to_dict(self) -> JsonObject:
        """Return the error with the property names that LoopBack 3 clients read."""
        return {"statusCode": self.status_code, "message": str(self), "body": self.body}


class NotFoundError(HTTPStatusError):
    """The response has the status 404."""


class UnauthorizedError(HTTPStatusError):
    """The response has the status 401 or 403."""


class RateLimitedError(HTTPStatusError):
    """The response has the status 429."""


class ResponseError(ConnectorError):
    """The response is invalid."""

    kind = "remote"


class ResponseDecodeError(ResponseError):
    """The body does not match its headers; `text` is its beginning."""

    def __init__(self, message: str, status_code: int, text: str) -> None:
        super().__init__(message)
        self.status_code = status_code
        self.text = text


class ResponsePathError(ResponseError):
    """The response path matched nothing or failed on this body."""


class ResponseTooLargeError(ResponseError):
    """The body is larger than `maxResponseBytes`; the connection was closed."""


class PaginationError(ResponseError):
    """A page was requested twice, or there are more than `maxPages`."""


class TransportError(ConnectorError):
    """No complete response was received."""

    kind = "transport"


class ConnectError(TransportError):
    """The connection could not be made or was closed early."""


class CallTimeoutError(TransportError, TimeoutError):
    """The connect, read or total time-out was exceeded."""


class TLSError(TransportError):
    """The certificate was rejected or the handshake failed."""


class TooManyCallsError(TransportError):
    """The call found no free place among `pool.maxConcurrent` before its time-out."""


class TooManyRedirectsError(TransportError):
    """There are more redirects than `maxRedirects`."""


class BlockedHostError(TransportError):
    """The settings do not allow calls to this host or address."""


@dataclass(slots=True)
class translate_errors:  # noqa: N801 - a context manager, named like those of contextlib
    """A context manager that raises the error `make` returns in place of certain errors.

    A ConnectorError is raised unchanged.

    Errors of libraries often contain the value that they failed on, which may be a secret. Python
    keeps such an error as `__context__` of one raised in its except block; `raise … from None` only
    hides it, and tools that report errors print it. The new error has no context. If it needs
    nothing of the old one, it is raised after a block `with suppress(...)` instead, which must not
    call what raises a ConnectorError: some of those are ValueErrors, too.
    """

    errors: type[Exception] | tuple[type[Exception], ...]
    make: Callable[[Exception], Exception]

    def __enter__(self) -> None:
        pass

    def __exit__(self, _type: object, error: BaseException | None, _traceback: object) -> None:
        if not isinstance(error, self.errors) or isinstance(error, ConnectorError):
            return
        translated = self.make(error)
        # The traceback of the new error contains this frame, so it must not refer to the old one.
        del error, _traceback
        try:
            raise translated
        finally:
            translated.__context__ = None
