"""docs/testing.md: its project is made as printed, and its tests pass."""

import shutil

import pytest

from tests.support.documents import blocks

from .runs import run_pytest

pytestmark = pytest.mark.live

DOCUMENT = "docs/testing.md"
# A model in Python, which a test imports before there is an app.
SHELF = """
from sqlalchemy import String
from sqlalchemy.orm import Mapped, mapped_column
from ostiary import fields
from ostiary.columns import Id, RowId
from ostiary.database import Model
from ostiary.resources import Resource

class Shelf(Model):
    __tablename__ = "shelves"
    id: Mapped[Id] = mapped_column(RowId, primary_key=True)
    label: Mapped[str] = mapped_column(String(10))

class ShelfSchema(fields.Schema):
    id = fields.Id(dump_only=True)
    label = fields.Text(10, required=True)

shelves = Resource(
    name="shelves", singular="shelf", model=Shelf, schema=ShelfSchema, rules=lambda settings: []
)
"""
SHELF_TESTS = """
from sqlalchemy import func, select
from models.shelf import Shelf
from ostiary.database import db

def test_rows(app):
    with app.app_context():
        db.session.add(Shelf(label="A"))
        db.session.commit()
        assert db.session.scalar(select(func.count()).select_from(Shelf)) == 1
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory, installed):
    """The project of the document."""
    folder = tmp_path_factory.mktemp("library")
    code, tests, conftest, parallel = blocks(DOCUMENT, "python")
    book, loan = blocks(DOCUMENT, "json")
    files = {
        "config.py": "",
        "pyproject.toml": "\n".join(blocks(DOCUMENT, "toml")).replace(
            "\n[tool.pytest.ini_options]", "", 1
        ),
        "models/book.json": book,
        "models/loan.json": loan,
        "models/book.py": code,
        "models/shelf.py": SHELF,
        "tests/conftest.py": conftest,
        "tests/test_shelves.py": SHELF_TESTS,
        "tests/test_books.py": tests,
        "tests/test_loans.py": parallel,
    }
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    for command in blocks(DOCUMENT, "console")[1].splitlines():
        program, *arguments = command.removeprefix("$ ").replace('"', "").split()
        result = installed.run(program, *arguments, cwd=folder)
        assert result.returncode == 0, result.stderr
    return folder


def test_the_tests_of_the_document_pass(installed, library, postgres_database):
    run = run_pytest(installed, library, TEST_DATABASE_URL=postgres_database.url)

    assert run.returncode == 0, run.stdout
    assert " 12 passed in " in run.stdout


def test_models_without_a_migration_fail_each_test_with_one_sentence(installed, library, tmp_path):
    changed = shutil.copytree(library, tmp_path / "changed")
    book = changed / "models" / "book.json"
    book.write_text(book.read_text().replace('"copies"', '"pages": "number", "copies"'))

    chosen = "-k", "has_copies or rows"
    run = run_pytest(installed, changed, "--ostiary-database=sqlite", "-n0", *chosen)

    assert run.returncode == 1
    assert " 2 errors in " in run.stdout
    assert run.stdout.count("The models have changes without a migration:") == 2
    assert "add column book.pages" in run.stdout
    assert "ostiary db migrate" in run.stdout
    assert "Traceback" not in run.stdout
