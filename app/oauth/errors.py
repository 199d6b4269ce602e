"""Errors of logins by providers, each with a reason for the log."""

from collections.abc import Callable

from werkzeug.exceptions import HTTPException

from app.errors import LoginFailed
from app.ids import Id

# Errors of libraries for unexpected responses and tokens.
MALFORMED = (
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    ArithmeticError,
    RecursionError,
)


class LoginError(Exception):
    """A refused login by a provider; the reason is only logged, and contains no secrets.

    `answer` makes the client's error, and `user_id` is the user concerned, if known.
    """

    def __init__(
        self,
        reason: str,
        answer: Callable[[], HTTPException] = LoginFailed,
        user_id: Id | None = None,
    ) -> None:
        super().__init__(reason)
        # The original error is not kept, because this one becomes its context: both would keep the
        # connection to the provider open until they are collected.
        self.answer = answer
        self.user_id = user_id


class ProviderError(LoginError):
    """A failure caused by the provider, or by its response."""
