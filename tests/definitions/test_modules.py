"""Models in Python: the files `models/*.py` of a project, alone or beside models in JSON."""

import json
from pathlib import Path

import pytest

from app.problems import ConfigurationError

from .library import rule

BOOK = """
from sqlalchemy import ForeignKey, String
from sqlalchemy.orm import Mapped, mapped_column

from ostiary.columns import Id, RowId
from ostiary.database import Model
from ostiary.fields import Schema, Text
from ostiary.fields import Id as IdField
from ostiary.resources import Resource, add_relation, belongs_to, has_many
from ostiary.rules import EVERYONE, OWNER, allow


class Book(Model):
    __tablename__ = "books"

    id: Mapped[Id] = mapped_column(RowId, primary_key=True)
    title: Mapped[str] = mapped_column(String(80))
    author_id: Mapped[Id] = mapped_column(ForeignKey("author.id", ondelete="CASCADE"), index=True)
    lender_id: Mapped[Id | None] = mapped_column(ForeignKey("users.id", ondelete="SET NULL"))


class BookSchema(Schema):
    id = IdField(dump_only=True)
    title = Text(80, required=True)
    authorId = IdField(attribute="author_id", required=True)
    lenderId = IdField(attribute="lender_id", dump_only=True)


books = Resource(
    name="books",
    singular="book",
    model=Book,
    schema=BookSchema,
    rules=lambda settings: [allow(EVERYONE)],
    owner=Book.lender_id,
    relations={
        "author": belongs_to("authors", "author_id"),
        "chapters": has_many("chapters", "book_id"),
        "lender": belongs_to("users", "lender_id"),
    },
)


def init_app(app):
    rules = [allow(OWNER, "__get__books")]
    add_relation(app, "users", "books", has_many("books", "lender_id"), rules)
"""
EVERYTHING = [rule("$everyone")]
AUTHOR = {
    "name": "author",
    "properties": {"name": "string"},
    "relations": {"books": {"type": "hasMany", "model": "book"}},
    "acls": EVERYTHING,
}
CHAPTER = {
    "name": "chapter",
    "properties": {"text": "string"},
    "relations": {"book": {"type": "belongsTo", "model": "Book"}},
    "acls": EVERYTHING,
}
LIBRARY = {"author": AUTHOR, "chapter": CHAPTER}


@pytest.fixture
def refuse(make_app, write_models):
    """Return why an app does not start with these files."""

    def refuse(models, **code):
        with pytest.raises(ConfigurationError) as raised:
            make_app(MODELS_FOLDER=write_models(models, code=code))
        return str(raised.value).splitlines()

    return refuse


def test_a_model_in_python_is_served_with_relations_to_models_in_json_and_back(serve):
    api = serve(LIBRARY, code={"book": BOOK})
    token = api.logged_in()

    author = api("POST", "/authors", {"name": "Jane Austen"}).json
    book = api("POST", "/books", {"title": "Emma", "authorId": author["id"]}, token=token).json
    chapter = api("POST", f"/books/{book['id']}/chapters", {"text": "Emma Woodhouse,"}).json
    found = api("GET", '/books?filter={"include":["author","chapters","lender"]}', token=token).json
    authors = api("GET", "/authors?filter[include]=books").json

    assert chapter == {"id": 1, "text": "Emma Woodhouse,", "bookId": book["id"]}
    assert found[0].pop("lender")["email"] == "ada@example.com"
    assert found == [{**book, "author": author, "chapters": [chapter]}]
    assert authors == [{**author, "books": [book]}]
    assert api("GET", "/users/1/books", token=token).json == [book]
    assert api("GET", "/chapters/1/book").json == book
    assert api("DELETE", "/authors/1").json == {"count": 1}
    assert api("GET", "/chapters").json == [{**chapter, "bookId": None}]


