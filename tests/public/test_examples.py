"""The examples of the public package are a project, whose app does what they say."""

import importlib
import json
import shutil
from contextlib import redirect_stdout, suppress
from io import StringIO
from pathlib import Path
from types import ModuleType

import pytest
from blinker import Signal
from flask import Flask
from sqlalchemy import delete

from app import project_modules, signals
from app.access.rules import MethodRules
from app.database.metadata import all_metadata
from app.database.session import db
from app.error_responses import error_body
from app.errors import AccessDenied, TooManyRequests
from app.outbox.delivery import drain
from app.outbox.models import Delivery
from app.rest.collection import get_resource
from app.server.hash_queue import hashing_views
from app.testing.apps import close
from app.users.resource import users
from app.users.service import create_user, issue_token
from tests.connector.conftest import http_server, server  # noqa: F401 fixtures
from tests.definitions.conftest import running_a_command
from tests.mail.resets import parse
from tests.support.answers import refusal
from tests.support.apps import build

from .examples import MODULES, code, examples, identifiers

REMOTE = "http://127.0.0.1:8099"
# The tables and the fields of two examples, served.
EDITIONS = """
from ostiary.resources import Resource
from ostiary.rules import EVERYONE, allow

editions = Resource(
    name="editions",
    singular="edition",
    model=Edition,
    schema=EditionSchema,
    rules=lambda settings: [allow(EVERYONE)],
)
"""
SOURCES = {
    "geo": {"url": "/geo", "query": {"street": "{street}", "city": "{city}"}},
    "SHELVES": {"url": "/shelves/{id}"},
}
FUNCTIONS = {"geo": {"geocode": ["street", "city"]}, "SHELVES": {"find": ["id"]}}
MAIL = {
    "en/overdue/subject.txt": "Overdue",
    "en/overdue/body.txt": "{{ titles | join(', ') }}",
    "de/overdue/subject.txt": "Überfällig",
    "de/overdue/body.txt": "Bitte zurück: {{ titles | join(', ') }}",
}
PASSWORD = "a quiet harbour"


class Library:
    """The project that the examples are, and its app."""

    def __init__(self, app: Flask) -> None:
        self.app = app
        self.client, self.printed = app.test_client(), StringIO()
        with app.app_context():
            self.user = create_user("eve@example.com", PASSWORD, email_verified=True)
            root = create_user("root@example.com", PASSWORD, roles=["admin"], email_verified=True)
            self.token, self.admin = (issue_token(user.id).id for user in (self.user, root))

    def add_book(self, title: str, **values):
        """Store a book and its author; return the book."""
        author = self("POST", "/authors", {"name": "Austen"}, self.admin).json
        body = {"title": title, "authorId": author["id"], **values}
        return self("POST", "/books", body, self.admin).json

    def example(self, name: str) -> ModuleType:
        """Run the examples of a module in the app, once."""
        with self.app.app_context(), redirect_stdout(self.printed):
            return importlib.import_module(f"example_{name}")

    def __call__(self, verb: str, path: str, body=None, token: str | None = None):
        headers = {"Authorization": token} if token else {}
        return self.client.open(f"/api{path}", method=verb, json=body, headers=headers)


@pytest.fixture(scope="module")
def library(tmp_path_factory, sqlite_template, http_server):  # noqa: F811
    folder = tmp_path_factory.mktemp("library")
    model, project = examples("resources")
    files = {
        "models/book.py": model,
        "models/edition.py": "\n".join([code("columns"), code("fields"), EDITIONS]),
        "project.py": project,
        **{f"example_{name}.py": code(name) for name in MODULES},
        **{f"templates/mail/{name}": text for name, text in MAIL.items()},
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text.replace(REMOTE, http_server.url))
    shutil.copy(sqlite_template, folder / "ostiary.sqlite")
    with running_a_command():
        app = build(
            f"sqlite:///{folder}/ostiary.sqlite",
            folder / "mail",
            MODELS_FOLDER=str(folder / "models"),
            PROJECT_FILE=str(folder / "project.py"),
            TEMPLATES_FOLDER=str(folder / "templates"),
            OUTBOX_IN_PROCESS=False,
            EMAIL_VERIFICATION="optional",
            EMAIL_CHANGE="confirmed",
            THROTTLE_ENABLED=True,
            DATA_SOURCES={
                name: {
                    "connector": "rest",
                    "baseURL": http_server.url,
                    "operations": [{"template": template, "functions": FUNCTIONS[name]}],
                }
                for name, template in SOURCES.items()
            },
        )
    with app.app_context():
        all_metadata(app).create_all(db.engine)
    library = Library(app)
    for name in ("outbox", "throttles", "users"):
        library.example(name).init_app(app)
    yield library
    # Of the resource and the signals that all apps of the process have.
    users.before_save.disconnect(library.example("users").only_our_domain)
    for signal in vars(signals).values():
        for receiver in list(signal.receivers_for(None)) if isinstance(signal, Signal) else ():
            if receiver.__module__.startswith("example_"):
                signal.disconnect(receiver)
    close(app)
    project_modules.forget()


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_use_every_public_name(name):
    assert {*MODULES[name].__all__} <= identifiers(name)


