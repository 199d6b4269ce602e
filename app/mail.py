"""Mails what users must know: listens to events, renders and delivers outside requests."""

import atexit
import heapq
import smtplib
import ssl
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import formatdate, make_msgid
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, parse_qs, unquote, urlencode, urlsplit

from email_validator import EmailNotValidError, validate_email
from flask import Flask, render_template

from app.config import ConfigurationError
from app.signals import email_changed, reset_password_request

# Seconds: for one conversation with the server, between tries (doubling), and at shutdown.
SERVER_TIMEOUT = 10.0
FIRST_PAUSE = 1.0
# Seconds that every message waits, so that no work for it slows down the answer to the request
# that caused it: the time of an answer must not tell who gets a mail.
HEAD_START = 0.1
LONGEST_PAUSE = 60.0
DRAIN_TIMEOUT = 15.0
# Mails that wait at most; a server that is down for long must not fill the memory.
LONGEST_QUEUE = 1000

# Seconds for which a notice that asks for nothing is worth delivering.
NOTICE_LIFETIME = 86400.0

Deliver = Callable[[EmailMessage], None]
Compose = Callable[[], EmailMessage]


@dataclass(order=True)
class Letter:
    """A message that waits: until when, for how long it is of use, how long if it fails again."""

    due: float
    number: int
    deadline: float = field(compare=False)
    pause: float = field(compare=False)
    compose: Compose = field(compare=False)


