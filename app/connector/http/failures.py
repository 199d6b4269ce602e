"""What counts as a failed call, and the words its error is raised with."""

from __future__ import annotations

from collections.abc import Iterable

from app.connector.errors import ConnectorError, HTTPStatusError, ResponseDecodeError, status_error
from app.connector.redaction import Redactor
from app.connector.request.model import Request
from app.connector.response import Response, remote_message
from app.connector.settings.options import Options
from app.connector.settings.retry import read_retry_after

# Characters of the remote's words that an error shows.
_WORDS = 300
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


def describe_failure(
    error: ConnectorError, operation: str, request: Request, secrets: Iterable[str]
) -> None:
    """Put the operation, the request and the redacted reason into the words of an error.

    `secrets` are those of the request as it was sent, with its credentials.
    """
    redactor = request.full_redactor().plus(secrets)
    error.operation = operation
    error.request = request.shown(redactor)
    error.args = (f"{operation}: {error.request}: {_beginning(redactor, str(error))}",)
    if isinstance(error, ResponseDecodeError):
        error.text = _beginning(redactor, error.text)


def _beginning(redactor: Redactor, text: str) -> str:
    return " ".join(redactor.beginning(text.lstrip(), _WORDS).split())