def test_the_example_of_resources_is_a_model_with_relations_and_endpoints(library, capsys):
    book = library.add_book(
        " Emma,  a novel ", publisher={"name": "Murray"}, editions=[{"year": "1815"}]
    )
    library("PATCH", f"/books/{book['id']}", {"similarIds": [book["id"]]}, library.admin)
    lent = library("POST", f"/books/{book['id']}/lend", token=library.token).json
    relations = ["author", "loan", "readers", "similar", "publishedBy", "allEditions"]
    query = f"/books/{book['id']}?filter={json.dumps({'include': relations})}"
    shown = library("GET", query, token=library.admin).json
    mine = library("GET", f"/users/{library.user.id}/loans", token=library.token).json
    returned = library("DELETE", f"/loans/{lent['id']}", token=library.token)

    assert book["title"] == "Emma, a novel"
    assert mine == [lent]
    assert (shown["author"]["name"], shown["loan"]) == ("Austen", lent)
    assert [reader["email"] for reader in shown["readers"]] == ["eve@example.com"]
    assert [similar["id"] for similar in shown["similar"]] == [book["id"]]
    assert (shown["publishedBy"], shown["allEditions"]) == ({"name": "Murray"}, [{"year": "1815"}])
    assert returned.status_code == 200
    assert capsys.readouterr().out == f"returned {book['id']}\n"
    books = library("GET", f"/authors/{book['authorId']}/books").json
    assert [written["id"] for written in books] == [book["id"]]


def test_the_example_of_resources_has_hooks_and_its_own_way_of_storing(library):
    book = library.add_book("Persuasion" * 6)
    untitled = {"title": "Untitled", "authorId": book["authorId"]}
    refused = library("POST", "/books", untitled, library.admin)
    kept = library("DELETE", f"/books/{book['id']}", token=library.admin)

    assert book["title"] == ("Persuasion" * 6)[:50]
    assert refusal(refused) == refusal(kept) == (403, "ACCESS_DENIED")


def test_the_example_of_a_project_registers_a_resource_and_finds_others(library):
    project = importlib.import_module("project")

    with library.app.app_context():
        names = project.import_authors(["Woolf"])
        # Outside of requests hooks are called too, for an anonymous caller.
        with pytest.raises(AccessDenied, match="A book has a title"):
            get_resource("books").insert([{"title": "Untitled", "author_id": 1}])
        with pytest.raises(LookupError, match="there is no resource 'book'; there are "):
            get_resource("book")

    assert "Woolf" in names
    assert names == [author["name"] for author in library("GET", "/writers").json]


def test_the_example_of_rules_decides(library):
    example = library.example("rules")

    def decide(method, access, user_id=None, *roles):
        rules = MethodRules(example.rules({}), method, access, example.roles)
        return bool(rules.decision(user_id, roles))

    assert decide("find", "READ")
    assert not decide("count", "READ")
    assert not decide("create", "WRITE")
    assert decide("create", "WRITE", 8)
    assert not decide("create", "WRITE", 7)
    assert decide("updateAll", "WRITE", 8, "clerk")
    assert decide("updateAll", "WRITE", 8, "admin")
    assert not decide("updateAll", "WRITE", 8)
    with library.app.app_context():
        assert db.session.scalar(example.select(example.Book.id).where(example.reader(999))) is None


