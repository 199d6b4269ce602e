"""`ostiary db migrate`: from changed models to changed tables, with rows in them."""

import shlex
import subprocess
import sys
from uuid import uuid4

import pytest
from sqlalchemy import Boolean, Column, Integer, MetaData, String, Table

from app.database.columns import UtcDateTime
from app.database.session import db
from app.times import now
from tests.support.documents import blocks

ON_SQLITE = pytest.mark.only_on("sqlite")


@pytest.fixture
def notes(project, kept):
    """A project with notes, which has two."""
    project.model("Note", title=True, text="string")
    project.start_with(kept / "notes", lambda: project.db("migrate", "-m", "Notes"))
    project.db("upgrade")
    project.sql("INSERT INTO note (title, text) VALUES ('First', '1'), ('Second', NULL)")
    return project


@pytest.mark.both_databases
def test_a_renamed_property_and_one_of_another_type_keep_their_values(notes):
    notes.model("Note", heading=True, text={"type": "number", "index": True})

    said = notes.refused("migrate", "-m", "Headings")
    [*_, printed] = blocks("docs/upgrading.md", "sh", "Migrations of a project")
    option = shlex.split(printed.splitlines()[0])[-2:]
    done = notes.migrate(*option)

    assert said == (
        "The migration would drop note.title and add heading: give --rename note.title=heading if"
        " the name is new and the values are to stay, and --allow-drop if they are not."
    )
    assert done == [
        "rename note.title to heading",
        "modify type note.text",
        "add index note (text)",
    ]
    assert notes.sql("SELECT heading, text FROM note ORDER BY id") == [
        ("First", 1),
        ("Second", None),
    ]
    assert notes.db("check") == "The tables have what the models say.\n"
    notes.db("downgrade")
    assert notes.sql("SELECT title FROM note ORDER BY id") == [("First",), ("Second",)]


@pytest.mark.both_databases
def test_a_renamed_model_keeps_its_rows(notes):
    (notes.folder / "models" / "Note.json").unlink()
    notes.model("Memo", title=True, text="string")

    said = notes.refused("migrate", "-m", "Memos")
    notes.migrate("--rename", "note=memo")

    assert "give --rename note=memo if" in said
    assert notes.sql("SELECT count(*) FROM memo") == [(2,)]
    assert notes.serve().post("/api/Memos", json={"title": "Third"}).json["id"] == 3


@ON_SQLITE
def test_a_terminal_is_asked_whether_a_name_is_new(notes, monkeypatch):
    notes.model("Note", caption="string", heading=True, text="string")
    monkeypatch.setattr("app.migrate.cli.is_terminal", lambda: True)

    said = notes.db("migrate", "-m", "Headings", input="n\ny\n")
    notes.db("upgrade")

    assert "Is caption the new name of note.title, whose values stay? [y/N]: n\n" in said
    assert "Is heading the new name of note.title, whose values stay? [y/N]: y\n" in said
    assert notes.sql("SELECT heading, caption FROM note") == [("First", None), ("Second", None)]


@ON_SQLITE
@pytest.mark.parametrize("given", ["note.title", "note.name=heading", "note.title=text", "a=b"])
def test_a_rename_that_cannot_be_is_refused(notes, given):
    said = notes.refused("migrate", "-m", "x", "--rename", given)

    assert said.startswith(f"--rename {given}")
    assert said.count("\n") == 0
    assert len(notes.files()) == 1


@ON_SQLITE
def test_a_rename_to_what_no_model_has_is_refused(notes):
    notes.model("Note", bookTitle=True, text="string")

    said = notes.refused("migrate", "-m", "x", "--rename", "note.title=bookTitle")

    assert said == (
        "--rename note.title=bookTitle: the models have no column note.bookTitle;"
        " did you mean 'book_title'?."
    )


@pytest.mark.both_databases
def test_what_has_values_is_dropped_only_if_it_is_allowed(notes):
    notes.model("Tag", name=True)
    notes.migrate()
    notes.sql("INSERT INTO tag (name) VALUES ('x')")
    (notes.folder / "models" / "Tag.json").unlink()
    notes.model("Note", title=True)

    said = notes.refused("migrate", "-m", "Fewer")
    done = notes.migrate("--allow-drop")

    assert said == (
        "The migration would drop the table tag with 1 row, and note.text with values in 1 row:"
        " give --allow-drop if they are not needed any more."
    )
    assert done == ["remove table tag", "remove column note.text"]
    assert notes.sql("SELECT title FROM note ORDER BY id") == [("First",), ("Second",)]


@pytest.mark.both_databases
def test_tables_of_others_in_the_database_stay(notes):
    for table in ("theirs", "title"):
        notes.sql(f"CREATE TABLE {table} (id INTEGER PRIMARY KEY)")

    assert notes.db("check") == "The tables have what the models say.\n"
    assert "There is nothing to migrate" in notes.db("migrate", "-m", "x")


@pytest.mark.live
@pytest.mark.both_databases
def test_rows_get_the_defaults_of_new_properties(notes):
    stated = {
        "plan": {"type": "string", "required": True, "default": "it's free"},
        "stars": {"type": "number", "required": True, "default": 3},
        "isPublic": {"type": "boolean", "required": True, "default": True},
        "price": {"type": "decimal", "precision": 8, "scale": 2, "default": "12.50"},
        "tags": {"type": ["string"], "default": ["new"]},
        "day": {"type": "dateonly", "default": "2026-01-02"},
        "comment": "string",
    }
    notes.model("Note", title=True, text="string", **stated)
    notes.configure(USER_PROPERTIES={"level": {"type": "number", "required": True, "default": 1}})
    notes.sql(
        "INSERT INTO users (realm, email, password_hash, email_verified, created)"
        " VALUES ('', 'ada@example.com', '!', FALSE, '2026-01-02 03:04:05')"
    )

    notes.migrate()
    row = notes.serve().get("/api/Notes/1").json

    assert row == {
        "id": 1,
        "title": "First",
        "text": "1",
        "plan": "it's free",
        "stars": 3,
        "isPublic": True,
        "price": "12.50",
        "tags": ["new"],
        "day": "2026-01-02",
        "comment": None,
    }
    assert notes.sql("SELECT level FROM users") == [(1,)]
    check_format(notes)
    assert notes.db("check") == "The tables have what the models say.\n"


