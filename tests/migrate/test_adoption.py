"""`ostiary db adopt`: the migrations of a changed copy of Ostiary become a project's."""

import shlex
import shutil

import pytest
from alembic import command

from app.database.session import db
from app.factory import create_app
from app.migrate.chains import PRODUCT, Chain, newest
from app.migrate.running import migration
from app.migrate.scripts import configure
from app.testing.apps import close
from tests.support.documents import blocks

[HEAD] = newest(PRODUCT.migrations.values())
# What an installation had written: beside the product's, which came after it was forked, and
# joined with those.
THEIRS = {
    "aaaa11112222_notes.py": (["0010"], 'op.create_table("note", sa.Column("id", sa.Integer()))'),
    "bbbb11112222_merge.py": (["0011", "aaaa11112222"], "pass"),
    "cccc11112222_titles.py": (
        ["bbbb11112222"],
        'op.add_column("note", sa.Column("title", sa.String(9)))',
    ),
}
TEMPLATE = '''"""Ours: ä."""

from typing import Sequence, Union

import sqlalchemy as sa
from alembic import op

revision: str = "{revision}"
down_revision: Union[str, Sequence[str], None] = {parents!r}
branch_labels = None
depends_on = None


def upgrade() -> None:
    {code}
'''


@pytest.fixture
def copy(tmp_path):
    """The migrations of a changed copy of an older release."""
    folder = tmp_path / "copy" / "app" / "migrations" / "versions"
    folder.mkdir(parents=True)
    for revision, found in PRODUCT.migrations.items():
        if revision <= "0012":
            shutil.copy(found.path, folder)
    for name, (parents, code) in THEIRS.items():
        parent = parents[0] if len(parents) == 1 else tuple(parents)
        text = TEMPLATE.format(revision=name[:12], parents=parent, code=code)
        (folder / name).write_text(text, "utf-8")
    return folder


@pytest.fixture
def install(project, copy):
    """Migrate the database as the changed copy did, to one of its revisions."""

    def install(revision):
        project.empty()
        app = create_app()
        with app.app_context():
            with migration() as connection:
                config = configure(Chain("copy", copy, PRODUCT.table), connection)
                command.upgrade(config, revision)
            db.engine.dispose()
        close(app)

    return install


def versions(project):
    ours = project.sql("SELECT version_num FROM alembic_version")
    theirs = project.sql("SELECT version_num FROM ostiary_project_version")
    return [revision for [revision] in ours], [revision for [revision] in theirs]


@pytest.mark.both_databases
def test_a_changed_copy_is_taken_over(project, copy, install, monkeypatch):
    install("heads")
    project.sql("INSERT INTO note (id, title) VALUES (1, 'kept')")
    refused = project.refused("upgrade")

    [printed] = blocks("docs/upgrading.md", "sh", "A changed copy")
    adopt, upgrade = map(shlex.split, printed.splitlines())
    monkeypatch.chdir(project.folder)
    said = project.db(*adopt[2:])
    again = project.db("adopt", str(copy.parent))
    taken = versions(project)
    done = project.db(*upgrade[2:])

    assert "`ostiary db adopt FOLDER` takes over" in refused
    assert taken == (["0012"], ["cccc11112222"])
    assert said.count("Copied") == len(THEIRS)
    assert "Copied" not in again
    assert sorted(path.name for path in project.files()) == [*THEIRS]
    assert done == f"Migrated Ostiary to {HEAD}.\n"
    assert project.sql("SELECT title FROM note") == [("kept",)]
    merge = (project.folder / "migrations" / "bbbb11112222_merge.py").read_text("utf-8")
    first = (project.folder / "migrations" / "aaaa11112222_notes.py").read_text("utf-8")
    assert 'down_revision: Union[str, Sequence[str], None] = "aaaa11112222"\n' in merge
    assert 'product_revision = "0011"\n' in merge
    assert '= None\nproduct_revision = "0010"\nbranch_labels' in first
    assert len(list(copy.glob("*.py"))) == 12 + len(THEIRS)


@pytest.mark.both_databases
def test_other_installations_only_need_the_upgrade(project, copy, install):
    install("aaaa11112222")
    project.sql("INSERT INTO note (id) VALUES (1)")
    project.db("adopt", str(copy))
    # As the database of another host is, which `adopt` did not see.
    project.sql("DROP TABLE ostiary_project_version")
    project.sql("UPDATE alembic_version SET version_num = 'aaaa11112222'")

    done = project.db("upgrade")

    assert done == f"Migrated Ostiary to {HEAD}.\nMigrated the project to cccc11112222.\n"
    assert project.sql("SELECT id, title FROM note") == [(1, None)]


@pytest.mark.only_on("sqlite")
def test_what_cannot_be_taken_over_is_refused(project, copy, tmp_path):
    (copy / "9999_new.py").write_text('revision = "9999"\ndown_revision = "0012"\n')
    newer = project.refused("adopt", str(copy))
    (copy / "9999_new.py").unlink()
    (copy / "aaaa11112222_notes.py").unlink()
    missing = project.refused("adopt", str(copy))
    (tmp_path / "empty").mkdir()
    none = project.refused("adopt", str(tmp_path / "empty"))

    assert newer.startswith(
        f"The file {copy}/9999_new.py has a revision as Ostiary's migrations have"
    )
    assert missing.endswith("follows aaaa11112222, whose file is missing.")
    assert none.endswith("has no migrations besides those of Ostiary.")
    assert not (project.folder / "migrations").exists()


@pytest.mark.only_on("sqlite")
def test_a_changed_file_of_the_project_is_not_overwritten(project, copy):
    project.db("adopt", str(copy))
    changed = project.folder / "migrations" / "aaaa11112222_notes.py"
    changed.write_text("changed")

    assert "exists, and is not what would be copied" in project.refused("adopt", str(copy))
    assert changed.read_text() == "changed"