def test_the_examples_of_columns_and_fields_are_one_model(library):
    values = {
        "isbn": "9780141439587",
        "title": "Emma",
        "blurb": "A novel\nin three volumes",
        "kind": "hardcover",
        "pages": 474,
        "printed": 2**40,
        "weight": 0.5,
        "price": "12.50",
        "inPrint": False,
        "published": "1815-12-23",
        "batch": "018c5a3e-7d2b-4c1a-9f00-3b1d2e4f5a6b",
        "tags": ["novel"],
        "size": {"width": 13},
        "printedAt": {"lat": 51.5, "lng": -0.1},
    }

    made = library("POST", "/editions", values).json
    blank = library("POST", "/editions", {**values, "title": " ", "pages": 0})

    assert {**values, "id": 1, "created": made["created"]} == made
    assert library("GET", "/editions/1").json == made
    assert {*blank.json["error"]["details"]["messages"]} == {"title", "pages"}
    with library.app.app_context():
        [row] = db.session.scalars(db.select(importlib.import_module("models.edition").Edition))
        assert (len(row.key), row.mongo_id, row.editor_id) == (36, None, None)


def test_the_example_of_the_database_changes_all_or_nothing(library, capsys):
    example = library.example("database")
    library.add_book("Adam")

    with library.app.app_context():
        assert "Adam Bede" in example.rename_all({"Adam": "Adam Bede"})
        assert {"books", "loans", "users"} <= {*example.tables()}

    assert capsys.readouterr().out == "renamed\n"


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ({}, "username or email is required"),
        ({"email": 7}, "Invalid email"),
        ({"email": "eve@example.com", "password": "wrong"}, "This is not your password."),
    ],
)
def test_the_example_of_errors_tells_users_what_is_wrong(library, form, said):
    with library.app.app_context():
        assert library.example("errors").sign_in(form) == said


def test_the_example_of_errors_has_errors_of_its_own(library):
    error = library.example("errors").BookIsLent()

    assert error_body(error)["error"]["code"] == "BOOK_IS_LENT"
    assert error_body(error)["status"] == 409


def test_the_example_of_errors_answers_for_other_services(library, server):  # noqa: F811
    example, book = library.example("errors"), importlib.import_module("models.book").Book(id=7)
    server.routes["shelves"] = lambda handler: handler.reply(None, 500)

    with library.app.app_context():
        example.check_settings(library.app)
        with pytest.raises(example.RemoteError, match="remote service answered 500"):
            example.find_shelf(book)
        server.routes["shelves"] = lambda handler: handler.reply({"closed": True})
        with pytest.raises(example.TemporarilyUnavailable, match="being counted"):
            example.find_shelf(book)


def test_the_example_of_identity_knows_the_caller(library):
    example = library.example("identity")

    def describe(**headers):
        with library.app.test_request_context(headers=headers):
            library.app.preprocess_request()
            return example.describe_caller()

    with library.app.app_context():
        assert example.describe_caller() == "nobody"
    assert describe() == "nobody"
    assert describe(Authorization=library.token) == f"user {library.user.id}, session, []"
    with library.app.test_request_context(headers={"Authorization": library.token}):
        library.app.preprocess_request()
        assert example.require_recent_login().user_id == library.user.id


def test_the_example_of_users_creates_changes_and_deletes_one(library):
    assert "{'librarian'}\nNone\n64\n" in library.printed.getvalue()
    assert (
        library.client.post(
            "/new-password", data={"access_token": "x", "password": "y"}
        ).status_code
        == 401
    )
    assert library.client.post("/confirm", data={"token": "x"}).status_code == 400
    assert "pages.set_new_password" in hashing_views(library.app)
    refused = library("POST", "/users", {"email": "mallory@example.net", "password": PASSWORD})
    assert refused.json["message"] == "Register with your address at example.com."


def test_the_example_of_signals_notes_events(library, caplog):
    example = library.example("signals")

    with library.app.app_context():
        example.lend(7)
        create_user("signal@example.com", PASSWORD)

    assert caplog.text.count("book 7 was lent") == 2
    assert "registered" in caplog.text


