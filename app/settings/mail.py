"""Settings of mail and of the outbox, which delivers it."""

from email.utils import parseaddr
from typing import Any
from urllib.parse import unquote, urlsplit

from marshmallow import Schema, ValidationError, fields, pre_load, validate

from .fields import is_address, setting

# The default sender of mails, which cannot be answered.
NO_REPLY = "no-reply@localhost"
# The valid queries of MAIL_URL, and whether they require STARTTLS.
STARTTLS = {"": False, "starttls=0": False, "starttls=1": True, "starttls=true": True}


def _check_mail_url(value: str) -> None:
    if not is_address(value, "smtp", "smtps") or urlsplit(value).path not in ("", "/"):
        raise ValidationError(
            "must look like smtp://user:password@host:587?starttls=1; special characters of user"
            " and password are percent-encoded, as %40 for @"
        )
    parts = urlsplit(value)
    try:
        unquote(parts.netloc, errors="strict").encode()
    except UnicodeError:
        raise ValidationError("must have its user and password in UTF-8") from None
    # Any other query could be meant to require it.
    if parts.query not in STARTTLS or parts.fragment:
        raise ValidationError("may have ?starttls=1 behind the host, and nothing else")
    if STARTTLS[parts.query] and parts.scheme == "smtps":
        raise ValidationError("must not have starttls=1 with smtps://, which is TLS already")


def _check_sender(value: str) -> None:
    if not value.isprintable() or "@" not in parseaddr(value)[1]:
        raise ValidationError("must look like Ostiary <no-reply@example.com>")


def _mail(what: str) -> fields.Boolean:
    """Return the setting that switches off a mail about an event."""
    return setting(
        fields.Boolean,
        True,
        f"`false`: the service does not mail {what}. The application may, by its event:"
        " [mail.md](mail.md#mails-of-the-application).",
    )


class MailSettings(Schema):
    """The mail server, which mails are sent, and the outbox."""

    MAIL_URL = setting(
        fields.String,
        None,
        "The mail server: `smtp://user:password@host:587?starttls=1` or `smtps://...`. Special"
        " characters of user and password are percent-encoded in UTF-8: `%40` for `@`. Without it,"
        " mails are files in `MAIL_FOLDER`.",
        validate=_check_mail_url,
    )
    MAIL_FOLDER = setting(
        fields.String,
        "mail",
        "The folder to which mails are written; a relative path is in the project folder.",
    )
    MAIL_FROM = setting(
        fields.String,
        f"Ostiary <{NO_REPLY}>",
        "Sender of all mails. An address alone, and the default, has `SERVICE_NAME` as its name.",
        validate=_check_sender,
    )
    RESET_MAIL = _mail("the link by which a user sets a new password")
    VERIFICATION_MAIL = _mail("the link that confirms an address")
    EMAIL_CODE_MAIL = _mail("the code by which a user proves an address")
    LOGIN_CODE_MAIL = _mail("the code by which a user logs in")
    EMAIL_CHANGE_MAIL = _mail("the link that confirms a new address")
    EMAIL_CHANGE_NOTICE_MAIL = _mail("to the present address that a new one was asked for")
    EMAIL_CHANGED_MAIL = _mail("to the old address that it was replaced")
    CREDENTIAL_CHANGED_MAIL = _mail(
        "that the password, a second factor, a passkey or the recovery codes were changed"
    )
    ACCOUNT_CLAIMED_MAIL = _mail(
        "to a user that a login by an identity provider has removed the password"
    )
    OUTBOX_IN_PROCESS = setting(
        fields.Boolean,
        True,
        "`false`: the service's processes send no mail and no webhooks; `ostiary outbox run` must"
        " run beside them, and sends both.",
    )
    OUTBOX_POLL_INTERVAL = setting(
        fields.Float,
        10.0,
        "Seconds between two checks of a process for mail that others have not sent, and for jobs"
        " that are to run now. Its own mail does not wait for the next check.",
        validate=validate.Range(min=0.1),
    )
    OUTBOX_DAYS = setting(
        fields.Integer,
        7,
        "Days for which the outbox keeps finished deliveries.",
        validate=validate.Range(min=0, max=36500),
    )

    @pre_load
    def _name_sender(self, given: dict[str, object], **_options: object) -> dict[str, Any]:
        return {"MAIL_FROM": NO_REPLY, **given} if "SERVICE_NAME" in given else given
