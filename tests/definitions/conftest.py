"""Apps with models in JSON, and their tables."""

import json
from contextlib import ExitStack, contextmanager

import click
import pytest
from sqlalchemy import MetaData

from app.database.ids import RowId, id_storage
from app.database.metadata import app_metadata, derived_objects, project_tables
from app.database.session import db
from tests.conftest import Api


@contextmanager
def running_a_command():
    """Do as `flask db upgrade` does, which starts without the tables that it makes."""
    with click.Context(click.Command("upgrade"), info_name="flask"):
        yield


@pytest.fixture
def write_models(tmp_path):
    """Write models, and what `model-config.json` says, to a folder; return its path."""

    def write(models, config=None, code=None):
        folder = tmp_path / "models"
        folder.mkdir(exist_ok=True)
        for name, model in models.items():
            content = model if isinstance(model, str) else json.dumps(model)
            (folder / f"{name}.json").write_text(content)
        for name, text in (code or {}).items():
            (folder / f"{name}.py").write_text(text)
        if config is not None:
            (tmp_path / "model-config.json").write_text(json.dumps(config))
        return str(folder)

    return write


def user_columns(app):
    """Return the columns that users have in this app only, each with its type."""
    usual = db.metadata.tables["users"].columns
    columns = app_metadata.of(app).tables.get("users", db.metadata.tables["users"]).columns
    own = [each for each in columns if each.name not in usual]
    return [f'"{each.name}" {each.type.compile(db.engine.dialect)}' for each in own]


def change_users(verb, columns):
    with db.engine.begin() as connection:
        for each in columns:
            connection.exec_driver_sql(f"ALTER TABLE users {verb} COLUMN {each}")


def metadata_with(app, names):
    """Return tables of an app and those that they reference; to copy all takes much longer."""
    tables = {**db.metadata.tables, **app_metadata.of(app).tables}
    metadata = MetaData(naming_convention=db.metadata.naming_convention)
    missing = set(names)
    while missing:
        table = tables[missing.pop()].to_metadata(metadata)
        referenced = {key.target_fullname.partition(".")[0] for key in table.foreign_keys}
        missing |= referenced - metadata.tables.keys()
    return metadata


def store_ids(app, tables):
    """Give ids the types that migrations give them; SQLAlchemy would number the rows."""
    for table in tables:
        table.dialect_options["sqlite"]["autoincrement"] = False
        for column in table.columns:
            if isinstance(column.type, RowId):
                column.type = id_storage(app.config["ID_TYPE"])


@contextmanager
def tables_of(app):
    """Make the tables that only this app has, and drop them at the end."""
    names = {*project_tables(), *app_metadata.of(app).tables} - {"users"}
    metadata = metadata_with(app, names)
    own = [metadata.tables[name] for name in names]
    if app.config["ID_TYPE"] != "integer":
        store_ids(app, own)
    with app.app_context():
        metadata.create_all(db.engine, tables=own)
        change_users("ADD", user_columns(app))
        with db.engine.begin() as connection:
            derived_objects.current.update(connection)
    try:
        yield
    finally:
        with app.app_context():
            db.session.remove()
            metadata.drop_all(db.engine, tables=own)
            change_users("DROP", [each.partition(" ")[0] for each in user_columns(app)])


@pytest.fixture
def make_models(make_app, write_models):
    """Make an app with models in JSON, and their tables, which are dropped at the end."""
    with ExitStack() as tables:

        def make(models, config=None, code=None, **settings):
            folder = write_models(models, config, code)
            with running_a_command():
                app = make_app(MODELS_FOLDER=folder, **settings)
            tables.enter_context(tables_of(app))
            return app

        yield make


@pytest.fixture
def serve(make_models, secrets):
    """Serve models in JSON; return the client of their app."""

    def start(models, config=None, code=None, **settings):
        app = make_models(models, config, code, **settings)
        return Api(app.test_client(), secrets)

    return start
