"""Fixtures of a project: what they create, and what they leave alone."""

import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial

import pytest
from sqlalchemy import text

from app.access.roles import Role
from app.database.session import db
from app.projects.fixtures.files import fixture_roles
from app.projects.fixtures.loading import load_fixtures
from tests.conftest import PASSWORD, Api
from tests.definitions.conftest import running_a_command, tables_of
from tests.definitions.library import OPEN, rule
from tests.support.documents import blocks
from tests.support.rows import count

UNIQUE = {"type": "string", "required": True, "index": {"unique": True}}
AUTHOR = {
    "name": "Author",
    "properties": {"name": UNIQUE, "born": "dateonly"},
    "relations": {"teacher": {"type": "belongsTo", "model": "Author"}},
    "acls": OPEN,
}
BOOK = {
    "name": "Book",
    "properties": {
        "isbn": UNIQUE,
        "title": {"type": "string", "required": True},
        "pages": {"type": "integer", "default": 1, "validates": {"min": 1}},
        "price": {"type": "decimal", "precision": 8, "scale": 2},
    },
    "relations": {
        "author": {"type": "belongsTo", "model": "Author"},
        "genres": {"type": "hasAndBelongsToMany", "model": "Genre"},
    },
    "acls": OPEN,
}
GENRE = {"name": "Genre", "properties": {"name": UNIQUE}, "acls": OPEN}
COPY = {
    "name": "Copy",
    "properties": {"number": "integer", "state": "string"},
    "relations": {
        "book": {"type": "belongsTo", "model": "Book"},
        "keeper": {"type": "belongsTo", "model": "users"},
    },
    # Nobody may read copies: fixtures refer to them all the same.
    "acls": [rule("$everyone", "DENY")],
}
COUNTRY = {
    "name": "Country",
    "properties": {"code": {"type": "string", "id": True}, "name": "string"},
    "acls": OPEN,
}
MODELS = {"author": AUTHOR, "book": BOOK, "copy": COPY, "genre": GENRE, "country": COUNTRY}
# A hook in Python, which counts what it is called with.
HOOK = """
def extend(books):
    @books.before_save.connect
    def trim(sender, event):
        if "title" in event.values:
            event.values["title"] = event.values["title"].strip()
"""

ADA = {"email": "Ada@example.com", "password": PASSWORD, "roles": ["librarian"]}
FILES = {
    # The first file has what refers to the rows of the others.
    "1-copies": {
        "Copy": {
            "key": ["book", "number"],
            "rows": [
                {"book": {"isbn": "1"}, "number": 1, "keeper": {"email": "ada@example.com"}},
                {"book": {"isbn": "1"}, "number": 2},
            ],
        },
        "todos": {
            "key": ["title", "owner"],
            "rows": [{"title": "Dust", "owner": {"email": "ada@example.com"}}],
        },
    },
    "2-books": {
        "roles": ["librarian", {"name": "clerk"}],
        "users": [ADA, {"email": "bo@example.com", "password": {"$env": "BO_PASSWORD"}}],
        "Book": [
            {"isbn": "1", "title": " Notes ", "author": {"name": "Ada"}, "price": "12.50"},
            {"isbn": "2", "title": "More", "authorId": {"name": "Bo"}, "genres": [{"name": "A"}]},
        ],
        "Genre": [{"name": "A"}, {"name": "B"}],
    },
    "Author": [
        {"name": "Bo", "teacher": {"name": "Ada"}},
        {"name": "Ada", "born": "1815-12-10"},
    ],
    "countries": {"Country": [{"code": "FR", "name": "France"}]},
}
CREATED = "Author 2, Book 2, Copy 2, Country 1, Genre 2, roles 2, todo 1, user 2"


