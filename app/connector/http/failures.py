"""Errors for responses, and error messages without secrets."""

from collections.abc import Iterable

from app.connector.errors import (
    ConnectorError,
    HTTPStatusError,
    NotFoundError,
    RateLimitedError,
    ResponseDecodeError,
    UnauthorizedError,
)
from app.connector.redaction import Redactor
from app.connector.request.model import Request
from app.connector.response import Response, remote_message
from app.connector.settings.call_options import Options

from .retry import read_retry_after
from .transport import REDIRECTS

#: Maximum characters of a remote's message in an error.
_MAX_MESSAGE_LENGTH = 300
_ERRORS: dict[int, type[HTTPStatusError]] = {
    401: UnauthorizedError,
    403: UnauthorizedError,
    404: NotFoundError,
    429: RateLimitedError,
}


def error_for_status(response: Response, options: Options) -> HTTPStatusError | None:
    """Return the error for the status of a response, None for a success."""
    status = response.status_code
    if status < 400 and not (status in REDIRECTS and options.follow_redirects):
        return None
    remote = remote_message(response)
    message = f"{status} {response.reason}".strip()
    retry_after = read_retry_after(response.headers.get("Retry-After"))
    make = _ERRORS.get(status, HTTPStatusError)
    return make(f"{message}: {remote}" if remote else message, response, retry_after)


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
