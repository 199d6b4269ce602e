"""The signals of the service, so that sender and receiver need not import each other."""

from typing import Any

from blinker import NamedSignal, signal
from flask import current_app

# Sent when a password reset was requested, after commit. The sender is the app; the payload is
# info = {"accessToken": the temporary token, with its `id`, "email": str, "user": the user}.
reset_password_request = signal("resetPasswordRequest")

# Sent when the email of a user was changed, after commit. The sender is the app; the payload is
# info = {"oldEmail": str, "user": the user as it now is}.
email_changed = signal("emailChanged")


def emit(event: NamedSignal, **payload: Any) -> None:
    """Send a signal of the current app to every receiver; log the error of one that raises.

    Only the receiver and the type of the error are logged: its text may contain the payload.
    """
    app = current_app._get_current_object()  # type: ignore[attr-defined]
    for receiver in event.receivers_for(app):
        try:
            receiver(app, **payload)
        except Exception as error:
            name = getattr(receiver, "__qualname__", repr(type(receiver)))
            app.logger.error("%s failed on %s: %s", name, event.name, type(error).__name__)
