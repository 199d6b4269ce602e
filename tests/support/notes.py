"""The notes of docs/models.md as the model of a project, with code that the document adds to it."""

import pytest

from app import project_modules
from app.database.metadata import project_tables
from app.database.session import db
from tests.conftest import Api
from tests.definitions.conftest import running_a_command

MODEL = """
from sqlalchemy import ForeignKey, String
from sqlalchemy.orm import Mapped, mapped_column

from ostiary import fields
from ostiary.columns import Id, RowId
from ostiary.database import Model
from ostiary.resources import Resource
from ostiary.rules import AUTHENTICATED, OWNER, allow


class Note(Model):
    __tablename__ = "notes"

    id: Mapped[Id] = mapped_column(RowId, primary_key=True)
    text: Mapped[str] = mapped_column(String(255))
    stars: Mapped[int] = mapped_column(default=0)
    owner_id: Mapped[Id] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)


class NoteSchema(fields.Schema):
    id = fields.Id(dump_only=True)
    text = fields.Text(255, required=True, validate=fields.not_blank)
    stars = fields.Int32(load_default=0)
    ownerId = fields.Id(attribute="owner_id", dump_only=True)


notes = Resource(
    name="notes",
    singular="note",
    model=Note,
    schema=NoteSchema,
    rules=lambda settings: [allow(AUTHENTICATED, "create"), allow(OWNER)],
    owner=Note.owner_id,
)
"""


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
