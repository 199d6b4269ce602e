"""Fixtures: an app with an event of its own, whose deliveries are noted."""

from dataclasses import dataclass, field
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import select, update

from app import outbox
from app.database.session import db
from app.outbox.models import Delivery, OutboxEvent
from app.times import now

EVENT = "somethingHappened"


@dataclass
class Recorder:
    """Delivers the event EVENT of an app; fails with `failures`, one an attempt."""

    app: Flask
    delivered: list[Any] = field(default_factory=list)
    attempts: list[outbox.Attempt] = field(default_factory=list)
    failures: list[Exception] = field(default_factory=list)

    def __post_init__(self) -> None:
        outbox.define(self.app, EVENT, self.load)
        outbox.subscribe(self.app, EVENT, "recorder", self.deliver)

    def load(self, data, attempt):
        self.attempts.append(attempt)
        return None if data.get("obsolete") else data

    def deliver(self, app, info):
        if self.failures:
            raise self.failures.pop(0)
        self.delivered.append(info["number"])
        return "noted"

    def record(self, *numbers: int, lifetime: float = 60, **data: Any) -> None:
        with self.app.app_context():
            for number in numbers:
                outbox.record(EVENT, {"number": number, **data}, lifetime)


@pytest.fixture
def make_recorder(make_app):
    """Return a function that creates an app with settings, and its recorder."""
    return lambda **settings: Recorder(make_app(**settings))


@pytest.fixture
def recorder(make_recorder) -> Recorder:
    return make_recorder()


def rows(app, *columns, model=Delivery):
    """Return these columns of all rows, in the order of their keys."""
    ordered = select(*columns).order_by(*model.__table__.primary_key)
    with app.app_context():
        return [tuple(row) for row in db.session.execute(ordered)]


def make_past(app, **times):
    """Put times of all deliveries and events so many seconds into the past."""
    with app.app_context():
        for model in (Delivery, OutboxEvent):
            columns = model.__table__.columns.keys()
            values = {name: now() - ago for name, ago in times.items() if name in columns}
            if values:
                db.session.execute(update(model).values(values))
                db.session.commit()