def test_a_filter_compares_each_property_also_keys_from_python_to_json_and_back(serve):
    api = serve(LIBRARY, code={"book": BOOK})
    token = api.logged_in()
    api("POST", "/authors", {"name": "Jane Austen"})
    api("POST", "/books", {"title": "Emma", "authorId": 1}, token=token)
    api("POST", "/chapters", {"text": "Emma Woodhouse,", "bookId": 1})

    for path in ("/authors", "/books", "/chapters"):
        [row] = api("GET", path).json
        for name, value in row.items():
            for condition in (value, {"inq": [value]}, {"neq": value}):
                where = json.dumps({"where": {name: condition}})
                found = api("GET", path, query_string={"filter": where})
                assert found.json == ([] if "neq" in str(condition) else [row]), where


def test_the_modules_of_a_project_are_imported_once_and_give_way_to_those_of_another(
    make_models, make_app, write_models, tmp_path
):
    app = make_models(LIBRARY, code={"book": BOOK})
    first = __import__("models.book").book

    again = make_app(MODELS_FOLDER=app.config["MODELS_FOLDER"])
    assert __import__("models.book").book is first
    Path(app.config["MODELS_FOLDER"]).rename(tmp_path / "other")
    (tmp_path / "other").rename(tmp_path / "models")
    make_app()

    with pytest.raises(ModuleNotFoundError):
        __import__("models.book")
    for each in (app, again):
        assert each.test_client().get("/api/books").json == []


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("def extend(note)", "models/note.py:1: SyntaxError: expected ':'"),
        ("import models.missing", "models/note.py:1: ModuleNotFoundError: No module named "),
        ("from ._tools import tool", "models/_tools.py:2: ZeroDivisionError: division by zero"),
        ("def init_app(app):\n    app.config['X'] += 1", "models/note.py:2: KeyError: 'X'"),
        (
            BOOK.replace('name="books"', 'name="users"'),
            "note.py: users is taken by Ostiary's users",
        ),
        (BOOK.replace('"books"', '"users"'), "models/note.py:13: InvalidRequestError: Table 'use"),
        (BOOK.replace("Book.lender_id", "Book.lender"), "models/note.py:35: AttributeError: "),
        (
            BOOK + "\n@books.endpoint('star', 'WRITE', 'POTS /<id>/star')\ndef star(book): pass",
            "models/note.py:48: ValueError: 'POTS /<id>/star' is no route: write one of GET, ",
        ),
    ],
)
def test_an_error_of_a_model_in_python_has_its_place(refuse, code, said):
    author = {**AUTHOR, "methods": {"star": {"http": {"verb": "pots", "path": "/star"}}}}

    title, *problems = refuse({"author": author}, note=code, _tools="\nx = 1 / 0\ntool = 1")

    assert title == "the models cannot be used:"
    # All problems are reported at once.
    verb = "  author.json: methods.star.http.verb: there is no verb 'pots'; did you mean 'post'?"
    [problem] = [each for each in problems if each != verb]
    assert problem.startswith(f"  {said}")
    assert len(problems) == 2


def test_a_file_that_is_about_no_model_is_a_warning(serve, caplog):
    note = (
        "from models.words import SHORT, limit\n\n\ndef extend(notes):\n    assert limit() == SHORT"
    )
    words = "SHORT = 5\n\n\ndef limit():\n    return SHORT"

    serve({"note": {"name": "note", "acls": EVERYTHING}}, code={"note": note, "words": words})
    assert not caplog.messages
    serve({}, code={"nite": "def extend(notes): pass", "_tools": "1 / 0"})

    assert caplog.messages == [
        "model nite.py: is no model: it has no Resource, and there is no nite.json beside it; the"
        " name of a file that others import begins with _"
    ]


CUSTOMER = {
    "name": "Customer",
    "base": "User",
    "plural": "users",
    "properties": {"points": {"type": "number", "default": 0}},
    "acls": [{**rule("$owner"), "property": "collect"}],
}
COLLECT = """
from ostiary.rules import WRITE


def extend(customers):
    @customers.before_save.connect
    def limit(resource, event):
        if event.is_new:
            event.values["points"] = min(event.values["points"], 10)

    @customers.endpoint("collect", WRITE, "POST /<id>/collect", answer=customers.schema)
    def collect(customer):
        [changed] = customers.update(
            [customers.model.id == customer.id], {"points": customers.model.points + 7}
        )
        return changed
"""