@pytest.mark.both_databases
def test_rows_get_the_defaults_of_columns_in_python(project, monkeypatch):
    metadata = MetaData(naming_convention=db.metadata.naming_convention)
    for table in db.metadata.tables.values():
        table.to_metadata(metadata)
    thing = Table("thing", metadata, Column("id", Integer, primary_key=True))
    for module in ("comparing", "rows"):
        monkeypatch.setattr(f"app.migrate.{module}.all_metadata", lambda _app: metadata)
    project.migrate()
    project.sql("INSERT INTO thing (id) VALUES (1)")
    columns = [
        Column("stars", Integer, default=2, nullable=False),
        Column("is_open", Boolean, default=True, nullable=False),
        Column("changed", UtcDateTime, default=now, nullable=False),
        Column("kind", String(5), server_default="x", nullable=False),
    ]
    for column in columns:
        thing.append_column(column)

    done = project.migrate()

    assert done == [f"add column thing.{column.name}" for column in columns]
    [(stars, is_open, has_changed, kind)] = project.sql(
        "SELECT stars, is_open, changed IS NOT NULL, kind FROM thing"
    )
    assert (stars, bool(is_open), bool(has_changed), kind) == (2, True, True, "x")
    thing.append_column(Column("token", String(32), default=lambda: uuid4().hex, nullable=False))
    assert project.refused("migrate", "-m", "x").startswith("Column thing.token needs a value")


@pytest.mark.both_databases
def test_a_new_property_that_needs_a_value_needs_a_default(notes):
    notes.model("Note", title=True, text=True, stars={"type": "number", "required": True})

    said = notes.refused("migrate", "-m", "Stars")
    text = {"type": "string", "required": True, "default": "-"}
    notes.model("Note", title=True, text=text, stars={"type": "number", "default": 1})
    done = notes.migrate()

    assert said == (
        "Column note.stars needs a value and has no default, and 2 rows would be without one: give"
        " it a default, or let it be optional until all rows have a value; column note.text needs a"
        " value and has no default, and 1 row would be without one: give it a default, or let it be"
        " optional until all rows have a value."
    )
    assert done == ["add column note.stars", "modify nullable note.text"]
    assert notes.sql("SELECT text, stars FROM note ORDER BY id") == [("1", 1), ("-", 1)]


@pytest.mark.both_databases
def test_names_that_are_keywords_and_defaults_of_all_characters_are_written_as_they_are(project):
    default = 'a :name at 100% isn\'t \\ a "quote" \\: a::b'
    project.model("Order", user="string", end="string", **{"from": "date"})
    project.migrate()
    project.sql("""INSERT INTO "order" ("user", "end") VALUES (NULL, '7')""")
    text = {"type": "string", "required": True, "default": default}
    since = {"type": "date", "required": True, "default": "2026-01-02T03:04:05Z"}
    project.model("Order", user=text, end="number", note=text, **{"from": since})

    project.migrate()

    assert project.serve().get("/api/Orders/1").json == {
        "id": 1,
        "user": default,
        "end": 7,
        "note": default,
        "from": "2026-01-02T03:04:05.000Z",
    }
    assert project.db("check") == "The tables have what the models say.\n"


@pytest.mark.both_databases
def test_a_migration_that_the_rows_of_production_do_not_allow_changes_nothing(project):
    project.model("Note", title=True)
    project.migrate()
    project.model("Note", title=True, stars={"type": "number", "required": True})
    project.model("Tag", name=True)
    project.db("migrate", "-m", "Stars")
    project.sql("INSERT INTO note (title) VALUES ('First')")

    said = project.refused("upgrade")

    [_, file] = project.files()
    assert said.startswith(f"Migration {file.name}, line ")
    assert "cannot be run: " in said
    assert said.endswith("nothing was changed; a server_default of the column fills the rows.")
    assert project.db("current").splitlines()[1] == f"the project: {revision(project.files()[0])}"
    assert project.sql("SELECT title FROM note") == [("First",)]
    file.write_text(
        file.read_text().replace("nullable=False)", "nullable=False, server_default='1')")
    )
    project.db("upgrade")
    assert project.sql("SELECT stars FROM note") == [(1,)]


def revision(file):
    return file.name.split("_")[1]


def check_format(project):
    """Check that the files of migrations are as ruff would have them."""
    for command in (["check"], ["format", "--check"]):
        ruff = [sys.executable, "-m", "ruff", *command, "--no-cache", "--isolated"]
        result = subprocess.run(
            [*ruff, *project.files()], capture_output=True, text=True, check=False
        )
        assert result.returncode == 0, result.stdout


@pytest.mark.both_databases
def test_a_pair_becomes_unique_by_a_migration(notes):
    pair = {"a_pair_with_a_name": {"keys": {"title": 1, "text": 1}, "options": {"unique": True}}}
    notes.model("Note", indexes=pair, title=True, text="string")

    done = notes.migrate()

    assert "add constraint note (title, text)" in done
    assert notes.db("check") == "The tables have what the models say.\n"
