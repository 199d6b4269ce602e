"""Fixtures: a model with a property of every type, and a function that asks for its aggregates."""

import json

import pytest
from sqlalchemy import insert

from app.database.session import db
from tests.rest.samples import Base, Sample, make_resource


@pytest.fixture
def app(serve):
    """Serve the samples to everybody."""
    return serve(Base.metadata, make_resource())


@pytest.fixture
def store(app):
    """Return a function that stores samples with these values by attribute."""

    def store(*rows):
        names = {name for row in rows for name in row}
        complete = [dict.fromkeys(names) | row for row in rows]
        with app.app_context(), db.engine.begin() as connection:
            connection.execute(insert(Sample), complete)

    return store


@pytest.fixture
def ask(app):
    """Return a function that asks for an aggregate of samples, and returns the response."""
    client = app.test_client()

    def ask(path="/samples/aggregate", **aggregate):
        return client.get(f"/api{path}", query_string={"filter": json.dumps(aggregate)})

    return ask


@pytest.fixture
def aggregate(ask):
    """Return a function that asks for an aggregate of samples, and returns its objects."""

    def aggregate(**given):
        response = ask(**given)
        assert response.status_code == 200, response.json
        return response.json

    return aggregate


@pytest.fixture
def compute(aggregate):
    """Return a function that returns the results of functions of all samples."""

    def compute(**functions):
        [result] = aggregate(aggregate=functions)
        return result

    return compute
