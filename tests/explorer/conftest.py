"""Fixtures: the explorer on one database, as the endpoints are tested on both."""

import pytest


@pytest.fixture
def database_url(sqlite_url):
    """An empty SQLite database."""
    return sqlite_url
