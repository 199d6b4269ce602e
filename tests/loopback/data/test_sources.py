"""Where rows come from: databases of connectors, dumps of MongoDB, files that are broken."""

import gzip
import json
import sqlite3
from contextlib import closing
from zoneinfo import ZoneInfo

import bson
import pytest
from bson import json_util
from bson.datetime_ms import DatetimeMS
from sqlalchemy import create_engine, text

from ostiary_loopback.data.sources.base import SourceError
from tests.support.mariadb import mariadb_server

NOTE = {
    "title": "moved",
    "place": {"lat": 52.5, "lng": 13.4},
    "tags": ["a"],
    "data": {"b": 1},
    "at": "2026-07-01T10:00:00.000Z",
    "done": True,
}


def run(url, script):
    engine = create_engine(url, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        for statement in filter(str.strip, script.split(";")):
            connection.execute(text(statement))
    engine.dispose()


def check(move, source, **options):
    moved = move(source, **options)
    assert moved.is_complete, "\n".join(moved.lines())
    [note] = move.api("GET", "/Notes").json
    assert note == {**note, **NOTE, "customerId": 7}
    assert move.rows("SELECT id, email FROM users") == [(7, "ada@example.com")]


def test_sqlite_and_its_names_in_small_letters(move):
    path = move.folder / "old.sqlite"
    with closing(sqlite3.connect(path)) as old:
        old.executescript(
            "CREATE TABLE customer (id INTEGER PRIMARY KEY, email, password, emailverified);"
            "CREATE TABLE note (id INTEGER PRIMARY KEY, title, place, tags, data, at, done,"
            " customerid);"
            "INSERT INTO customer VALUES (7, 'ada@example.com', NULL, 1);"
            "INSERT INTO note VALUES (1, 'moved', '{\"lat\": 52.5, \"lng\": 13.4}', '[\"a\"]',"
            " '{\"b\": 1}', 1782900000000, 1, 7);"
        )
    check(move, f"sqlite:///{path}")


def test_postgresql_and_its_schemas_columns_and_points(move, postgres_url):
    script = """
        CREATE SCHEMA old;
        CREATE TABLE customer (id int PRIMARY KEY, email text, emailverified boolean);
        CREATE TABLE old."Notes" (id int PRIMARY KEY, title text, place point, tags text,
            "Payload" json, at timestamptz, done boolean, customerid int);
        INSERT INTO customer VALUES (7, 'ada@example.com', true);
        INSERT INTO old."Notes" VALUES (1, 'moved', point(13.4, 52.5), '["a"]', '{"b"\\: 1}',
            '2026-07-01T12\\:00\\:00+02', true, 7)"""
    try:
        run(postgres_url, script)
        # The URL of other tools.
        url = postgres_url.replace("postgresql+psycopg", "postgres")
        check(move, url)
        # Times that Python does not have: one row is refused, and the others are moved.
        times = "('10000-01-01'), ('0001-01-01 BC'), ('infinity'), ('2026-01-01')"
        run(
            postgres_url,
            f"""INSERT INTO old."Notes" (id, title, at) SELECT 1 + row_number() OVER (), 'far',
            CAST(at AS timestamptz) FROM (VALUES {times}) AS far (at)""",
        )
        move(url)
        assert move.refused == [("Note", str(number), "at is not a time") for number in (2, 3, 4)]
        assert move.rows("SELECT id FROM notes ORDER BY id") == [(1,), (5,)]
    finally:
        run(postgres_url, "DROP TABLE customer; DROP SCHEMA old CASCADE")


@pytest.mark.live
def test_mariadb_and_times_in_its_local_zone(move):
    with mariadb_server() as server:
        server.run(
            "CREATE DATABASE shop CHARACTER SET utf8mb4; USE shop;"
            "CREATE TABLE Customer (id INT PRIMARY KEY, email VARCHAR(99), created DATETIME);"
            "CREATE TABLE Note (id INT PRIMARY KEY, title VARCHAR(99), place POINT, tags TEXT,"
            " data TEXT, at DATETIME, done TINYINT(1), customerId INT);"
            "INSERT INTO Customer VALUES (7, 'ada@example.com', NULL);"
            "INSERT INTO Note VALUES (1, 'moved', Point(13.4, 52.5), '[\"a\"]', '{\"b\": 1}',"
            " '2026-07-01 12:00:00', 1, 7)"
        )
        check(move, server.url("shop"), timezone=ZoneInfo("Europe/Berlin"))
        wrong = server.url("elsewhere").replace("ostiary:ostiary", "ostiary:a secret word")
        with pytest.raises(SourceError) as raised:
            move(wrong)
    assert str(raised.value) == "the database of --data cannot be reached (OperationalError)"


@pytest.mark.parametrize("form", ["bson", "bson.gz", "canonical", "relaxed"])
def test_dumps_of_mongodb(move, form):
    folder = move.folder / "dump" / "shop"
    folder.mkdir(parents=True)
    moment = json_util.loads('{"$date": "2026-07-01T10:00:00Z"}')
    note = {**NOTE, "_id": bson.Int64(1), "at": moment, "customerId": 7}
    tag = {"_id": bson.ObjectId("507f1f77bcf86cd799439011"), "note_id": 1.0}
    tag["other"] = bson.ObjectId("507f1f77bcf86cd799439012")
    collections = {
        "Customer": [{"_id": 7, "email": "ada@example.com"}],
        "Note": [note],
        "Tag": [tag],
    }
    options = {
        "canonical": json_util.CANONICAL_JSON_OPTIONS,
        "relaxed": json_util.RELAXED_JSON_OPTIONS,
    }
    for name, documents in collections.items():
        if form.startswith("bson"):
            content = b"".join(map(bson.encode, documents))
            written = gzip.compress(content) if form == "bson.gz" else content
            (folder / f"{name}.{form}").write_bytes(written)
            (folder / f"{name}.metadata.json").write_text("{}")
        else:
            lines = [json_util.dumps(one, json_options=options[form]) for one in documents]
            (folder / f"{name}.json").write_text("\n".join(lines) + "\n")
    check(move, str(move.folder / "dump"))
    other = {"other": "507f1f77bcf86cd799439012", "aboutId": None, "aboutType": None}
    assert move.api("GET", "/Tags").json == [
        {"id": "507f1f77bcf86cd799439011", "note_id": 1, **other}
    ]


@pytest.mark.parametrize("form", ["bson", "json"])
def test_what_python_does_not_have_is_one_refused_row(move, form):
    far = DatetimeMS(2**55)
    notes = [{"_id": 1, "title": "b"}, {"_id": 2, "title": "b", "at": far}]
    notes += [{"_id": 3, "title": "b", "data": {"far": [far]}}, {"_id": 4, "title": "XXX"}]
    if form == "bson":
        # Text that is not UTF-8.
        written = b"".join(map(bson.encode, notes)).replace(b"XXX", b"\xff\xff\xff")
        refused = "title has a character that no database holds"
    else:
        lines = [
            json_util.dumps(note, json_options=json_util.CANONICAL_JSON_OPTIONS) for note in notes
        ]
        lines[3] = lines[3].replace('"XXX"', '"b", "at": {"$date": "0000-01-01T00:00:00Z"}')
        written, refused = "\n".join(lines).encode(), "at is not a time"
    folder = move.folder / "dump"
    folder.mkdir()
    (folder / f"Note.{form}").write_bytes(written)

    move(str(folder))

    assert move.rows("SELECT id FROM notes") == [(1,)]
    assert move.refused == [
        ("Note", "2", "at is not a time"),
        ("Note", "3", "data has a time out of range"),
        ("Note", "4", refused),
    ]


@pytest.mark.parametrize("form", ["bson", "canonical", "legacy"])
def test_types_that_json_does_not_have_are_written_as_javascript_does(move, form):
    pattern = bson.Regex("^a/b", "im")
    target = bson.DBRef("Tag", bson.ObjectId("507f1f77bcf86cd799439011"))
    notes = [
        {"_id": 1, "title": pattern, "data": {"patterns": [pattern], "tag": target}},
        {"_id": 2, "title": "b", "data": {"last": bson.MaxKey()}},
    ]
    folder = move.folder / "dump"
    folder.mkdir()
    if form == "bson":
        (folder / "Note.bson").write_bytes(b"".join(map(bson.encode, notes)))
    else:
        options = getattr(json_util, f"{form.upper()}_JSON_OPTIONS")
        lines = [json_util.dumps(note, json_options=options) for note in notes]
        (folder / "Note.json").write_text("\n".join(lines))

    move(str(folder))

    [(title, data)] = move.rows("SELECT title, CAST(Payload AS text) FROM notes")
    assert title == "/^a/b/im"
    reference = {"$ref": "Tag", "$id": "507f1f77bcf86cd799439011"}
    assert json.loads(data) == {"patterns": ["/^a/b/im"], "tag": reference}
    assert move.refused == [("Note", "2", "data has a type of MongoDB alone")]


NUMBERS = {
    '{"$numberLong": "9007199254740993"}': (9007199254740992, True),
    "9007199254740993": (9007199254740992, True),
    '{"$numberDecimal": "0.12345678901234567890"}': (0.12345678901234568, True),
    '{"$numberLong": "9007199254740992"}': (9007199254740992, False),
    '{"$numberDecimal": "19.90"}': (19.9, False),
    "0.1": (0.1, False),
    '"12"': (12, False),
}


@pytest.mark.parametrize("number", NUMBERS)
def test_a_number_that_loses_digits_is_in_the_report(move, number):
    expected, is_rounded = NUMBERS[number]
    folder = move.folder / "dump"
    folder.mkdir()
    line = f'{{"_id": 7, "email": "ada@example.com", "age": {number}}}'
    (folder / "Customer.json").write_text(line)

    report = "\n".join(move(str(folder)).lines())

    assert move.rows("SELECT age FROM users") == [(expected,)]
    assert ("age of rows has more digits than a number holds, and is rounded" in report) == (
        is_rounded
    )


def test_an_object_that_is_no_value_of_mongodb_stays_as_it_is(move):
    values = [{"$binary": 5}, {"$binary": {}}, {"$regularExpression": {"pattern": "a"}}]
    lines = [json.dumps({"_id": n, "title": "b", "data": v}) for n, v in enumerate(values, 1)]
    folder = move.folder / "dump"
    folder.mkdir()
    (folder / "Note.json").write_text("\n".join(lines))

    move(str(folder))

    stored = move.rows("SELECT CAST(Payload AS text) FROM notes ORDER BY id")
    assert [json.loads(value) for (value,) in stored] == values


def test_text_of_sqlite_that_is_not_utf_8_is_one_refused_row(move):
    path = move.folder / "old.sqlite"
    with closing(sqlite3.connect(path)) as old:
        old.executescript(
            "CREATE TABLE note (id INTEGER PRIMARY KEY, title TEXT);"
            "INSERT INTO note VALUES (1, 'b'), (2, CAST(x'ff' AS TEXT));"
        )
    move(f"sqlite:///{path}")
    assert move.rows("SELECT id FROM notes") == [(1,)]
    assert move.refused == [("Note", "2", "title has a character that no database holds")]


def test_what_is_no_source_is_one_sentence(move):
    broken = move.folder / "broken"
    broken.mkdir()
    (broken / "Note.bson").write_bytes(b"\x20\0\0\0 no BSON")
    dumps = {
        "array/Note.json": b'[{"_id": 1},\n{"_id": 2}]',
        "cut/Note.bson.gz": gzip.compress(bson.encode({"_id": 1}))[:-9],
        "plain/Note.bson.gz": bson.encode({"_id": 1}),
        "large/Note.bson": (2**31).to_bytes(4, "little"),
        "short/Note.bson": (2**24).to_bytes(4, "little"),
    }
    for name, written in dumps.items():
        (move.folder / name).parent.mkdir()
        (move.folder / name).write_bytes(written)
    files = {
        "empty.json": ("", "empty.json is not valid JSON of rows at byte 0"),
        "array.json": ("[]", "array.json is not valid JSON of rows at byte 1"),
        "other.json": ('{"a": 1}', "other.json is no file of LoopBack's memory connector"),
        "cut.json": ('{"models": {"Note": {"1": "{}"', "is not valid JSON of rows at byte 30"),
        "binary.json": ("\0\x01" * 99, "binary.json is not valid JSON of rows at byte"),
        "deep.json": ('{"models": {"Note": {"1": ' + "[" * 10**4 + "]" * 10**4 + "}}}", "at byte"),
        "row.json": (json.dumps({"models": {"Note": {"1": "{"}}}), "is not valid JSON of rows"),
    }
    sources = {"missing": "there is no file or folder missing", str(broken): "Note.bson is not a"}
    sources |= {str((move.folder / name).parent): "is not a dump that can" for name in dumps}
    sources[str(move.folder / "array")] = "Note.json is one array: export it without --jsonArray"
    for name, (content, said) in files.items():
        (move.folder / name).write_text(content)
        sources[str(move.folder / name)] = said
    sources |= {
        "sqlite:////nowhere.sqlite": "there is no SQLite file",
        "oracle://host/x": "--data is a URL of oracle",
        "://x": "--data is no URL of a database",
    }
    for source, said in sources.items():
        with pytest.raises(SourceError, match=r".") as raised:
            move(source)
        assert said in str(raised.value)