def test_the_example_of_mail_is_sent_in_the_language_of_the_reader(library):
    with library.app.app_context():
        library.example("mail").remind(library.user, ["Emma", "Persuasion"])
    drain(library.app)

    folder = Path(library.app.config["MAIL_FOLDER"])
    mails = [parse(path.read_bytes()) for path in folder.iterdir()]
    [body] = [mail.get_body(["plain"]) for mail in mails if mail["Subject"] == "Überfällig"]
    assert body.get_content().strip() == "Bitte zurück: Emma, Persuasion"


def test_the_example_of_csv_files_has_no_formulas(library):
    guests = [("=1+2", 1), ("Noah", -2)]

    assert library.example("csv_files").guest_list(guests) == "'=1+2,1\r\nNoah,-2\r\n"


def test_the_example_of_the_audit_log_records_and_finds(library):
    example = library.example("audit")

    with library.app.app_context():
        example.lend(7, library.user.id)
        [lent] = example.find_records(1, action="book-lent")
        assert (lent.user_id, lent.details) == (library.user.id, {"book": 7})
        assert example.last_login(library.user.id).action == "login"
        with pytest.raises(ValueError, match="an action has at most 32 letters"):
            example.record("book lent")


@pytest.mark.parametrize(
    ("status", "outcome"), [(200, "delivered"), (503, "delayed"), (400, "failed")]
)
def test_the_example_of_the_outbox_tells_another_service(library, server, status, outcome):  # noqa: F811
    example = library.example("outbox")
    with library.app.app_context():
        # Those of the tests before, which may be delayed until now.
        db.session.execute(delete(Delivery))
    server.routes["loans"] = lambda handler: handler.reply({}, status)

    with library.app.app_context():
        example.lend(7)

    assert drain(library.app)[outcome] == 1
    assert server.seen[-1]["json"] == {"book": 7, "attempt": 1}


def test_the_example_of_throttles_counts(library):
    example = library.example("throttles")

    with library.app.test_request_context(environ_base={"REMOTE_ADDR": "192.0.2.1"}):
        assert [example.search("x") for _ in range(30)]
        with pytest.raises(TooManyRequests):
            example.search("x")
        for _ in range(3):
            with pytest.raises(ValueError, match="wrong pin"):
                example.check_pin(1, "0")
        with pytest.raises(TooManyRequests):
            example.check_pin(1, "1234")
        for book in (1, 0, 2, 0, 3, 0, 4, 0, 5):
            with suppress(LookupError):
                example.reserve(1, book)
        with pytest.raises(TooManyRequests):
            example.reserve(1, 6)
        assert [example.may_remind(1) for _ in range(6)] == [True] * 5 + [False]
        with pytest.raises(ValueError, match="there is a throttle 'pins' already"):
            example.define(library.app, "pins", 1, 1)


def test_the_example_of_data_sources_calls_one(library, server):  # noqa: F811
    server.routes["geo"] = lambda handler: handler.reply({"lat": 1})
    example = library.example("datasources")

    with library.app.app_context():
        assert example.locate("107 S B St", "San Mateo") == {"lat": 1}
        with pytest.raises(LookupError, match="there is no data source 'geos'"):
            example.data_source("geos")


def test_the_example_of_the_connector_calls_lists_and_explains(library, server):  # noqa: F811
    pages = {"1": [{"id": 1}, {"id": 2}], "2": [{"id": 3}]}
    server.routes["loans"] = lambda handler: handler.reply(
        pages.get(handler.query.get("page", "")), 200 if handler.query else 404
    )
    server.routes["readers"] = lambda handler: handler.reply({"id": 1, "name": "Mary"})

    example = library.example("connector")

    assert example.first_page == pages["1"]
    assert [loan["id"] for loan in example.loans] == [1, 2, 3]
    assert example.mary.name == "Mary"
    assert (example.copies.default, example.copies.type) == (1, "number")
    assert "curl -X GET" in library.printed.getvalue()
    assert "{'text': 'Dear Mary', 'copies': 1}\n" in library.printed.getvalue()
    assert example.find_loan(9) == "there is no such loan"
    assert server.seen[-1]["headers"]["x-tenant"] == "t1"
