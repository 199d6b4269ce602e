"""Delivers messages to an SMTP server or into files."""

import smtplib
import ssl
import time
from collections.abc import Callable
from contextlib import closing, suppress
from email.message import EmailMessage
from pathlib import Path
from urllib.parse import SplitResult, parse_qs, unquote, urlsplit

from flask import Flask

from app.config import ConfigurationError

# Seconds for one conversation with the server.
SERVER_TIMEOUT = 10.0

# Delivers a message, and says how in a few words for the log.
Deliver = Callable[[EmailMessage], str]


def make_delivery(app: Flask) -> Deliver:
    """Return how this app delivers; raise ConfigurationError for an unusable folder."""
    url = app.config["MAIL_URL"]
    return _smtp_delivery(urlsplit(url)) if url else _file_delivery(app)


def is_permanent(error: Exception) -> bool:
    """Tell a refusal that asks not to be repeated (RFC 5321 4.2.1) from a passing one."""
    # Raised for an address beyond ASCII by a server without SMTPUTF8 (RFC 6531).
    if isinstance(error, smtplib.SMTPNotSupportedError):
        return True
    if isinstance(error, smtplib.SMTPRecipientsRefused):
        return all(code >= 500 for code, _ in error.recipients.values())
    refusals = (smtplib.SMTPSenderRefused, smtplib.SMTPDataError)
    return isinstance(error, refusals) and error.smtp_code >= 500


def _smtp_delivery(server: SplitResult) -> Deliver:
    """Return how to deliver to `smtp://` (plain or with `?starttls=1`) or `smtps://`."""
    host, port = server.hostname or "", server.port or 0
    starttls = parse_qs(server.query).get("starttls") in (["1"], ["true"])
    # Without the user and the password.
    address = server.netloc.rpartition("@")[2]
    # The server must show a certificate for its name, or it gets neither login nor mail.
    context = ssl.create_default_context()

    def connect() -> smtplib.SMTP:
        if server.scheme == "smtps":
            return smtplib.SMTP_SSL(host, port, timeout=SERVER_TIMEOUT, context=context)
        return smtplib.SMTP(host, port, timeout=SERVER_TIMEOUT)

    def deliver(message: EmailMessage) -> str:
        with closing(connect()) as smtp:
            if starttls:
                smtp.starttls(context=context)
            if server.username:
                smtp.login(unquote(server.username), unquote(server.password or ""))
            smtp.send_message(message)
            # The server has taken the message: it must not be sent again, whatever happens now.
            with suppress(OSError):
                smtp.quit()
        return f"sent by SMTP server {address}"

    return deliver


def _file_delivery(app: Flask) -> Deliver:
    """Return how to write a message to MAIL_FOLDER, readable by the service's user alone."""
    folder = Path(app.instance_path, app.config["MAIL_FOLDER"])
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        probe = folder / ".writable"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise ConfigurationError(
            f"the mail folder {folder} cannot be written: {error.strerror}"
        ) from None

    def deliver(message: EmailMessage) -> str:
        path = folder / f"{time.time_ns()}.eml"
        path.touch(mode=0o600, exist_ok=False)
        try:
            path.write_bytes(bytes(message))
        except OSError:
            # Most likely the disk is full; the mail will be another file.
            path.unlink()
            raise
        return f"written to {path}"

    return deliver
