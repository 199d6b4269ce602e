"""docs/upgrading.md: a project goes from this release to a later one, and back."""

import json
import shlex
import stat
import sys

import pytest

from app.migrate.chains import PRODUCT, newest
from tests.support.documents import blocks, run_shell
from tests.support.releases import build_wheel, copy_sources, make_environment

pytestmark = pytest.mark.live

DOCUMENT = "docs/upgrading.md"
[INSTALL] = blocks(DOCUMENT, "sh", "A new release")
WRITE, RENAME = blocks(DOCUMENT, "sh", "Migrations of a project")
[HEAD] = newest(PRODUCT.migrations.values())
LATER = f"{int(HEAD) + 1:04}"
MIGRATION = f'''"""A migration of a later release."""

import sqlalchemy as sa
from alembic import op

revision = "{LATER}"
down_revision = "{HEAD}"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add a column that has a default, and a table."""
    op.add_column("users", sa.Column("shoe_size", sa.Integer, server_default="42", nullable=False))
    op.create_table("shoes", sa.Column("id", sa.Integer, primary_key=True))


def downgrade() -> None:
    """Drop them."""
    op.drop_table("shoes")
    op.drop_column("users", "shoe_size")
'''
MODEL = """

from sqlalchemy import Column, Integer

User.__table__.append_column(Column("shoe_size", Integer, server_default="42", nullable=False))
"""
# pip of the tests, for an environment that has none: the libraries are those of the tests.
PIP = """#!/bin/sh
shift
exec {python} -m pip --python {environment} install -q --no-deps --no-index --no-compile \
    "$@"
"""
# What an instance of the later release answers.
USE = """
import json
from app.factory import create_app
client = create_app().test_client()
user = {"email": "ada@example.com", "password": "a quiet harbour"}
statuses = [client.get("/ready").status_code, client.post("/api/users", json=user).status_code]
print(json.dumps([*statuses, client.get("/api/Notes").json]))
"""


@pytest.fixture(scope="module")
def later(tmp_path_factory):
    """The wheel of a later release, which has a further migration."""
    sources = copy_sources(tmp_path_factory.mktemp("later") / "sources")
    (sources / "app" / "migrations" / "versions" / f"{LATER}_later.py").write_text(MIGRATION)
    models = sources / "app" / "users" / "models.py"
    models.write_text(models.read_text() + MODEL)
    setup = sources / "setup.cfg"
    lines = setup.read_text().splitlines()
    stated = ["version = 1.1.0" if line.startswith("version = ") else line for line in lines]
    setup.write_text("\n".join(stated))
    return build_wheel(sources, "--wheel")


@pytest.fixture(scope="module")
def environment(wheel, tmp_path_factory):
    """An environment with this release, and a pip."""
    environment = make_environment(tmp_path_factory.mktemp("upgraded") / "venv", wheel)
    pip = environment.folder / "bin" / "pip"
    pip.write_text(
        PIP.format(python=sys.executable, environment=environment.folder / "bin" / "python")
    )
    pip.chmod(pip.stat().st_mode | stat.S_IXUSR)
    return environment


@pytest.mark.only_on("postgresql")
def test_a_project_goes_to_a_later_release_and_back(project, environment, later):
    def shell(code):
        return run_shell(code, project.folder, **environment.variables())[2]

    # This release is the code under test.
    project.model("Note", title=True)
    for line in WRITE.splitlines():
        project.db(*shlex.split(line)[2:])
    project.sql("INSERT INTO note (title) VALUES ('kept')")
    old = project.serve()
    (project.folder / later.name).symlink_to(later)
    [own] = project.files()

    upgraded = shell(INSTALL)
    user = {"email": "bob@example.com", "password": "a quiet harbour"}
    meanwhile = [old.get("/ready"), old.get("/api/Notes"), old.post("/api/users", json=user)]
    project.model("Note", heading=True)
    shell(RENAME)
    folder = str(project.folder)
    served = environment.run("python", "-c", USE, cwd=project.folder, INSTANCE_PATH=folder)
    backwards = project.db("upgrade")
    back = project.serve()

    revision = own.name.split("_")[1]
    assert f"Ostiary: {LATER} (head)\nthe project: {revision} (head)\n" in upgraded
    assert [response.status_code for response in meanwhile] == [200, 200, 200]
    rows = [{"id": 1, "heading": "kept"}]
    assert json.loads(served.stdout.splitlines()[-1]) == [200, 200, rows], served.stderr
    assert backwards.endswith("There is nothing to migrate.\n")
    assert back.get("/ready").status_code == 200
    assert back.get("/api/Notes").json == rows
    sizes = project.sql("SELECT email, shoe_size FROM users ORDER BY email")
    assert sizes == [("ada@example.com", 42), ("bob@example.com", 42)]
