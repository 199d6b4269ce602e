"""The programmatic API for application code: functions with plain arguments, without a request."""

from .accounts import (
    change_password,
    create_user,
    delete_user,
    disable_user,
    enable_user,
    find_user,
    set_password,
)
from .confirmation import confirm_email
from .email_change import request_email_change
from .login import login, open_session
from .password_reset import request_password_reset, reset_password
from .tokens import IssuedToken, destroy_all_tokens, logout
from .verification import request_verification

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
    "login",
    "logout",
    "open_session",
    "request_email_change",
    "request_password_reset",
    "request_verification",
    "reset_password",
    "set_password",
]
