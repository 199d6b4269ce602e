"""What counts as a failed call, and the words its error is raised with."""

from __future__ import annotations

from .errors import ConnectorError, HTTPStatusError, ResponseDecodeError, status_error
from .options import Options
from .redact import Redactor
from .request import Request
from .response import Response, remote_message
from .retry import read_retry_after

_SCANNED = 10_000
_SHOWN = 300
_MOVED = frozenset({301, 302, 303, 307, 308})


def status_failure(response: Response, options: Options) -> HTTPStatusError | None:
    """Return the error that a status means, or None for a success."""
    status = response.status_code
    if status < 400 and not (status in _MOVED and options.follows):
        return None
    words = remote_message(response)
    message = f"{status} {response.reason}".strip()
    retry_after = read_retry_after(response.headers.get("Retry-After"))
    make = status_error(status)
    return make(f"{message}: {words}" if words else message, response, retry_after)


def describe_failure(error: ConnectorError, operation: str, request: Request) -> None:
    """Put the operation, the request and the redacted reason into the words of an error."""
    redactor = request.full_redactor()
    words = _shortened(redactor, str(error))
    error.operation = operation
    error.request = str(request)
    error.args = (f"{operation}: {error.request}: {words}",)
    if isinstance(error, ResponseDecodeError):
        error.text = _shortened(redactor, error.text)


def _shortened(redactor: Redactor, text: str) -> str:
    # Masked before it is cut, so that no half of a secret is left at the end.
    return " ".join(redactor.text(text[:_SCANNED]).split())[:_SHOWN]
