"""Tell the past into the rows of throttles, and attempts that are counted."""

from datetime import timedelta

from flask import Flask
from sqlalchemy import select
from werkzeug.test import TestResponse

from app.database.session import db
from app.throttles import Throttle
from tests.conftest import PASSWORD, Api

WRONG = "not the right one"


def pass_time(app: Flask, seconds: float) -> None:
    """Make every row of the throttles so much older."""
    with app.app_context():
        for row in db.session.scalars(select(Throttle)):
            for name in ("started", "blocked_until", "expires_at"):
                setattr(row, name, getattr(row, name) - timedelta(seconds=seconds))
        db.session.commit()


def counts(app: Flask) -> dict[str, list[int]]:
    """Return the counts of all rows, by throttle."""
    found: dict[str, list[int]] = {}
    with app.app_context():
        for row in db.session.scalars(select(Throttle)):
            found.setdefault(row.name, []).append(row.count)
    return {name: sorted(each) for name, each in found.items()}


def log_in(
    api: Api, password: str = WRONG, client: str = "192.0.2.1", **who: object
) -> TestResponse:
    """Try to log in from an address, as ada unless another name is given."""
    body = {"password": password, **(who or {"email": "ada@example.com"})}
    environ = {"REMOTE_ADDR": client}
    response = api("POST", "/users/login", body, environ_overrides=environ)
    if response.status_code == 200:
        api.secrets.append(response.json["id"])
    return response


def log_in_right(api: Api, client: str = "192.0.2.1", **who: object) -> TestResponse:
    """Log in with the right password."""
    return log_in(api, PASSWORD, client, **who)
