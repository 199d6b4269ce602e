"""The signals of the service, so that sender and receiver need not import each other."""

from functools import partial

from blinker import NamedSignal, signal
from flask import current_app

from app.database.session import after_commit

# Sent when a password reset was requested, after commit. The sender is the app; the payload is
# info = {"accessToken": the temporary token, with its `id`, "email": str, "user": the user}.
reset_password_request = signal("resetPasswordRequest")

# Sent when a user set a password with a reset token, in the transaction that stores it. The sender
# is the app; the payload is info = {"user": the user, "verified": whether the reset has verified
# the address}.
password_reset = signal("passwordReset")

# Sent when a user is asked to confirm the address of the account, after commit: at registration, on
# request, and after a new address. The sender is the app; the payload is info = {"accessToken": the
# temporary token, with its `id`, "email": str, "user": the user}.
verification_request = signal("verificationRequest")

# Sent when a user asked for a code to log in, after commit. The sender is the app; the payload is
# info = {"code": str, "ttl": its seconds, "email": str, "user": the user}.
login_code_request = signal("loginCodeRequest")

# Sent when a user asked for a code that proves an address, that of the account or a new one, after
# commit. The sender is the app; the payload is info = {"accessToken": the code as its `id`,
# "email": the address, "user": the user}.
email_code_request = signal("emailCodeRequest")

# Sent when the address of a user became verified, after commit. The sender is the app; the payload
# is info = {"email": str, "user": the user as it now is}.
email_verified = signal("emailVerified")

# Sent when a user asked for another address, which is to be confirmed, after commit. The sender is
# the app; the payload is info = {"accessToken": the temporary token, with its `id`, "email": the
# new address, "user": the user, who still has the old one}.
email_change_request = signal("emailChangeRequest")

# An event of the outbox only, with every emailChangeRequest: the user's current address is
# notified. The payload is info = {"email": str, "user": the user, or None}.
EMAIL_CHANGE_NOTICE = "emailChangeNotice"

# Sent when the email of a user was changed, after commit. The sender is the app; the payload is
# info = {"oldEmail": str, "user": the user as it now is}.
email_changed = signal("emailChanged")

# Sent when a user logged in by an identity provider, after commit. The sender is the app; the
# payload is info = {"identity": the identity, "user": the user}.
identity_login = signal("identityLogin")

# Sent when an identity was added to a user, who may be new, after commit. The sender is the app;
# the payload is that of identityLogin.
identity_linked = signal("identityLinked")

# Sent when an identity was removed from a user, after commit. The sender is the app; the payload is
# info = {"identity": the identity, which is deleted, "user": the user}.
identity_unlinked = signal("identityUnlinked")

# Sent when a login by an identity provider or by mail has taken an account, whose address was never
# verified, from whoever registered it, and removed its password; after commit. The sender is the
# app; the payload is info = {"provider": the provider's label, or None, "email": str, "user": the
# user as it now is}.
account_claimed = signal("accountClaimed")

# Sent when a second factor, or what can stand in for one, was added to a user or removed, after
# commit. The sender is the app; the payload is info = {"change": such as "factor-added", the name
# of the action in the audit log, "email": str, "user": the user}.
credential_changed = signal("credentialChanged")

# Sent with each record of the audit log, stored or not, after commit. The sender is the app; the
# payload is action = the Action, or the name of one of the application's, and details = its
# details, which have no secret.
audited = signal("audited")

# Sent after each attempt of the outbox to deliver an event. The sender is the app; the payload is
# subscriber = the name of the subscriber and outcome = the state of the delivery, or "delayed".
delivery_attempted = signal("deliveryAttempted")

# Sent after each run of a job. The sender is the app; the payload is job = its name and outcome =
# "success" or "failed".
job_ended = signal("jobEnded")


def emit_after_commit(event: NamedSignal, **payload: object) -> None:
    """Send a signal as `emit` does, after the open transaction, if any, has committed."""
    after_commit(partial(emit, event, **payload))


def emit(event: NamedSignal, **payload: object) -> None:
    """Send a signal of the current app to every receiver; log the error of one that raises.

    Only the receiver and the error's type are logged, because its text may contain the payload.
    """
    app = current_app._get_current_object()  # type: ignore[attr-defined]
    for receiver in event.receivers_for(app):
        try:
            receiver(app, **payload)
        except Exception as error:
            name = getattr(receiver, "__qualname__", repr(type(receiver)))
            app.logger.error("%s failed on %s: %s", name, event.name, type(error).__name__)
