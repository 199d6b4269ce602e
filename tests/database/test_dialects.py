"""Constructs of SQL that differ between databases; filters use them on real ones."""

import pytest
from sqlalchemy import JSON, Integer, String, column
from sqlalchemy.dialects import postgresql, sqlite

from app.database.dialects import (
    Among,
    CodePoints,
    Contains,
    EndsWith,
    HasItem,
    JsonType,
    JsonValue,
    Like,
    Regexp,
)

ID, TITLE, TAGS = column("id", Integer), column("title", String), column("tags", JSON)
CONSTRUCTS = [
    (CodePoints(TITLE).desc(), "title DESC", 'title COLLATE "C" DESC'),
    (
        Among(ID, "ids"),
        "id IN (SELECT anon_1.value FROM json_each(?) AS anon_1)",
        "id = ANY (%(ids)s::INTEGER[])",
    ),
    (
        Like(TITLE, "a_%", "a?*"),
        "(title GLOB ?)",
        r"(title LIKE %(param_1)s::VARCHAR ESCAPE '\')",
    ),
    (
        Contains(TITLE, "%a%", "a"),
        "(instr(title, ?) > 0)",
        r"(title LIKE %(param_1)s::VARCHAR ESCAPE '\')",
    ),
    (
        EndsWith(TITLE, "%a", "a"),
        "(substr(title, -length(?)) = ?)",
        r"(title LIKE %(param_1)s::VARCHAR ESCAPE '\')",
    ),
    (Regexp(TITLE, "^a.$", "a?"), "(title GLOB ?)", "(title ~ %(param_1)s::VARCHAR)"),
    (
        JsonValue(TAGS, ["a"]),
        "json_extract(tags, ?)",
        "json_extract_path_text(tags, %(param_2)s::VARCHAR)",
    ),
    (
        JsonType(TAGS, ["a"]),
        "json_type(tags, ?)",
        "json_typeof(json_extract_path(tags, %(param_2)s::VARCHAR))",
    ),
    (
        HasItem(TAGS, ["a"]),
        "(CASE WHEN (tags IS NOT NULL) THEN EXISTS (SELECT anon_1.value, anon_1.type "
        "FROM json_each(tags) AS anon_1 "
        "WHERE anon_1.value IN (?) AND anon_1.type IN ('text')) END)",
        "(CAST(tags AS JSONB) @> CAST(%(param_2)s::VARCHAR AS JSONB))",
    ),
]


@pytest.mark.parametrize(
    ("construct", "on_sqlite", "on_postgresql"),
    CONSTRUCTS,
    ids=[type(construct).__name__ for construct, *_ in CONSTRUCTS],
)
def test_each_database_has_its_own_sql(construct, on_sqlite, on_postgresql):
    def sql(dialect):
        return str(construct.compile(dialect=dialect)).replace("\n", "")

    assert sql(sqlite.dialect()) == on_sqlite
    assert sql(postgresql.dialect()) == on_postgresql
