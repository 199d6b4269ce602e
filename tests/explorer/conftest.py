"""One database is enough for what the browser sees; the endpoints have tests on both."""

import pytest


@pytest.fixture
def database_url(sqlite_url):
    """An empty SQLite database."""
    return sqlite_url
