"""Apps with models in JSON, and their tables."""

import json
from contextlib import contextmanager

import click
import pytest

from app.extensions import all_metadata, app_metadata, db
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


@pytest.fixture
def make_models(make_app, write_models):
    """Make an app with models in JSON, and their tables, which are dropped at the end."""
    made = []

    def make(models, config=None, code=None, **settings):
        folder = write_models(models, config, code)
        with running_a_command():
            app = make_app(MODELS_FOLDER=folder, **settings)
        metadata = all_metadata(app)
        own = [metadata.tables[name] for name in app_metadata(app).tables if name != "users"]
        with app.app_context():
            metadata.create_all(db.engine, tables=own)
        made.append((app, metadata, own))
        return app

    yield make
    for app, metadata, own in made:
        with app.app_context():
            db.session.remove()
            metadata.drop_all(db.engine, tables=own)


@pytest.fixture
def serve(make_models, secrets):
    """Serve models in JSON; return the client of their app."""

    def start(models, config=None, code=None, **settings):
        app = make_models(models, config, code, **settings)
        return Api(app.test_client(), secrets)

    return start
