"""The migrations of Ostiary and those of a project, one after the other."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from app.migrate.chains import PRODUCT, newest

ON_SQLITE = pytest.mark.only_on("sqlite")
ON_POSTGRESQL = pytest.mark.only_on("postgresql")
[HEAD] = newest(PRODUCT.migrations.values())


@pytest.fixture
def two(project, kept):
    """A project with two migrations, whose database is empty; their revisions."""

    def write():
        project.db("migrate", "-m", "Notes: the first")
        project.db("upgrade")
        project.model("Tag", name=True)
        project.db("migrate", "-m", "Tags")

    project.model("Note", title=True)
    project.start_with(kept / "two", write)
    project.model("Tag", name=True)
    project.empty()
    project.revisions = [path.name.split("_")[1] for path in project.files()]
    return project


@pytest.mark.both_databases
def test_the_product_is_migrated_first_and_then_the_project(two):
    first, second = two.revisions

    assert two.db("current") == "Ostiary: base\nthe project: base\n"
    assert two.refused("check").startswith("The database lacks migrations of Ostiary")
    assert two.db("upgrade", "0010") == "Migrated Ostiary to 0010.\n"
    behind = two.refused("migrate", "-m", "x")
    assert two.db("upgrade", first) == (
        f"Migrated Ostiary to {HEAD}.\nMigrated the project to {first}.\n"
    )
    assert two.refused("check") == (
        "The database lacks migrations of the project: run `ostiary db upgrade` first."
    )
    assert two.db("upgrade") == f"Migrated the project to {second}.\n"
    assert two.db("upgrade") == "There is nothing to migrate.\n"
    assert two.db("check") == "The tables have what the models say.\n"
    assert two.db("current") == f"Ostiary: {HEAD} (head)\nthe project: {second} (head)\n"
    assert two.db("heads") == f"Ostiary: {HEAD}\nthe project: {second}\n"
    history = two.db("history").splitlines()
    assert history[:3] == [
        "the project:",
        f"{first} -> {second} (head), Tags.",
        f"<base> -> {first}, Notes: the first.",
    ]
    assert history[3] == "Ostiary:"
    assert behind == ("The database lacks migrations of Ostiary: run `ostiary db upgrade` first.")
    assert two.db("downgrade", "base") == (
        "Migrated the project to base.\nMigrated Ostiary to base.\n"
    )
    assert two.db("current") == "Ostiary: base\nthe project: base\n"


@ON_SQLITE
def test_a_downgrade_takes_the_migrations_of_the_project_back(two):
    first, second = two.revisions
    two.db("upgrade")

    assert two.db("downgrade") == f"Migrated the project to {first}.\n"
    assert two.db("downgrade") == "Migrated the project to base.\n"
    assert two.refused("downgrade").startswith(
        "The database has no migration of the project to take back;"
    )
    assert two.db("stamp", second) == f"Set the revision to {second}.\n"
    assert two.db("current") == f"Ostiary: {HEAD} (head)\nthe project: {second} (head)\n"
    assert two.db("stamp", "base")
    assert two.db("current") == "Ostiary: base\nthe project: base\n"


@pytest.mark.both_databases
def test_a_process_is_ready_when_the_database_has_both(two):
    two.db("upgrade", two.revisions[0])
    two.sql("CREATE TABLE tag (id INTEGER PRIMARY KEY, name VARCHAR(255))")
    client = two.serve()

    before = client.get("/ready")
    two.sql("DROP TABLE tag")
    two.db("upgrade")
    after = client.get("/ready")
    two.sql("UPDATE ostiary_project_version SET version_num = 'of_a_newer_release'")
    newer = client.get("/ready")

    assert (before.status_code, after.status_code, newer.status_code) == (503, 200, 200)
    assert "not at the newest migration of the project" in before.json["message"]


@ON_SQLITE
def test_a_process_is_not_ready_with_a_migration_that_cannot_be_read(two):
    two.db("upgrade")
    client = two.serve()
    two.files()[-1].write_text("x = (")

    response = client.get("/ready")

    assert response.status_code == 503
    assert "cannot be read" in response.json["message"]


@ON_SQLITE
def test_a_database_of_newer_releases_is_left_as_it_is(two):
    two.db("upgrade")
    two.sql("UPDATE ostiary_project_version SET version_num = 'newer'")
    two.sql("UPDATE alembic_version SET version_num = '9999'")

    said = two.db("upgrade")

    assert said.endswith("There is nothing to migrate.\n")
    assert two.refused("migrate", "-m", "x").startswith(
        "The database is at 9999 of a newer release of Ostiary"
    )


@ON_SQLITE
def test_migrations_that_two_people_have_written_are_merged(two):
    two.db("upgrade")
    mine = two.files()[-1]
    theirs = two.folder / "migrations" / "theirs.py"
    text = mine.read_text().replace(two.revisions[1], "fedcba987654").replace('"tag', '"word')
    theirs.write_text(text.replace("_tag", "_word"))

    said = [two.refused(*command) for command in (["upgrade"], ["migrate", "-m", "x"])]
    merged = two.db("merge")
    done = two.db("upgrade")

    heads = " and ".join(sorted([two.revisions[1], "fedcba987654"]))
    assert (
        said
        == [f"The project has the newest migrations {heads}: `ostiary db merge` joins them."] * 2
    )
    [path] = re.findall(r"^Wrote (\S+\.py); `ostiary db upgrade` runs it\.\n$", merged)
    assert f'{heads.split()[0]}", "{heads.split()[2]}' in Path(path).read_text()
    assert done.startswith("Migrated the project to ")
    assert two.sql("SELECT count(*) FROM word") == [(0,)]
    assert two.refused("merge").startswith("There is nothing to merge")


@pytest.mark.live
@pytest.mark.both_databases
@ON_POSTGRESQL
def test_of_two_processes_one_migrates_both_and_the_other_waits(two):
    environment = {**os.environ, "INSTANCE_PATH": str(two.folder)}
    command = [sys.executable, "-m", "flask", "db", "upgrade"]
    both = [
        subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    said = sorted(process.communicate(timeout=60)[0] for process in both)

    assert [process.returncode for process in both] == [0, 0]
    assert said == [
        f"Migrated Ostiary to {HEAD}.\nMigrated the project to {two.revisions[1]}.\n",
        "There is nothing to migrate.\n",
    ]


@ON_SQLITE
def test_a_project_whose_migration_fails_keeps_the_product_as_it_was(two):
    broken = two.files()[-1]
    broken.write_text(
        broken.read_text().replace(
            "    op.create_table", "    op.execute('x')\n    op.create_table", 1
        )
    )

    said = two.refused("upgrade")

    assert re.match(
        rf"Migration {broken.name}, line \d+, cannot be run: .*; nothing was changed\.", said
    )
    assert two.db("current") == "Ostiary: base\nthe project: base\n"


@ON_SQLITE
@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"# \xff", "cannot be read: 'utf-8' codec"),
        (b"# \0", "cannot be read: source code string cannot contain null bytes"),
        (b"revision = 'b'\ndown_revision = 'a'\n", "follows a, of which there is no file"),
    ],
)
def test_a_file_that_is_no_migration_is_one_sentence(project, content, reason):
    path = project.folder / "migrations" / "broken.py"
    path.parent.mkdir()
    path.write_bytes(content)

    for command in ("upgrade", "history"):
        said = project.refused(command)
        assert f"{path} {reason}" in said
        assert said.count("\n") == 0


@ON_SQLITE
@pytest.mark.parametrize("code", ["x = (", "x = missing", "def upgrade(): {}['x']"])
def test_an_error_in_a_file_is_one_sentence_with_its_line(project, code):
    project.model("Note", title=True)
    project.db("migrate", "-m", "Notes")
    [path] = project.files()
    lines = len(path.read_text().splitlines())
    path.write_text(f"{path.read_text()}{code}\n")

    said = project.refused("upgrade")

    assert said.count("\n") == 0
    assert f"{path.name}, line {lines + 1}" in said
    assert not project.sql("SELECT name FROM sqlite_master WHERE name = 'note'")


@ON_SQLITE
def test_a_text_is_the_docstring_of_its_migration(project):
    project.model("Note", title=True)

    project.db("migrate", "-m", 'Say "hi" \\ there.')

    [path] = project.files()
    assert path.read_text().startswith('"""Say \'hi\' / there."""\n\nimport sqlalchemy as sa\n')
    assert path.name.endswith("_say_hi_there.py")
    compile(path.read_text(), path, "exec")