@pytest.fixture
def project(make_app, tmp_path, monkeypatch):
    """Make an app of a project with models and these fixtures."""
    monkeypatch.setenv("INSTANCE_PATH", str(tmp_path))
    monkeypatch.setenv("BO_PASSWORD", "a quiet harbour at night")

    def write(files):
        (tmp_path / "fixtures").mkdir(exist_ok=True)
        for name, content in files.items():
            text = content if isinstance(content, str) else json.dumps(content)
            (tmp_path / "fixtures" / f"{name}.json").write_text(text)

    with ExitStack() as tables:

        def make(files, models=MODELS, code=HOOK, **settings):
            write(files)
            (tmp_path / "models").mkdir()
            for name, model in models.items():
                (tmp_path / "models" / f"{name}.json").write_text(json.dumps(model))
            (tmp_path / "models" / "book.py").write_text(code)
            with running_a_command():
                app = make_app(MODELS_FOLDER="models", **settings)
            tables.enter_context(tables_of(app))
            return app

        make.write = write
        yield make


def run(app, *arguments):
    return app.test_cli_runner().invoke(args=["fixtures", *arguments])


def loaded(app, *options):
    result = run(app, "load", *options)
    assert result.exit_code == 0, result.output
    return result.output


def problems(app):
    """Return the problems that loading reports, once they were found to have loaded nothing."""
    result = run(app, "load")
    assert result.exit_code == 1, result.output
    header, *lines = result.output.splitlines()
    assert header == "Error: the fixtures cannot be used:"
    assert not count(app, Role), "something was loaded"
    return [line.strip() for line in lines]


def log_in(app, secrets, email="ada@example.com", password=PASSWORD):
    """Log in; return the user's id, and a function that calls the API."""
    api = Api(app.test_client(), secrets)
    answer = api("POST", "/users/login", {"email": email, "password": password})
    assert answer.status_code == 200, answer.json
    secrets.append(answer.json["id"])
    call = partial(api, token=answer.json["id"])
    return answer.json["userId"], call


def test_fixtures_are_created_once_and_what_users_change_stays(project, secrets, monkeypatch):
    app = project(FILES)
    assert run(app, "check").output == (
        "Checked the fixtures; loading them would do this: "
        f"created 14 ({CREATED}), changed 0, left 0.\n"
    )
    assert not count(app, Role)
    assert loaded(app) == f"Loaded the fixtures: created 14 ({CREATED}), changed 0, left 0.\n"

    user_id, call = log_in(app, secrets)
    log_in(app, secrets, "bo@example.com", "a quiet harbour at night")
    by_isbn = '{"include": ["author", "genres"], "order": "isbn"}'
    [notes, more] = call("GET", f"/books?filter={by_isbn}").json
    # The default of a property, the hook of the model, a decimal, references by name.
    assert (notes["pages"], notes["title"], notes["price"]) == (1, "Notes", "12.50")
    assert (notes["author"]["name"], more["author"]["name"]) == ("Ada", "Bo")
    assert [[genre["name"] for genre in book["genres"]] for book in (notes, more)] == [[], ["A"]]
    [todo] = call("GET", f"/users/{user_id}/todos").json
    assert todo["title"] == "Dust"
    assert fixture_roles(app) == {"librarian", "clerk"}

    call("PATCH", f"/books/{notes['id']}", {"title": "Mine"})
    # Who exists already needs no password.
    monkeypatch.delenv("BO_PASSWORD")
    assert loaded(app) == f"Loaded the fixtures: created 0, changed 0, left 14 ({CREATED}).\n"
    assert call("GET", f"/books/{notes['id']}").json["title"] == "Mine"

    assert "changed 1 (Book 1), left 13" in loaded(app, "--overwrite")
    assert call("GET", f"/books/{notes['id']}").json["title"] == "Notes"
    log_in(app, secrets)


@pytest.mark.both_databases
@pytest.mark.parametrize("command", ["load", "check"])
def test_tables_that_differ_from_the_models_are_named_before_anything_is_loaded(project, command):
    app = project(FILES)
    with app.app_context(), db.engine.connect() as connection:
        connection.execute(text("ALTER TABLE book DROP COLUMN pages"))

    result = run(app, command)

    assert result.exit_code == 1
    assert result.output == (
        "Error: the database has no book.pages: run `ostiary db migrate` and `ostiary db upgrade`\n"
    )
    assert not count(app, Role)


