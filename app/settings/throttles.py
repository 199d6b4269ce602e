"""Settings of throttles: how often something may be tried."""

from functools import partial

from marshmallow import Schema, fields

from .fields import lifetime, setting


def _rate(limit: int, seconds: int, text: str, **figures: int) -> fields.Nested:
    """Return a throttle's setting: `limit` uses within `seconds`, and further figures."""
    numbers = {"limit": limit, "seconds": seconds, **figures}
    schema = Schema.from_dict(
        {
            name: fields.Integer(strict=True, load_default=number, validate=lifetime)
            for name, number in numbers.items()
        }
    )
    return setting(partial(fields.Nested, schema), numbers.copy, text)


class ThrottlesSchema(Schema):
    """Entries of THROTTLES; the defaults are django-allauth's, except for the locks."""

    login_identity = _rate(
        5,
        300,
        "Failed logins with one email or username.",
        lock=60,
        max_lock=900,
    )
    login_address = _rate(10, 60, "Failed logins of one client.")
    password_check = _rate(
        5,
        300,
        "Wrong passwords of one user who is logged in: to change the password or the email.",
        lock=60,
        max_lock=900,
    )
    factor_check = _rate(
        5,
        300,
        "Wrong second factors of one user.",
        lock=60,
        max_lock=900,
    )
    credential = _rate(
        100,
        3600,
        "Credentials that are added to one account: personal tokens, authenticator apps, passkeys,"
        " sets of recovery codes, and other emails unless an admin sets them.",
    )
    registration = _rate(20, 60, "Users that one client registers; each of an array counts.")
    # These two windows end no later than the links mailed within them, which live RESET_TOKEN_TTL:
    # other people's requests leave the owner a valid link.
    reset_email = _rate(
        5,
        900,
        "Requests for a password reset for one email by one client. More are answered alike, and"
        " nothing is sent.",
    )
    reset_recipient = _rate(
        10,
        900,
        "The same by all clients together, for one user whose address is verified, or for one"
        " mailbox.",
    )
    reset_address = _rate(20, 60, "Requests for a password reset by one client.")
    reset_confirmation = _rate(20, 60, "New passwords by a reset token that one client sends.")
    verification_user = _rate(
        5,
        3600,
        "Verification mails for one user; apart from these, requests to change the address, and"
        " codes that prove one.",
    )
    verification_address = _rate(20, 60, "Verification mails that one client requests.")
    mail_recipient = _rate(
        10,
        3600,
        "Mails of one kind to one mailbox that requests cause, other than for a password reset, and"
        " notices to an address that is not verified. More are not sent.",
    )
    notice_user = _rate(
        10,
        3600,
        "Notices with the same text to one user whose address is verified. One more is sent later,"
        " in place of all that are too many.",
    )
    provider_login = _rate(20, 60, "Logins by an identity provider that one client begins.")
    passkey_login = _rate(20, 60, "Logins by a passkey that one client begins.")
    mail_login_email = _rate(
        5,
        900,
        "Codes to log in that one client requests for one email. More requests are answered alike,"
        " and nothing is sent.",
    )
    mail_login_recipient = _rate(
        10,
        900,
        "The same by all clients together, for one user whose address is verified, or for one"
        " mailbox; five codes may be tried of each.",
    )
    mail_login_address = _rate(20, 60, "Codes to log in that one client requests.")
