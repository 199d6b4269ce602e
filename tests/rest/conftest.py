"""Fixtures: rows to filter, and a function that sends a filter."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import insert

from app.extensions import db
from app.todos.models import Todo

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
