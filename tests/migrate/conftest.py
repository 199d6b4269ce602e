"""Projects with models in JSON, and databases of their own that their migrations change."""

import json
import re
import shutil
from pathlib import Path

import click
import pytest
from sqlalchemy import NullPool, create_engine, make_url, text

from app.factory import create_app
from app.testing.apps import close
from tests.support.apps import CHEAP_HASH
from tests.support.databases import connected
from tests.support.databases import migrate as make_database

STATED = re.compile("^(revision|down_revision) = (.*)$", re.MULTILINE)


class Project:
    """The folder of a project and its database, used by the commands that a user types."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder, self.url = folder, url
        self.served = []
        settings = {"SQLALCHEMY_DATABASE_URI": url, "PASSWORD_HASH": CHEAP_HASH}
        settings |= {"MAIL_FOLDER": str(folder / "mail"), "THROTTLE_ENABLED": False}
        (folder / "models").mkdir(parents=True)
        self.configure(**settings)

    def configure(self, **settings):
        with (self.folder / "config.py").open("a") as file:
            file.writelines(f"{name} = {value!r}\n" for name, value in settings.items())

    def model(self, name, /, indexes=None, **properties):
        """Declare a model; `True` stands for a text that is required."""
        rules = [{"principalType": "ROLE", "principalId": "$everyone", "permission": "ALLOW"}]
        stated = {
            key: {"type": "string", "required": True} if value is True else value
            for key, value in properties.items()
        }
        definition = {"name": name, "properties": stated, "acls": rules, "indexes": indexes}
        (self.folder / "models" / f"{name}.json").write_text(json.dumps(definition))

    def invoke(self, *arguments, **options):
        """Run `ostiary db` as a process of its own would."""
        with click.Context(click.Command("db")):
            app = create_app()
        app.logger.handlers.clear()
        result = app.test_cli_runner().invoke(args=["db", *arguments], **options)
        close(app)
        assert result.exception is None or isinstance(result.exception, SystemExit), result
        return result

    def db(self, *arguments, **options):
        result = self.invoke(*arguments, **options)
        assert result.exit_code == 0, result.output
        return result.output

    def refused(self, *arguments, **options):
        result = self.invoke(*arguments, **options)
        assert result.exit_code == 1, result.output
        return result.output.removeprefix("Error: ").strip()

    def migrate(self, *options):
        """Write a migration, and run it; return what was said about it."""
        said = self.db("migrate", "-m", "Next", *options)
        self.db("upgrade")
        return said.splitlines()[:-1]

    def start_with(self, migrations, write):
        """Copy a folder of migrations; they are written first if it is not there yet."""
        kept = migrations.with_name(f"{migrations.name}_{make_url(self.url).get_backend_name()}")
        if not kept.exists():
            write()
            shutil.copytree(self.folder / "migrations", kept)
        shutil.copytree(kept, self.folder / "migrations", dirs_exist_ok=True)

    def empty(self):
        """Leave nothing in the database, as if it was just made."""
        if self.url.startswith("sqlite"):
            Path(make_url(self.url).database).unlink()
        else:
            self.sql("DROP SCHEMA public CASCADE; CREATE SCHEMA public")

    def files(self):
        """Return the migrations, each after those that it follows."""
        stated = {
            file: dict(STATED.findall(file.read_text()))
            for file in (self.folder / "migrations").glob("*.py")
        }
        files = {values.get("revision", ""): file for file, values in stated.items()}

        def depth(file: Path) -> int:
            followed = stated[file].get("down_revision", "")
            return 1 + max(
                (depth(files[name]) for name in files if name and name in followed), default=0
            )

        return sorted(stated, key=depth)

    def sql(self, statement, **values):
        with connected(self.url) as connection:
            result = connection.execute(text(statement), values)
            return [tuple(row) for row in result] if result.returns_rows else None

    def serve(self):
        self.served.append(create_app())
        self.served[-1].logger.handlers.clear()
        return self.served[-1].test_client()


@pytest.fixture(scope="session")
def kept(tmp_path_factory):
    """Migrations that several tests start with."""
    return tmp_path_factory.mktemp("kept")


@pytest.fixture
def sqlite_url(sqlite_template, tmp_path):
    """A migrated database that only this test has."""
    shutil.copy(sqlite_template, tmp_path / "own.sqlite")
    return f"sqlite:///{tmp_path}/own.sqlite"


@pytest.fixture(scope="session")
def migrated_postgres(postgres_database, tmp_path_factory):
    """The name of a migrated database to copy, and a function that runs a statement beside it."""
    name = f"template_{make_url(postgres_database.url).database}"
    url = make_url(postgres_database.url).set(database=name).render_as_string(False)
    # Another test ends all connections of the server.
    server = create_engine(postgres_database.url, isolation_level="AUTOCOMMIT", poolclass=NullPool)

    def run(statement):
        with server.connect() as connection:
            connection.execute(text(statement))

    run(f"CREATE DATABASE {name}")
    make_database(url, tmp_path_factory.mktemp("postgres"))
    yield name, run
    run(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def postgres_url(migrated_postgres, postgres_database):
    """The same on PostgreSQL."""
    template, run = migrated_postgres
    name = f"own_{template}"
    run(f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY FILE_COPY")
    yield make_url(postgres_database.url).set(database=name).render_as_string(False)
    run(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def no_secret_leaks():
    """The database is another one than those that are searched."""


@pytest.fixture
def project(database_url, tmp_path, monkeypatch):
    """A project without models, on a database that has the product's migrations."""
    folder = tmp_path / "project"
    monkeypatch.setenv("INSTANCE_PATH", str(folder))
    project = Project(folder, database_url)
    yield project
    for app in project.served:
        close(app)
