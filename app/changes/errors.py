"""Errors of change streams."""

from typing import Any

from werkzeug.exceptions import BadRequest, ServiceUnavailable, TooManyRequests

from app.errors import RETRY_AFTER


class InvalidChangeStream(BadRequest):
    """The parameters of a call for changes are invalid."""

    error_code = "INVALID_CHANGE_STREAM"

    def __init__(self, problem: str) -> None:
        super().__init__(problem)


class TooManyStreams(TooManyRequests):
    """The user, or the address, has as many change streams as are allowed."""

    error_code = "TOO_MANY_STREAMS"
    description = "There are too many change streams of this user or address. Close one first."

    def get_headers(self, *arguments: Any) -> list[tuple[str, str]]:
        """Return the headers of the response."""
        return [*super().get_headers(*arguments), ("Retry-After", str(RETRY_AFTER))]


class NoMoreStreams(ServiceUnavailable):
    """The process has as many change streams as it can hold."""

    error_code = "NO_MORE_STREAMS"
    description = "There are too many change streams. Try again later."

    def get_headers(self, *arguments: Any) -> list[tuple[str, str]]:
        """Return the headers of the response."""
        return [*super().get_headers(*arguments), ("Retry-After", str(RETRY_AFTER))]