class Outbox:
    """Delivers messages on one background thread, trying again until each one's deadline."""

    def __init__(self, app: Flask, deliver: Deliver) -> None:
        self._log = app.logger
        self._deliver = deliver
        self._waiting: list[Letter] = []
        self._order = count()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._closing = False

    def put(self, compose: Compose, lifetime: float) -> None:
        """Queue a message that is worth delivering for `lifetime` seconds; returns at once."""
        start = time.monotonic()
        due, number = start + HEAD_START, next(self._order)
        letter = Letter(due, number, start + lifetime, FIRST_PAUSE, compose)
        with self._changed:
            if len(self._waiting) >= LONGEST_QUEUE:
                self._log.error("mail dropped: %d are waiting already", LONGEST_QUEUE)
                return
            self._push(letter)
            self._start()

    def close(self) -> None:
        """Try what is waiting once more, for at most DRAIN_TIMEOUT seconds."""
        with self._changed:
            self._closing = True
            self._changed.notify()
            thread = self._thread
        if thread is not None:
            thread.join(DRAIN_TIMEOUT)
        if self._waiting:
            self._log.error("mail lost at shutdown: %d undelivered", len(self._waiting))

    def _push(self, letter: Letter) -> None:
        heapq.heappush(self._waiting, letter)
        self._changed.notify()

    def _start(self) -> None:
        """Start the thread with the first message: after the server's fork, and only if needed."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="outbox", daemon=True)
            self._thread.start()
            atexit.register(self.close)

    def _run(self) -> None:
        while (letter := self._next()) is not None:
            if letter.deadline <= time.monotonic():
                self._log.error("mail given up: it waited for longer than it is of use")
            elif (error := self._attempt(letter.compose)) is not None:
                self._put_back(letter, error)

    def _next(self) -> Letter | None:
        """Wait for the next message that is due; None when closing and nothing is left."""
        with self._changed:
            while True:
                if self._closing:
                    return heapq.heappop(self._waiting) if self._waiting else None
                pause = self._waiting[0].due - time.monotonic() if self._waiting else None
                if pause is not None and pause <= 0:
                    return heapq.heappop(self._waiting)
                self._changed.wait(pause)

    def _attempt(self, compose: Compose) -> Exception | None:
        try:
            self._deliver(compose())
        except Exception as error:
            return error
        return None

    def _put_back(self, letter: Letter, error: Exception) -> None:
        """Let a message wait for its next try, unless there can be none."""
        due = time.monotonic() + letter.pause
        # The error's text may quote the message, and with it the token.
        what = f"{type(error).__name__} {getattr(error, 'smtp_code', '')}".strip()
        if _is_permanent(error) or self._closing or due >= letter.deadline:
            self._log.error("mail given up: %s", what)
            return
        self._log.warning("mail delayed by %.0f s: %s", letter.pause, what)
        with self._changed:
            self._push(replace(letter, due=due, pause=min(letter.pause * 2, LONGEST_PAUSE)))


def init_app(app: Flask) -> None:
    """Listen for what this app mails; raise ConfigurationError for an unusable folder."""
    url = app.config["MAIL_URL"]
    deliver = _smtp_delivery(urlsplit(url)) if url else _file_delivery(app)
    app.extensions["outbox"] = Outbox(app, deliver)
    reset_password_request.connect(send_reset_link, sender=app)
    email_changed.connect(send_email_changed, sender=app)


def send_reset_link(app: Flask, info: dict[str, Any]) -> None:
    """Queue the mail with the link; it is worth sending for as long as its token lives."""
    token = info["accessToken"]
    query = urlencode({"access_token": token.id})
    context = {
        "link": f"{app.config['PUBLIC_URL']}/reset-password?{query}",
        "minutes": max(1, round(token.ttl / 60)),
    }
    _queue(app, "reset_password", info["email"], context, token.ttl)


def send_email_changed(app: Flask, info: dict[str, Any]) -> None:
    """Queue the mail that tells an old address that it is one no more."""
    _queue(app, "email_changed", info["oldEmail"], {}, NOTICE_LIFETIME)


def _queue(app: Flask, kind: str, address: str, context: dict[str, Any], lifetime: float) -> None:
    """Queue a message of one kind; it is rendered when it is delivered, outside the request."""

    def compose() -> EmailMessage:
        with app.app_context():
            return _compose(app, kind, address, context)

    app.extensions["outbox"].put(compose, lifetime)


def _compose(app: Flask, kind: str, address: str, context: dict[str, Any]) -> EmailMessage:
    """Render the templates of a kind of mail."""
    message = EmailMessage(policy=SMTP)
    message["From"] = app.config["MAIL_FROM"]
    message["To"] = _with_ascii_domain(address)
    message["Subject"] = render_template(f"mail/{kind}/subject.txt").strip()
    message["Date"] = formatdate()
    message["Message-ID"] = make_msgid(domain=urlsplit(app.config["PUBLIC_URL"]).hostname)
    # Unwrapped, so that a link stays in one piece for every reader.
    message.set_content(render_template(f"mail/{kind}/body.txt", **context), cte="8bit")
    message.add_alternative(
        render_template(f"mail/{kind}/body.html", **context), subtype="html", cte="8bit"
    )
    return message


def _with_ascii_domain(address: str) -> str:
    """Return an address with its domain as DNS has it (RFC 5891), which every server takes."""
    found = validate_email(address, check_deliverability=False, globally_deliverable=False)
    return f"{found.local_part}@{found.ascii_domain}"


def _is_permanent(error: Exception) -> bool:
    """Tell a refusal that asks not to be repeated (RFC 5321 4.2.1) from a passing one."""
    # Raised for an address beyond ASCII by a server without SMTPUTF8 (RFC 6531).
    if isinstance(error, smtplib.SMTPNotSupportedError | EmailNotValidError):
        return True
    if isinstance(error, smtplib.SMTPRecipientsRefused):
        return all(code >= 500 for code, _ in error.recipients.values())
    refusals = (smtplib.SMTPSenderRefused, smtplib.SMTPDataError)
    return isinstance(error, refusals) and error.smtp_code >= 500


def _smtp_delivery(server: SplitResult) -> Deliver:
    """Return how to deliver to `smtp://` (plain or with `?starttls=1`) or `smtps://`."""
    host, port = server.hostname or "", server.port or 0
    starttls = parse_qs(server.query).get("starttls") in (["1"], ["true"])
    # The server must show a certificate for its name, or it gets neither login nor mail.
    context = ssl.create_default_context()

    def connect() -> smtplib.SMTP:
        if server.scheme == "smtps":
            return smtplib.SMTP_SSL(host, port, timeout=SERVER_TIMEOUT, context=context)
        return smtplib.SMTP(host, port, timeout=SERVER_TIMEOUT)

    def deliver(message: EmailMessage) -> None:
        with connect() as smtp:
            if starttls:
                smtp.starttls(context=context)
            if server.username:
                smtp.login(unquote(server.username), unquote(server.password or ""))
            smtp.send_message(message)

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

    def deliver(message: EmailMessage) -> None:
        path = folder / f"{time.time_ns()}.eml"
        path.touch(mode=0o600, exist_ok=False)
        path.write_bytes(bytes(message))
        app.logger.info("mail written to %s", path)

    return deliver
