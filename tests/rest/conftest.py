"""Fixtures: rows to filter, a function that sends a filter, and models of the tests' own."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import insert

from app.database.session import db
from app.rest.views.registration import check_relations, register_resource
from app.todos.models import Todo

from .clinic import Base, resources

START = datetime(2026, 1, 2, 3, 4, 5, 678000, tzinfo=UTC)
TEXTS = ["", "a", "A", "ab", "aB%", "a_b", "b*[?]", "é", "É", "\\", "a\\b", "line\nbreak", "z" * 40]


def store(app, rows):
    """Insert to-dos as they are, without a request each."""
    with app.app_context():
        db.session.execute(insert(Todo), rows)
        db.session.commit()


@pytest.fixture
def rows(app, token):
    """To-dos of the user with id 1, as the table has them."""
    made = [
        {
            "id": number,
            "title": TEXTS[number % len(TEXTS)],
            "desc": None if number % 3 == 0 else TEXTS[(number * 5) % len(TEXTS)],
            "is_complete": number % 2 == 0,
            "created": START + timedelta(milliseconds=number // 4),
            "owner_id": 1,
        }
        for number in range(1, 40)
    ]
    store(app, made)
    return made


@pytest.fixture
def find(api, token):
    """Ask for to-dos with a filter; return the answer."""

    def ask(wanted=None, path="/todos"):
        query = {} if wanted is None else {"filter": json.dumps(wanted)}
        return api("GET", path, token=token, query_string=query)

    return ask


@pytest.fixture
def serve(make_app):
    """Return a function that serves resources, whose tables it makes; they go with the test."""
    served = []

    def serve(metadata, *resources, **settings):
        app = make_app(**settings)
        for resource in resources:
            register_resource(app, resource)
        with app.app_context():
            metadata.create_all(db.engine)
        served.append((app, metadata))
        return app

    yield serve
    for app, metadata in served:
        with app.app_context():
            metadata.drop_all(db.engine)


@pytest.fixture
def clinic(serve, api, token):
    """Serve the clinic; return a function that calls it as Ada, who is 1, or as Bob."""
    bob = api.logged_in("bob@example.com")
    settings = {"THROTTLE_ENABLED": True, "EMAIL_VERIFICATION": "optional"}
    app = serve(Base.metadata, *resources(), **settings)
    check_relations(app)
    client = app.test_client()

    def call(verb, path, body=None, caller=token):
        headers = {"Authorization": caller} if caller else {}
        return client.open(f"/api{path}", method=verb, json=body, headers=headers)

    call.app, call.bob, call.headers = app, bob, {"Authorization": token}
    return call
