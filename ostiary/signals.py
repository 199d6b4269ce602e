"""Signals: what the service tells receivers, by blinker."""

from app.signals import (
    account_claimed,
    audited,
    delivery_attempted,
    email_change_request,
    email_changed,
    email_verified,
    emit,
    emit_after_commit,
    identity_linked,
    identity_login,
    identity_unlinked,
    password_reset,
    reset_password_request,
    verification_request,
)

__all__ = [
    "account_claimed",
    "audited",
    "delivery_attempted",
    "email_change_request",
    "email_changed",
    "email_verified",
    "emit",
    "emit_after_commit",
    "identity_linked",
    "identity_login",
    "identity_unlinked",
    "password_reset",
    "reset_password_request",
    "verification_request",
]
