"""The statements that PostgreSQL is sent, and what docs/distributed.md tells of them."""

import pytest

from tests.support.postgres import is_own_server
from tests.support.statements import read_sent
from tools.distributed import NEEDS, form, unlisted


@pytest.fixture
def database_url(postgres_url):
    return postgres_url


@pytest.fixture
def sent(postgres_database):
    """Return a function that reads what the server of the tests was sent until now."""
    if not is_own_server():
        pytest.skip("only a server that the tests have started records its statements")
    return lambda: read_sent(postgres_database.url)


def test_the_server_records_prepared_statements_and_others(api, token, sent):
    api("POST", "/todos", {"title": "a"}, token=token)
    api("GET", '/todos?filter={"where":{"title":"a"}}', token=token)

    forms = sent().forms

    for start in ("SELECT access_tokens.digest", "INSERT INTO todos", "SELECT todos.id"):
        assert any(statement.startswith(start) for statement in forms), start


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("SELECT todos.id FROM todos WHERE todos.title = $1 LIMIT $2", set()),
        ("SELECT users.id FROM users WHERE users.id = $1 FOR NO KEY UPDATE", set()),
        ("CREATE UNIQUE INDEX uq_note_title ON note (title)", set()),
        ("SELECT users.id FROM users FOR KEY SHARE", {"for"}),
        ("SELECT pg_notify($1, lower($2))", {"pg_notify"}),
        ("LISTEN mails", {"listen"}),
        ("TRUNCATE todos", {"truncate"}),
        ("CREATE TABLE note (stars INTEGER CHECK (stars > 0))", {"check"}),
        ("SELECT todos.id FROM todos, LATERAL (SELECT $1) AS a", {"lateral"}),
        ('SELECT \'listen\', "for".id FROM "for"', set()),
    ],
)
def test_words_of_which_the_document_does_not_tell_are_found(statement, words, sent):
    server = sent()

    assert unlisted(form(statement), server.reserved, server.keywords) == words


@pytest.mark.parametrize("need", NEEDS, ids=lambda need: need.name)
def test_a_need_is_told_of_each_database(need):
    assert all(need.row())
