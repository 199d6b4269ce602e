"""The notes of docs/models.md as the model of a project, with code that the document adds to it."""

import pytest

from app import project_modules
from app.database.metadata import project_tables
from app.database.session import db
from tests.conftest import Api
from tests.definitions.conftest import running_a_command

from .documents import blocks

[MODEL] = blocks("docs/models.md", "python", "A model in Python")


@pytest.fixture
def serve_notes(make_app, tmp_path, secrets):
    """Serve notes, with code below the model and further files of models; return their API."""
    apps = []

    def serve(code="", settings=None, **files):
        folder = tmp_path / "models"
        folder.mkdir()
        for name, text in {"note": MODEL + code, **files}.items():
            (folder / f"{name}.py").write_text(text)
        with running_a_command():
            app = make_app(MODELS_FOLDER=str(folder), **(settings or {}))
        with app.app_context():
            db.metadata.create_all(db.engine, tables=[*project_tables().values()])
        apps.append(app)
        return Api(app.test_client(), secrets)

    yield serve
    for app in apps:
        with app.app_context():
            db.session.remove()
            db.metadata.drop_all(db.engine, tables=[*project_tables().values()])
    project_modules.forget()