def test_the_code_beside_the_model_of_users_is_used(serve):
    api = serve({"customer": CUSTOMER}, code={"customer": COLLECT})
    ada, bob = (api.newcomer(f"{name}@example.com", points=50) for name in ("ada", "bob"))

    collected = api("POST", "/users/1/collect", token=ada)

    assert api("GET", "/users/2", token=bob).json["points"] == 10
    assert collected.json["points"] == 17
    assert api("POST", "/users/1/collect", token=bob).status_code == 403
    refused = api.client.application.test_cli_runner().invoke(args=["models", "show", "customer"])
    assert "  endpoint\tcollect\tPOST /api/users/<id>/collect\n" in refused.output
    assert refused.output.startswith("Customer\tcustomer.json\ttable users\n")


def test_an_error_in_the_code_of_users_stops_the_start(refuse):
    said = refuse({"customer": CUSTOMER}, customer="def extend(customers):\n    customers.what()")

    assert said[1:] == [
        "  models/customer.py:2: AttributeError: 'Resource' object has no attribute 'what'"
    ]


def test_the_start_stops_without_the_table_of_a_model_in_python(refuse):
    said = refuse({"author": AUTHOR}, book=BOOK.replace('"chapters": has_many', "# "))

    assert said == [
        "the database has no author, books: run `ostiary db migrate` and `ostiary db upgrade`"
    ]


LOAN = """
from ostiary.columns import Id, RowId
from ostiary.database import Model
from ostiary.fields import Schema
from ostiary.fields import Id as IdField
from ostiary.resources import Resource, belongs_to
from ostiary.rules import EVERYONE, allow
from sqlalchemy import ForeignKey
from sqlalchemy.orm import Mapped, mapped_column


class Loan(Model):
    id: Mapped[Id] = mapped_column(RowId, primary_key=True)
    author_id: Mapped[Id] = mapped_column(ForeignKey("author.id"))
    shelf_id: Mapped[Id] = mapped_column(ForeignKey("shelf.id"))


class LoanSchema(Schema):
    id = IdField(dump_only=True)
    authorId = IdField(attribute="author_id", required=True)
    shelfId = IdField(attribute="shelf_id", required=True)


# In place of the sample.
loans = Resource(
    name="todos", singular="loan", model=Loan, schema=LoanSchema, rules=lambda _: [allow(EVERYONE)]
)
"""


def test_models_in_json_are_related_through_one_in_python_which_takes_the_place_of_the_sample(
    serve,
):
    shelves = {"type": "hasMany", "model": "shelf", "through": "loan"}
    author = {"name": "author", "relations": {"shelves": shelves}, "acls": EVERYTHING}
    shelf = {"name": "shelf", "properties": {"place": "string"}, "acls": EVERYTHING}
    api = serve({"author": author, "shelf": shelf}, code={"loan": LOAN})

    api("POST", "/authors", {})
    made = api("POST", "/authors/1/shelves", {"place": "left"}).json

    assert api("GET", "/authors?filter[include]=shelves").json == [{"id": 1, "shelves": [made]}]
    assert api("GET", "/todos").json == [{"id": 1, "authorId": 1, "shelfId": made["id"]}]


def test_a_method_in_json_is_served_once_the_code_has_its_endpoint(serve, caplog):
    http = [{"verb": "del", "path": "/stars"}, {"path": "/star"}]
    methods = {"prototype.star": {"http": http}, "shine": {"http": {"verb": "post"}}}
    code = """
def extend(authors):
    @authors.endpoint("star", "READ", "GET /<id>/star", answer=authors.schema)
    def star(author):
        return author
"""
    author = {**AUTHOR, "relations": {}, "methods": methods}

    api = serve({"author": author}, code={"author": code})

    author = api("POST", "/authors", {"name": "Jane Austen"}).json
    assert api("GET", "/authors/1/star").json == author
    assert caplog.messages == [
        "model author.json: methods.shine: is not served until author.py has an endpoint of this"
        " name"
    ]
