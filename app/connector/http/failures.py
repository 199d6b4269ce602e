"""What counts as a failed call, and the words its error is raised with."""

from __future__ import annotations

from collections.abc import Iterable

from app.connector.errors import (
    ConnectorError,
    HTTPStatusError,
    ResponseDecodeError,
    status_error_class,
)
from app.connector.redaction import Redactor
from app.connector.request.model import Request
from app.connector.response import Response, remote_message
from app.connector.settings.call_options import Options

from .retry import read_retry_after

# Characters of the remote's words that an error shows.
_MAX_MESSAGE_LENGTH = 300
_REDIRECTS = frozenset({301, 302, 303, 307, 308})


def error_for_status(response: Response, options: Options) -> HTTPStatusError | None:
    """Return the error that a status means, or None for a success."""
    status = response.status_code
    if status < 400 and not (status in _REDIRECTS and options.follow_redirects):
        return None
    words = remote_message(response)
    message = f"{status} {response.reason}".strip()
    retry_after = read_retry_after(response.headers.get("Retry-After"))
    make = status_error_class(status)
    return make(f"{message}: {words}" if words else message, response, retry_after)


def describe_error(
    error: ConnectorError, operation: str, request: Request, secrets: Iterable[str]
) -> None:
    """Put the operation, the request and the redacted reason into the words of an error.

    `secrets` are those of the request as it was sent, with its credentials.
    """
    redactor = request.full_redactor().with_secrets(secrets)
    error.operation = operation
    error.request = request.describe(redactor)
    error.args = (f"{operation}: {error.request}: {_prefix(redactor, str(error))}",)
    if isinstance(error, ResponseDecodeError):
        error.text = _prefix(redactor, error.text)


def _prefix(redactor: Redactor, text: str) -> str:
    return " ".join(redactor.prefix(text.lstrip(), _MAX_MESSAGE_LENGTH).split())
