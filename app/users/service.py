"""The programmatic API for application code: functions with plain arguments, without a request."""

from .accounts.confirmation import confirm_email, request_email_change, request_verification
from .accounts.lookup import find_user, get_user
from .accounts.passwords import (
    change_password,
    request_password_reset,
    reset_password,
    set_password,
)
from .accounts.registration import create_user
from .accounts.removal import delete_user, disable_user, enable_user
from .sessions.login import issue_token, login, open_session
from .sessions.tokens import IssuedToken, destroy_all_tokens, logout

__all__ = [
    "IssuedToken",
    "change_password",
    "confirm_email",
    "create_user",
    "delete_user",
    "destroy_all_tokens",
    "disable_user",
    "enable_user",
    "find_user",
    "get_user",
    "issue_token",
    "login",
    "logout",
    "open_session",
    "request_email_change",
    "request_password_reset",
    "request_verification",
    "reset_password",
    "set_password",
]
