"""Databases with ids of each type, migrated when the first test needs them."""

import re

import pytest
from sqlalchemy import make_url

from app.testing.databases import create_postgres_database
from tests.support.databases import Database, migrate

FORMS = {
    "integer": re.compile("[1-9][0-9]*"),
    "uuid": re.compile("[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"),
    "objectid": re.compile("[0-9a-f]{24}"),
}
# Ids that no row has.
OTHERS = {
    "integer": 999,
    "uuid": "018c5a3e-7d2b-7c1a-9f00-3b1d2e4f5a6b",
    "objectid": "507f1f77bcf86cd799439011",
}


@pytest.fixture(params=FORMS)
def id_type(request):
    return request.param


@pytest.fixture
def database_url(request, database_name, id_type):
    """An empty database with ids of the type."""
    if id_type == "integer":
        yield request.getfixturevalue("sqlite_url" if database_name == "sqlite" else "postgres_url")
        return
    typed = request.getfixturevalue("typed_database")(database_name, id_type)
    yield typed.url
    typed.empty()


@pytest.fixture(scope="session")
def typed_database(request, databases, tmp_path_factory):
    """Get the database of a kind with ids of a type."""
    made = {}

    def get(server, id_type):
        if (server, id_type) not in made:
            folder = tmp_path_factory.mktemp(id_type)
            if server == "sqlite":
                url = f"sqlite:///{folder}/ostiary.sqlite"
            else:
                server_url = request.getfixturevalue("postgres_database").url
                name = f"{make_url(server_url).database}_{id_type}"
                url = create_postgres_database(server_url, name)
            migrate(url, folder, ID_TYPE=id_type)
            made[server, id_type] = databases.setdefault(url, Database(url))
        return made[server, id_type]

    return get


@pytest.fixture
def app(shared_app, id_type):
    return shared_app(
        ID_TYPE=id_type,
        EMAIL_VERIFICATION="optional",
        TOKEN_MIDDLEWARE={"currentUserLiteral": "me"},
    )


@pytest.fixture
def is_id(id_type):
    """Check that a value is an id of the type."""
    kind = int if id_type == "integer" else str

    def check(value):
        return type(value) is kind and bool(FORMS[id_type].fullmatch(str(value)))

    return check


@pytest.fixture
def unknown(id_type):
    """An id that no row has."""
    return OTHERS[id_type]


@pytest.fixture
def client(app):
    """A client without cookies: the current-user literal is a part of what cookies need."""
    return app.test_client(use_cookies=False)


@pytest.fixture
def token(api):
    """The token of a user who has registered and logged in by requests."""
    return api.newcomer()
