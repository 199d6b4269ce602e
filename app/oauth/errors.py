"""The errors of logins by providers, each with its reason for the log."""

from collections.abc import Callable

from werkzeug.exceptions import HTTPException

from app.errors import LoginFailed
from app.ids import Id

# Errors of libraries for answers and tokens that they do not expect.
MALFORMED = (
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    ArithmeticError,
    RecursionError,
)


class LoginError(Exception):
    """A login by a provider is refused; says why, for the logs alone and without secrets.

    `answer` makes the error that the client gets, and `user_id` is the id of the user whom the
    login is about, if it is known.
    """

    def __init__(
        self,
        reason: str,
        answer: Callable[[], HTTPException] = LoginFailed,
        user_id: Id | None = None,
    ) -> None:
        super().__init__(reason)
        # Not the error itself, whose context this one will be: both would keep the connection to
        # the provider open until they are collected.
        self.answer = answer
        self.user_id = user_id


class ProviderError(LoginError):
    """The provider, or what it sent, is the reason."""
