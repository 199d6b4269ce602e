"""Long rows on PostgreSQL: no more of them are read than an answer may have."""

import json

import pytest

from app.database.session import db
from tests.conftest import Api
from tests.support.answers import refusal

from .library import OPEN

BOOKS = 600
BOOK = {
    "name": "Book",
    "properties": {"title": "string", "text": "string", "tags": ["string"]},
    "relations": {"shelf": {"type": "belongsTo", "model": "Shelf"}},
    "acls": OPEN,
}
SHELF = {
    "name": "Shelf",
    "plural": "shelves",
    "properties": {"name": "string"},
    "relations": {"books": {"type": "hasMany", "model": "Book", "foreignKey": "shelfId"}},
    "acls": OPEN,
}
# Rows of 39 kB: 23 MB in all.
FILL = """
    INSERT INTO shelf (id, name) VALUES (1, 'one');
    INSERT INTO book (title, text, tags, shelf_id)
        SELECT repeat('t', 10000), repeat('x', 10000), CAST(tags AS JSON), 1
        FROM (SELECT '["' || repeat('a', 19000) || '"]' AS tags) AS long,
            generate_series(1, 600)
"""
# Twice what an answer has, and the last part that was read.
MOST = 8_000_000


@pytest.fixture
def database_url(postgres_url):
    return postgres_url


@pytest.fixture
def ask(make_models, secrets, traffic):
    """Ask for rows with a filter; no more of them may be read than an answer has."""
    app = make_models({"book": BOOK, "shelf": SHELF}, SQLALCHEMY_DATABASE_URI=traffic.url)
    api = Api(app.test_client(), secrets)
    token = api.logged_in()
    with app.app_context(), db.engine.begin() as connection:
        connection.exec_driver_sql(FILL)

    def ask(path, filter_):
        traffic.answered = 0
        response = api("GET", path, token=token, query_string={"filter": json.dumps(filter_)})
        assert traffic.answered < MOST
        return response

    ask.app = app
    return ask


def test_of_long_rows_a_page_reads_no_more_than_it_has(ask):
    for path in ("/books", "/shelves/1/books"):
        # The statement of a filter that is sent again is compiled.
        for _ in range(3):
            rows = ask(path, {"order": "id"}).json
            assert 20 < len(rows) < 60
        following = ask(path, {"order": "id", "skip": len(rows)}).json
        assert following[0]["id"] == rows[-1]["id"] + 1
        assert refusal(ask(path, {"limit": BOOKS})) == (400, "INVALID_FILTER")
        assert len(ask(path, {"limit": BOOKS, "fields": ["id"]}).json) == BOOKS


def test_of_long_rows_an_include_reads_no_more_than_an_answer_has(ask):
    def books(**scope):
        return {"include": {"relation": "books", "scope": scope}}

    assert refusal(ask("/shelves", books())) == (400, "INVALID_FILTER")
    assert len(ask("/shelves", books(limit=10)).json[0]["books"]) == 10
    assert len(ask("/shelves", books(fields=["id"])).json[0]["books"]) == BOOKS


def test_long_rows_are_read_within_the_time_of_one_statement(ask):
    ask.app.config["STATEMENT_TIMEOUT"] = 0

    late = ask("/books", {})

    assert (late.status_code, late.json["error"]["code"]) == (503, "DATABASE_TIMEOUT")
    assert ask("/books", {"limit": 10}).status_code == 200
