"""Users: creating, finding and changing them, their roles, passwords and access tokens."""

from app.access.roles import grant as grant_role
from app.access.roles import revoke as revoke_role
from app.access.roles import role_names
from app.rest.hashing import computes_hash
from app.users.models import User
from app.users.resource import users
from app.users.service import (
    IssuedToken,
    change_password,
    confirm_email,
    create_user,
    delete_user,
    destroy_all_tokens,
    disable_user,
    enable_user,
    find_user,
    get_user,
    issue_token,
    login,
    logout,
    request_email_change,
    request_password_reset,
    request_verification,
    reset_password,
    set_password,
)

__all__ = [
    "IssuedToken",
    "User",
    "change_password",
    "computes_hash",
    "confirm_email",
    "create_user",
    "delete_user",
    "destroy_all_tokens",
    "disable_user",
    "enable_user",
    "find_user",
    "get_user",
    "grant_role",
    "issue_token",
    "login",
    "logout",
    "request_email_change",
    "request_password_reset",
    "request_verification",
    "reset_password",
    "revoke_role",
    "role_names",
    "set_password",
    "users",
]
