"""Every error the connector raises, one tree under ConnectorError.

ConnectorError
├─ ConfigError                 the settings are wrong; every problem by its place in .errors
├─ VariableError               a call gives a variable something it cannot be
│  ├─ MissingVariableError
│  ├─ VariableTypeError
│  └─ UnknownVariableError
├─ NotSupportedError           the remote call has no meaning here
├─ HTTPStatusError             the remote answered with an error status
│  ├─ NotFoundError
│  ├─ UnauthorizedError
│  └─ RateLimitedError
├─ ResponseError               the remote answered something that cannot be used
│  ├─ ResponseDecodeError
│  ├─ ResponsePathError
│  ├─ ResponseTooLargeError
│  └─ PaginationError
└─ TransportError              no usable answer arrived
   ├─ ConnectError
   ├─ CallTimeoutError
   ├─ TLSError
   ├─ TooManyRedirectsError
   └─ BlockedHostError
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, ClassVar, Literal

from .response import Response

ErrorKind = Literal["config", "caller", "remote", "transport"]


class ConnectorError(Exception):
    """The root: catch this to catch everything the connector raises."""

    kind: ClassVar[ErrorKind] = "caller"
    operation: str | None = None
    request: str | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        # Made again without __init__, whose arguments are not those that an exception keeps.
        return _recreate, (type(self), self.args), self.__dict__


def _recreate(kind: type[ConnectorError], args: tuple[Any, ...]) -> ConnectorError:
    return kind.__new__(kind, *args)


class ConfigError(ConnectorError, ValueError):
    """The settings cannot be used; `errors` maps each place to its problems."""

    kind = "config"

    def __init__(self, errors: Mapping[str, list[str]], name: str = "") -> None:
        self.errors = dict(errors)
        lines = [f"{path}: {text}" if path else text for path, text in _pairs(errors)]
        start = f"data source {name!r}: " if name else ""
        super().__init__(start + "; ".join(lines))


def _pairs(errors: Mapping[str, list[str]]) -> list[tuple[str, str]]:
    return [(path, text) for path, texts in errors.items() for text in texts]


class VariableError(ConnectorError, ValueError):
    """A call gives a value that cannot be sent."""


class MissingVariableError(VariableError):
    """A required variable has no value."""


class VariableTypeError(VariableError):
    """A value does not fit the type or the enum of its variable."""


class UnknownVariableError(VariableError, TypeError):
    """A call gives an argument that the function or template does not have."""


class NotSupportedError(ConnectorError):
    """The resource cannot do this in one safe call; write a template operation instead."""


class HTTPStatusError(ConnectorError):
    """The remote answered with an error status."""

    kind = "remote"

    def __init__(self, message: str, response: Response, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.response = response
        self.status_code = response.status_code
        self.headers = response.headers
        self.body = response.body
        self.retry_after = retry_after

    def to_dict(self) -> dict[str, Any]:
        """Give the facts under the names a LoopBack client reads."""
        return {"statusCode": self.status_code, "message": str(self), "body": self.body}


class NotFoundError(HTTPStatusError):
    """The remote answered 404."""


class UnauthorizedError(HTTPStatusError):
    """The remote answered 401 or 403."""


class RateLimitedError(HTTPStatusError):
    """The remote answered 429."""


class ResponseError(ConnectorError):
    """The remote answered something that cannot be used."""

    kind = "remote"


class ResponseDecodeError(ResponseError):
    """A body that calls itself JSON is not; `text` is how it begins."""

    def __init__(self, message: str, status_code: int, text: str) -> None:
        super().__init__(message)
        self.status_code = status_code
        self.text = text


class ResponsePathError(ResponseError):
    """The response path matched nothing or failed on this body."""


class ResponseTooLargeError(ResponseError):
    """The body grew past `maxResponseBytes`; the connection was closed."""


class PaginationError(ResponseError):
    """The remote repeats a page or does not come to an end."""


class TransportError(ConnectorError):
    """No usable answer arrived."""

    kind = "transport"


class ConnectError(TransportError):
    """The connection failed or broke."""


class CallTimeoutError(TransportError, TimeoutError):
    """The connect, read or total time-out passed."""


class TLSError(TransportError):
    """The certificate was not accepted or the handshake failed."""


class TooManyRedirectsError(TransportError):
    """The remote redirects more often than `maxRedirects`."""


class BlockedHostError(TransportError):
    """The call would go to a host or address that the settings do not allow."""


def status_error_class(status_code: int) -> type[HTTPStatusError]:
    """Return the most precise class for an error status."""
    return _BY_STATUS.get(status_code, HTTPStatusError)


_BY_STATUS: dict[int, type[HTTPStatusError]] = {
    401: UnauthorizedError,
    403: UnauthorizedError,
    404: NotFoundError,
    429: RateLimitedError,
}


def translate_errors(
    errors: type[Exception] | tuple[type[Exception], ...], make: Callable[[Any], Exception]
) -> _Translation:
    """Return a context manager that raises what `make` returns instead of certain errors.

    A ConnectorError passes as it is.

    The error of a library often holds the value it failed on, which may be a secret. Python
    keeps it as `__context__` of an error raised in its except block, `raise … from None` only
    hides it, and tools that report errors print it. The new error has no context.
    """
    return _Translation(errors, make)


class _Translation:
    def __init__(
        self,
        errors: type[Exception] | tuple[type[Exception], ...],
        make: Callable[[Any], Exception],
    ) -> None:
        self._errors = errors
        self._make = make

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        _type: type[BaseException] | None,
        error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        if not isinstance(error, self._errors) or isinstance(error, ConnectorError):
            return
        translated = self._make(error)
        # The traceback of the new error shows this frame, so it must not refer to the old one.
        del error, _traceback
        try:
            raise translated
        finally:
            translated.__context__ = None
