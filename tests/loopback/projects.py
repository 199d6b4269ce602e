"""Small LoopBack applications, and the services that they become."""

import json
from contextlib import contextmanager

import pytest
from click.testing import CliRunner

from app.config import read_project_files
from app.database.metadata import all_metadata
from app.database.session import db
from app.testing.apps import close
from ostiary_loopback.cli import loopback
from tests.definitions.conftest import running_a_command
from tests.support.apps import build

PASSWORD = "a quiet harbour"
USER = {"email": "a@example.com", "password": PASSWORD}


def write_application(folder, models, scripts=(), files=(), entries=(), source=None):
    """Write an application with models, in one data source, and scripts by their paths."""
    entry = {"dataSource": "db"}
    served = dict.fromkeys(("User", *(model["name"] for model in models)), entry)
    contents = {
        "server/model-config.json": {
            "_meta": {"sources": ["../common/models"]},
            **served,
            **dict(entries),
        },
        "server/datasources.json": {"db": source or {"connector": "memory"}},
        "server/config.json": {},
        **{f"common/models/{model['name'].lower()}.json": model for model in models},
        **dict(files),
    }
    texts = {name: json.dumps(content) for name, content in contents.items()} | dict(scripts)
    for name, text in texts.items():
        path = folder / "application" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder / "application"


def run(folder, *arguments):
    """Call a command of `ostiary loopback` in a folder; return its result."""
    folder.mkdir(exist_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        # Restored afterwards: commands of a project set it.
        patch.setenv("INSTANCE_PATH", "")
        return CliRunner().invoke(loopback, arguments)


def import_application(folder, *models, **content):
    """Write an application, and import it; return the folder of the project, and the output."""
    application = write_application(folder, models, **content)
    result = run(folder / "project", "import", str(application), "--models-only")
    assert result.exit_code == 0, result.output
    return folder / "project", result.output


@contextmanager
def serving(project):
    """Serve a project with an empty database."""
    with pytest.MonkeyPatch.context() as patch, running_a_command():
        patch.setenv("INSTANCE_PATH", str(project))
        if (project / ".env.example").exists():
            for line in (project / ".env.example").read_text().splitlines():
                if not line.startswith("#"):
                    patch.setenv(line.rstrip("="), PASSWORD)
        settings = read_project_files(str(project))
        app = build(f"sqlite:///{project / 'test.sqlite'}", project, **settings)
        with app.app_context():
            all_metadata(app).create_all(db.engine)
        yield app
        close(app)


def log_in(app, path="/api/users", user=USER):
    """Register a user, and return the headers with its token."""
    client = app.test_client()
    assert client.post(path, json=user).status_code == 200
    return {"Authorization": client.post(f"{path}/login", json=user).json["id"]}
