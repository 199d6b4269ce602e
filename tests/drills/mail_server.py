"""An SMTP server that is down for an hour, whose mails arrive once and all; the clock is moved."""

import time
from collections import Counter
from datetime import timedelta

from flask import Flask
from sqlalchemy import func, select

from app import outbox
from app.database.session import db
from app.outbox.delivery import drain
from app.outbox.models import PENDING, Delivery, OutboxEvent
from app.testing.apps import close
from tests.conftest import PASSWORD
from tests.support.apps import build
from tests.support.live import serve
from tests.support.ports import free_port
from tests.support.smtp import Postbox, smtp_server
from tests.support.waiting import eventually

from .places import Place, places
from .report import Report

# Requested an hour before the server is back, and half an hour earlier still.
IN_TIME, TOO_EARLY = 8, 3
HOUR, HALF = timedelta(hours=1), timedelta(minutes=30)
# Seconds for which a mail is tried.
LIFETIME = 4500
EMAIL = "{}{}@example.com"


def run(seconds: float) -> Report:
    """On each database, try for so long to send mails to a server that is not there."""
    report = Report("mail_server")
    with places() as found:
        for place in found:
            _hour_without_server(place, seconds / len(found), report)
    return report


def _hour_without_server(place: Place, seconds: float, report: Report) -> None:
    port = free_port()
    url = f"smtp://127.0.0.1:{port}"
    app = build(place.url, place.folder, MAIL_URL=url, RESET_TOKEN_TTL=LIFETIME)
    _request(app, "early", TOO_EARLY)
    _pass(app, HALF)
    _request(app, "late", IN_TIME)
    attempts = _try_in_vain(app, seconds)
    with smtp_server(port, Postbox()) as postbox, serve(place.folder, place.url, APP_MAIL_URL=url):
        eventually(lambda: not _pending(app))
    close(app)
    received = Counter(postbox.messages.get().rcpt_tos[0] for _ in range(postbox.messages.qsize()))
    requested = {EMAIL.format("late", number) for number in range(IN_TIME)}
    report.did(f"{place.name} requested", TOO_EARLY + IN_TIME)
    report.did(f"{place.name} attempts in vain", attempts)
    report.did(f"{place.name} received", len(received))
    report.none_may(f"{place.name} lost", sorted(requested - received.keys()))
    report.none_may(f"{place.name} expired but sent", sorted(received.keys() - requested))
    twice = [email for email, times in received.items() if times > 1]
    report.none_may(f"{place.name} duplicated", twice)


def _request(app: Flask, name: str, number: int) -> None:
    """Register users who have forgotten their password; leave their mails in the outbox."""
    client = app.test_client()
    for user_number in range(number):
        user = {"email": EMAIL.format(name, user_number), "password": PASSWORD}
        for path in ("/api/users", "/api/users/reset"):
            assert client.post(path, json=user).status_code == 200
    outbox.stop(app)


def _try_in_vain(app: Flask, seconds: float) -> int:
    """Try until an hour is over by the clock that is moved; return how many attempts failed."""
    end, left, failed = time.monotonic() + seconds, HOUR, 0
    while left:
        # The longest pause between two attempts is a minute.
        step = left if time.monotonic() > end else min(left, timedelta(minutes=1))
        _pass(app, step)
        failed += drain(app)["delayed"]
        left -= step
    _pass(app, timedelta(minutes=1))
    return failed


def _pass(app: Flask, time_: timedelta) -> None:
    """Let time pass for the outbox."""
    with app.app_context():
        for model, *columns in (
            (OutboxEvent, "created", "deadline"),
            (Delivery, "next_attempt"),
        ):
            for row in db.session.scalars(select(model)):
                for column in columns:
                    setattr(row, column, getattr(row, column) - time_)
        db.session.flush()


def _pending(app: Flask) -> int:
    with app.app_context():
        pending = select(func.count()).where(Delivery.state == PENDING)
        return db.session.scalar(pending) or 0
