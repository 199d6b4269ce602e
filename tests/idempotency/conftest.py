"""Apps that keep answers, and how to look at what they keep."""

import pytest
from sqlalchemy import select, update

from app.database.session import db
from app.idempotency.records import IdempotentCall

KEYED = {"Idempotency-Key": '"8e03978e-40d5-43dd-bc93-6894a57f9324"'}


@pytest.fixture
def app(shared_app):
    return shared_app(IDEMPOTENCY_TTL=86400)


@pytest.fixture
def call(api, token):
    """Send a request with a key as Ada, the user with id 1, unless told otherwise."""

    def call(verb, path, body=None, key=KEYED["Idempotency-Key"], **options):
        headers = {"Idempotency-Key": key, **options.pop("headers", {})}
        return api(verb, path, body, **{"token": token, **options}, headers=headers)

    return call


@pytest.fixture
def stored(app):
    """Return the columns of all records."""

    def stored():
        with app.app_context():
            rows = db.session.execute(select(IdempotentCall.__table__).order_by("started"))
            return [row._asdict() for row in rows]

    return stored


@pytest.fixture
def change(app):
    """Change all records."""

    def change(**values):
        with app.app_context():
            db.session.execute(update(IdempotentCall).values(values))
            db.session.commit()

    return change


def is_replayed(answer):
    return answer.headers.get("Idempotency-Replayed") == "true"
