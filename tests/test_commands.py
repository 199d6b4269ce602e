"""Commands: lists, and errors of the database."""

import json
from datetime import UTC, datetime
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from sqlalchemy import make_url

from app.commands import print_rows

ROWS = [
    (7, "ada", None, True, [], datetime(2026, 1, 2, 3, 4, 5, 678900, UTC)),
    (10, "a\x1b[2Jb\n", "", False, ["x", "y"], datetime(2026, 1, 2, tzinfo=UTC)),
]
NAMES = ("id", "name", "realm", "public", "functions", "created")


def printed(*, as_json):
    command = click.Command("list", callback=lambda: print_rows(NAMES, iter(ROWS), as_json))
    return CliRunner().invoke(command).output


def test_a_table_has_a_header_line_and_aligned_columns():
    assert printed(as_json=False).splitlines() == [
        "id  name         realm  public  functions  created",
        "7   ada          -      yes     -          2026-01-02T03:04:05.678Z",
        r"10  a\x1b[2Jb\n  -      no      x, y       2026-01-02T00:00:00.000Z",
    ]


def test_json_keeps_the_types_and_holds_no_control_characters():
    output = printed(as_json=True)

    assert "\x1b" not in output
    first, second = json.loads(output)
    created = ["2026-01-02T03:04:05.678Z", "2026-01-02T00:00:00.000Z"]
    assert first == dict(zip(NAMES, [*ROWS[0][:5], created[0]], strict=True))
    assert second == dict(zip(NAMES, [*ROWS[1][:5], created[1]], strict=True))


WITHOUT_TABLES = [
    "users create ada@example.com --password-stdin",
    "users list",
    "users set-password ada@example.com --password-stdin",
    "users delete ada@example.com",
    "users export users.csv",
    "tokens purge",
    "tokens revoke ada@example.com",
    "roles grant ada@example.com admin",
    "roles revoke ada@example.com admin",
    "roles list --json",
]


@pytest.mark.parametrize("command", WITHOUT_TABLES)
def test_a_database_without_tables_is_one_sentence(without_tables, command):
    result = without_tables.invoke(args=command.split(), input="a quiet harbour\n")

    assert (result.exit_code, type(result.exception)) == (1, SystemExit)
    assert result.output.startswith("Error: The database failed: ")
    assert result.output.endswith(" (`ostiary db upgrade` makes the tables).\n")
    assert result.output.count("\n") == 1
    assert not Path("users.csv").exists()


@pytest.fixture
def without_tables(database_url, make_app, tmp_path, monkeypatch):
    """Commands that work on a database without tables, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    url = make_url(f"sqlite:///{tmp_path / 'empty.sqlite'}")
    if database_url.startswith("postgresql"):
        url = make_url(database_url).update_query_dict({"options": "-csearch_path=pg_catalog"})
    app = make_app(SQLALCHEMY_DATABASE_URI=url.render_as_string(hide_password=False))
    return app.test_cli_runner()