@pytest.mark.both_databases
def test_overwriting_grants_roles_and_changes_references_but_no_password(project, secrets):
    app = project(FILES)
    loaded(app)
    changed = {
        "2-books": {
            "users": [{**ADA, "password": "another harbour at night", "roles": ["clerk"]}],
            "Book": [
                {"isbn": "1", "title": "Notes", "author": {"name": "Bo"}},
                {"isbn": "2", "title": "More", "genres": [{"name": "B"}, {"name": "A"}]},
            ],
        }
    }
    project.write(changed)
    assert "changed 0" in loaded(app)
    assert "changed 3 (Book 2, user 1)" in loaded(app, "--overwrite")
    assert "changed 0" in loaded(app, "--overwrite")
    _, call = log_in(app, secrets)
    books = call("GET", '/books?filter={"include": "author", "where": {"isbn": "1"}}').json
    assert [book["author"]["name"] for book in books] == ["Bo"]
    [genres] = call("GET", '/books?filter={"include": "genres", "where": {"isbn": "2"}}').json
    assert {genre["name"] for genre in genres["genres"]} == {"A", "B"}
    assert "clerk" in app.test_cli_runner().invoke(args=["roles", "list"]).output


def test_processes_that_load_at_the_same_time_create_everything_once(project):
    app = project(FILES)
    with ThreadPoolExecutor(2) as pool:
        outcomes = list(pool.map(lambda _: load_fixtures(app), range(2)))
    assert sorted(outcome.created.total() for outcome in outcomes) == [0, 14]
    assert count(app, Role) == 2


def test_all_problems_of_all_files_are_reported_and_nothing_is_loaded(project):
    files = {
        "a-broken": "{",
        "a-twice": '{"roles": [], "roles": []}',
        "a-text": '"roles"',
        "books": {
            "roles": ["clerk", "", 5],
            "Bok": [],
            "Book": [
                {"isbn": "1", "title": "", "pages": 0, "colour": "red"},
                {"isbn": "2", "title": "More", "author": {"name": "Ada"}},
                {"isbn": "3", "title": "Even more", "author": {"name": "Nobody"}},
                {"isbn": "4", "title": "Four", "author": {"nme": "Ada"}},
                {"isbn": "8", "title": "Eight", "author": {}},
                {"isbn": "6", "title": "Six", "genres": "A"},
                {"isbn": "7", "title": "Seven", "genres": [{"name": "A"}]},
                {"isbn": "5", "title": "Five"},
                {"isbn": "5", "title": "Five again"},
                {"title": "None"},
                7,
            ],
            "Author": [
                {"name": "Ada", "born": "yesterday"},
                {"name": "Bo", "teacher": {"name": "Cy"}},
                {"name": "Cy", "teacher": {"name": "Bo"}},
            ],
            "Copy": [{"number": 1}],
            "Country": {"key": "code", "rows": [], "row": []},
            "todos": {"key": ["title"], "rows": [{"title": "Dust"}]},
        },
        "users": [
            {"email": "ada@example.com", "password": "password"},
            {"email": "bo@example.com", "password": {"$env": "NOT_SET"}},
            {"email": "cy@example.com", "password": PASSWORD, "roles": ["$owner"]},
            {"email": "not an address", "password": PASSWORD},
            {"password": PASSWORD},
        ],
    }
    assert sorted(problems(project(files))) == [
        "a-broken.json: cannot be read: Expecting property name enclosed in double quotes: "
        "line 1 column 2 (char 1)",
        "a-text.json: must be an object",
        "a-twice.json: cannot be read: roles is given twice",
        "books.json: Author[0].born: must be a date like 2026-01-02",
        "books.json: Author[1].teacher: cannot be found: rows refer to each other in a circle",
        "books.json: Author[2].teacher: cannot be found: rows refer to each other in a circle",
        "books.json: Bok: there is no such model; did you mean 'Book'?",
        "books.json: Book[0].colour: is not a property of this model",
        "books.json: Book[0].pages: must be at least 1",
        "books.json: Book[0].title: can't be blank",
        "books.json: Book[10]: must be an object",
        'books.json: Book[2].author: there is no Author {"name": "Nobody"}',
        "books.json: Book[3].author.nme: is not a property of this model",
        "books.json: Book[4].author: must have properties by which the row is found",
        "books.json: Book[5].genres: must be a list of references",
        'books.json: Book[6].genres[0]: there is no Genre {"name": "A"}',
        "books.json: Book[8]: is the same row as books.json: Book[7]",
        "books.json: Book[9]: must have isbn, by which it is known",
        "books.json: Copy: needs the properties by which its rows are known: "
        '{"key": ["name"], "rows": [...]}',
        "books.json: Country.key: must be a list",
        "books.json: Country.row: there is no such key: there are key and rows",
        "books.json: roles[1].role: must be printable, not blank and without ';'",
        'books.json: roles[2]: must be the name of a role, or {"name": ...}',
        'books.json: todos.rows[0]: needs its owner: "owner": {"email": ...}',
        "users.json[0].password: is too common",
        "users.json[1].password: the environment has no variable NOT_SET",
        "users.json[2].role: $owner cannot be granted: it is computed for each request",
        "users.json[3].email: is not an email address",
        "users.json[4]: must have email, by which it is known",
    ]


