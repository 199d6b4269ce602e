"""From USER_PROPERTIES in a configuration file to users that have them: `ostiary db migrate`."""

import shlex
import shutil

import click
import pytest
from sqlalchemy import create_engine, make_url, text

from app.factory import create_app
from app.problems import ConfigurationError
from app.testing.apps import CHEAP_HASH, close
from tests.conftest import PASSWORD
from tests.support.answers import field_codes
from tests.support.databases import migrate as make_database
from tests.support.documents import blocks

ADA = {"email": "ada@example.com", "password": PASSWORD}
(CONFIGURATION,) = blocks("docs/own-users.md", "python")
COMMANDS = blocks("docs/own-users.md", "sh")[0].splitlines()
MISSING = (
    "the database has no users.badge_number, users.balance, users.birthday, users.company,"
    " users.level, users.note, users.tags: run `ostiary db migrate` and `ostiary db upgrade`"
)


@pytest.fixture
def sqlite_url(sqlite_template, tmp_path):
    """A migrated database that only this test has."""
    shutil.copy(sqlite_template, tmp_path / "own.sqlite")
    return f"sqlite:///{tmp_path}/own.sqlite"


@pytest.fixture
def postgres_url(postgres_database, tmp_path):
    """The same beside the one on the server that tests share."""
    name = f"migrated_{make_url(postgres_database.url).database}"
    server = create_engine(postgres_database.url, isolation_level="AUTOCOMMIT")
    url = make_url(postgres_database.url).set(database=name).render_as_string(False)
    with server.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
        make_database(url, tmp_path)
        yield url
        connection.execute(text(f"DROP DATABASE {name} WITH (FORCE)"))
    server.dispose()


@pytest.fixture
def no_secret_leaks():
    """The database is another one than those that are searched."""


@pytest.fixture
def installation(database_url, tmp_path, monkeypatch):
    """Build the app of an installation, with its configuration in a folder."""
    monkeypatch.setenv("INSTANCE_PATH", str(tmp_path))
    settings = {"SQLALCHEMY_DATABASE_URI": database_url, "PASSWORD_HASH": CHEAP_HASH}
    settings |= {"MAIL_FOLDER": str(tmp_path / "mail"), "THROTTLE_ENABLED": False}
    lines = [f"{name} = {value!r}\n" for name, value in settings.items()]
    apps = []

    def build(more=""):
        (tmp_path / "config.py").write_text("".join([*lines, more]))
        apps.append(create_app())
        return apps[-1]

    yield build
    for app in apps:
        close(app)


@pytest.mark.both_databases
def test_properties_are_declared_migrated_and_served(installation):
    before = installation('USERS_PATH = "Accounts"').test_client()
    assert before.post("/api/accounts", json=ADA).status_code == 200
    with pytest.raises(ConfigurationError) as refused:
        installation(CONFIGURATION)
    with click.Context(click.Command("db")):
        command = installation(CONFIGURATION).test_cli_runner()
    done = [command.invoke(args=shlex.split(line)[1:]) for line in [*COMMANDS, "ostiary db check"]]
    client = installation(CONFIGURATION).test_client()

    assert str(refused.value) == MISSING
    assert [result.exit_code for result in done] == [0, 0, 0], done[-1].output
    assert done[-1].output == "The tables have what the models say.\n"
    # Users of before have the defaults, and no other values.
    token = {"Authorization": client.post("/api/accounts/login", json=ADA).json["id"]}
    old = client.patch("/api/Accounts/1", json={"username": "ada"}, headers=token)
    assert old.status_code == 200
    assert [old.json[name] for name in ("company", "badgeNumber", "level")] == [None, None, 1]
    body = {"email": "bob@example.com", "password": PASSWORD, "badgeNumber": 1, "balance": "1.20"}
    missing = client.post("/api/accounts", json=body)
    new = client.post("/api/accounts", json={**body, "company": "Acme", "tags": ["a"]})
    taken = client.post("/api/accounts", json={**body, "company": "Acme", "email": "eve@a.test"})
    assert field_codes(missing) == {"company": ["presence"]}
    shown = [new.json[name] for name in ("company", "balance", "tags", "level")]
    assert shown == ["Acme", "1.20", ["a"], 1]
    assert field_codes(taken) == {"badgeNumber": ["uniqueness"]}
