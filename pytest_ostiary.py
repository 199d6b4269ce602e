"""The pytest plugin: fixtures for tests of a project.

It imports Ostiary when one of the fixtures is used: pytest loads it in every environment in which
Ostiary is installed. The types of what the fixtures give are in `ostiary.testing`.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from flask import Flask

    from app.testing.apps import ProcessState
    from app.testing.databases import Database
    from ostiary.testing import Client, Login, Mails, Parallel, Users

OPTION = "ostiary_databases"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the setting and the option that name the databases."""
    parser.addini(OPTION, "Databases of each test: sqlite, postgresql.", "args", ["sqlite"])
    parser.getgroup("ostiary").addoption(
        "--ostiary-database",
        action="append",
        dest=OPTION,
        metavar="NAME",
        help="Database of each test, instead of those of ostiary_databases; may be repeated.",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Describe the marker."""
    config.addinivalue_line("markers", "settings(**settings): settings of Ostiary for this test.")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run each test that uses a database on all of them."""
    if "ostiary_database" not in metafunc.fixturenames:
        return
    names = _databases(metafunc.config)
    if len(names) > 1:
        metafunc.parametrize("ostiary_database", names, indirect=True)


@pytest.fixture(scope="session")
def project(pytestconfig: pytest.Config) -> Path:
    """The folder of the project: by default that of pytest's configuration file."""
    return pytestconfig.rootpath


@pytest.fixture(scope="session")
def ostiary_session(
    project: Path, tmp_path_factory: pytest.TempPathFactory
) -> "Iterator[ProcessState]":
    """What the tests of this process share."""
    # Ostiary's own package `app`, although the project may have a folder of this name.
    import_module("ostiary")
    folder = tmp_path_factory.mktemp("ostiary")
    server = os.environ.get("TEST_DATABASE_URL", "")
    worker = os.environ.get("PYTEST_XDIST_WORKER", "main")
    with _one_sentence():
        session: ProcessState = import_module("app.testing.apps").ProcessState(
            project, folder, server, worker
        )
    yield session
    session.close()


@pytest.fixture
def ostiary_database(
    request: pytest.FixtureRequest, ostiary_session: "ProcessState"
) -> "Iterator[Database]":
    """A database with the tables of the project, for this test alone."""
    name = getattr(request, "param", _databases(request.config)[0])
    with _one_sentence(), ostiary_session.database(name) as database:
        yield database


@pytest.fixture
def settings(request: pytest.FixtureRequest) -> dict[str, Any]:
    """The settings of the app besides the project's: those of the markers `settings`."""
    markers = [marker.kwargs for marker in request.node.iter_markers("settings")]
    # The closest to the test come first.
    return {name: value for given in reversed(markers) for name, value in given.items()}


@pytest.fixture
def app(
    ostiary_session: "ProcessState", ostiary_database: "Database", settings: dict[str, Any]
) -> "Iterator[Flask]":
    """The app of the project."""
    with _one_sentence(), ostiary_session.app(ostiary_database, settings) as app:
        yield app


@pytest.fixture
def client(app: "Flask") -> "Client":
    """A client of the app: Flask's, whose calls may be a user's."""
    app.test_client_class = import_module("ostiary.testing").Client
    client: Client = app.test_client()  # type: ignore[assignment]
    return client


@pytest.fixture
def user(app: "Flask") -> "Users":
    """Makes users, who are logged in."""
    users: Users = import_module("ostiary.testing").Users(app)
    return users


@pytest.fixture
def login(client: "Client") -> "Login":
    """Logs in by the API."""
    login: Login = import_module("ostiary.testing").Login(client)
    return login


@pytest.fixture
def mails(app: "Flask") -> "Mails":
    """The mails of the test, delivered when it looks at them."""
    mails: Mails = import_module("ostiary.testing").Mails(app)
    return mails


@pytest.fixture
def parallel() -> "Parallel":
    """Calls a function in several threads at once."""
    parallel: Parallel = import_module("ostiary.testing").Parallel()
    return parallel


def _databases(config: pytest.Config) -> list[str]:
    names: list[str] = config.getoption(OPTION) or config.getini(OPTION)
    return names


@contextmanager
def _one_sentence() -> Iterator[None]:
    """Fail with the sentence of a ConfigurationError, without a traceback."""
    try:
        yield
    except import_module("app.config").ConfigurationError as error:
        raise pytest.fail.Exception(str(error), pytrace=False) from None