def test_fixtures_are_held_to_the_limits_of_models(project):
    limits = [{"per": "author", "atMost": 1}]
    files = {
        "Author": [{"name": "Ada"}],
        "Book": [{"isbn": isbn, "title": "Notes", "author": {"name": "Ada"}} for isbn in "12"],
    }
    app = project(files, models={**MODELS, "book": {**BOOK, "limits": limits}})
    assert problems(app) == ["Book.json[1]: At most 1 book for this author."]


def test_a_row_that_is_stored_with_another_key_is_refused(project):
    code = """
def extend(books):
    @books.before_save.connect
    def change(sender, event):
        event.values["isbn"] = event.values["isbn"].replace("-", "")
"""
    app = project({"Book": [{"isbn": "1-2", "title": "Notes"}]}, code=code)
    assert problems(app) == ["Book.json[0]: is stored with another isbn: declare what is stored"]


def test_a_defect_of_a_hook_is_reported_with_the_row(project):
    code = """
def extend(books):
    @books.before_save.connect
    def fail(sender, event):
        event.values["title"].no_such_method()
"""
    app = project({"Book": [{"isbn": "1", "title": "Notes"}]}, code=code)
    with pytest.raises(AttributeError) as raised:
        load_fixtures(app)
    assert raised.value.__notes__ == ["in Book.json[0]"]


def test_the_environment_may_name_a_file_with_a_secret(project, secrets, monkeypatch, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("a very quiet harbour\n")
    monkeypatch.setenv("ADA_PASSWORD_FILE", str(secret))
    users = [{"email": {"$env": "ADA_EMAIL"}, "password": {"$env": "ADA_PASSWORD"}}]
    monkeypatch.setenv("ADA_EMAIL", "ada@example.com")
    app = project({"users": users})
    loaded(app)
    log_in(app, secrets, password="a very quiet harbour")
    secret.unlink()
    assert "left 1 (user 1)" in loaded(app)


def test_the_example_of_the_document(project, secrets, monkeypatch):
    [example], [commands] = blocks("docs/fixtures.md", "json"), blocks("docs/fixtures.md", "sh")
    exported, *calls = commands.splitlines()
    name, _, password = exported.removeprefix("export ").partition("=")
    monkeypatch.setenv(name, password.strip("'"))
    app = project({"library": example})
    outputs = [
        app.test_cli_runner().invoke(args=call.removeprefix("ostiary ").split()).output
        for call in calls
    ]
    outcome = "created 5 (Author 1, Book 1, roles 1, user 2), changed 0, left 0.\n"
    assert [output.partition(": ")[2] for output in outputs] == [outcome, outcome]
    _, call = log_in(app, secrets, password=password.strip("'"))
    [book] = call("GET", '/books?filter={"include": "author"}').json
    assert book["author"]["name"] == "Mary Shelley"
    assert call("GET", "/users").status_code == 200


def test_the_test_in_the_document(project, monkeypatch):
    [example], [code] = (blocks("docs/fixtures.md", language) for language in ("json", "python"))
    # The plugin would have a placeholder for it.
    monkeypatch.setenv("ADA_PASSWORD", PASSWORD)
    tests = {}
    exec(code, tests)
    tests["test_the_fixtures_can_be_loaded"](project({"library": example}))
