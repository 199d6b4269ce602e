"""Rows of models: their values, references and ids; runs that are repeated or killed."""

import json
import os
import signal

import pytest

from app.database.session import db
from ostiary_loopback.data import batches
from ostiary_loopback.data.moved import Journal
from ostiary_loopback.data.moving import FOLDER

from .conftest import write_memory

NOTES = [
    {"id": 1, "title": "first", "parentId": 5, "tags": ["a"], "data": {"a": [1]}, "mood": "ugly"},
    {"id": 3, "title": 12, "place": "52.5,13.4", "at": 1767261600000, "done": "1", "secret": "s"},
    {"id": 5, "title": "last", "parentId": 99, "place": {"lat": 1, "lng": 2}, "tags": "[]"},
    {"id": 6, "title": "x" * 21},
    {"id": 7},
    {"id": 8, "title": "bad", "at": "never"},
    {"id": 9, "title": "nul\0"},
    {"id": 0, "title": "zero"},
]
TAGS = [
    {"id": "a/b", "note_id": 1, "more": {"x": "2026"}, "aboutId": 1, "aboutType": "Note"},
    {"id": "c d", "note_id": 404, "aboutId": 404, "aboutType": "Note"},
    {"id": "e", "aboutId": 1, "aboutType": "Nothing"},
]


@pytest.mark.both_databases
def test_values_and_references_of_rows(move):
    moved = move({"Note": NOTES, "Tag": TAGS})
    notes = {row["id"]: row for row in move.api("GET", "/Notes").json}
    assert {number: note["parentId"] for number, note in notes.items()} == {1: 5, 3: None, 5: None}
    assert notes[1]["tags"] == ["a"]
    assert notes[1]["data"] == {"a": [1]}
    assert notes[3] == {
        **notes[3],
        "title": "12",
        "place": {"lat": 52.5, "lng": 13.4},
        "at": "2026-01-01T10:00:00.000Z",
        "done": True,
    }
    assert "secret" not in notes[3]
    assert move.rows("SELECT secret FROM notes WHERE id = 3") == [("s",)]
    assert {row[1]: row[2] for row in move.refused if row[0] == "Note"} == {
        "6": "title is too long (maximum is 20 characters)",
        "7": "title is required and has no value",
        "8": "at is not a time",
        "9": "title has a character that no database holds",
        "0": "is not a whole number from 1",
        "5": "parentId refers to a row that does not exist",
    }
    about = {"aboutId": 1, "aboutType": "Note"}
    shown = {"id": "a/b", "note_id": 1, "more": {"x": "2026"}, **about}
    assert move.api("GET", "/Tags/a%2Fb").json == shown
    # No constraint of the database checks a polymorphic reference.
    unchecked = [row[1] for row in move.refused if row[2].startswith("aboutId refers to a row")]
    assert sorted(unchecked) == ["c d", "e"]
    assert move.api("GET", "/Tags/c%20d").json["note_id"] is None
    counts = moved.counts["Note"]
    assert (counts.total, counts.written, counts.refused, counts.agrees) == (8, 3, 5, True)
    # Ids go on above those that were moved; a further import takes none.
    move({"Note": NOTES, "Tag": TAGS})
    assert move.api("POST", "/Notes", {"title": "new"}).json["id"] == 6


@pytest.mark.both_databases
def test_odd_values_are_refused_and_the_others_are_moved(move):
    deep = {"a": 1}
    for _ in range(245):
        deep = {"a": [deep]}
    odd = [
        {"id": 1, "title": "fine"},
        {"id": float("nan"), "title": "no id"},
        {"id": 1e400, "title": "no id"},
        {"id": {"key": "hunter2"}, "title": "no id"},
        {"id": "\ud800", "title": "no id"},
        {"id": "\x1b[2J", "title": "no id"},
        {"id": 10**400, "title": "no id"},
        {"id": 12, "title": "deep", "data": deep},
        {"id": 13, "title": "not finite", "data": {"a": float("nan")}},
        {"id": 14, "title": "far", "at": "+275760-09-13"},
        {"id": 15, "title": deep},
        {"id": 16, "title": "early", "at": "0000-01-01T00:00:00.000Z"},
    ]
    tags = [
        {"id": "a\0b"},
        {"id": "c\ud800"},
        {"id": "d", "note_id": "1e999999999"},
        {"id": "e", "more": [float("inf")]},
        {"id": "f", "more": deep},
        {"id": "g", "note_id": 1},
    ]
    tokens = [
        {"id": "\ud800secret", "userId": 7, "ttl": 10},
        {"id": "secret", "userId": 7, "ttl": 10, "principalType": {"secret": 1}},
        {"id": "secret", "userId": 7, "ttl": 10**400},
    ]
    users = [
        {"id": "\ud800", "email": "a@example.com"},
        {"id": 1, "email": "b@example.com", "username": "\ud800"},
        {"id": 2, "email": "\0@example.com", "password": "secret"},
        {"id": 3, "email": "c@example.com"},
    ]
    source = move.folder / "odd.json"
    write_memory(source, {"Customer": users})
    written = json.loads(source.read_text())
    given = {"Note": odd, "Tag": tags, "AccessToken": tokens, "Customer": users}
    # Several rows have ids that are one key in JSON.
    written["models"] = {
        name: {str(number): json.dumps(row) for number, row in enumerate(rows)}
        for name, rows in given.items()
    }
    source.write_text(json.dumps(written))

    moved = move(str(source))

    assert all(counts.agrees for counts in moved.counts.values()), "\n".join(moved.lines())
    assert move.rows("SELECT id FROM notes") == [(1,)]
    assert move.rows("SELECT id FROM tag") == [("g",)]
    assert move.rows("SELECT id FROM users") == [(3,)]
    assert moved.counts["AccessToken"].refused == 3
    folder = move.folder / "project" / FOLDER
    listed = "\n".join([*(file.read_text() for file in folder.iterdir()), *moved.lines()])
    assert "secret" not in listed
    assert "hunter2" not in listed
    assert "\x1b" not in listed


@pytest.mark.live
def test_a_killed_run_goes_on(move, monkeypatch):
    monkeypatch.setattr(batches, "BATCH", 2)
    saved = Journal.save
    calls = []

    def killed(journal, is_finished=False):
        saved(journal, is_finished)
        calls.append(1)
        if len(calls) == 3:
            os.kill(os.getpid(), signal.SIGKILL)

    with move.app.app_context():
        db.engine.dispose()
    child = os.fork()
    if child == 0:
        Journal.save = killed
        try:
            move({"Note": NOTES, "Tag": TAGS})
        finally:
            os._exit(1)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
    assert move.rows("SELECT count(*) FROM notes") == [(3,)]
    source = str(move.folder / "db.json")
    moved = move(source)
    counts = moved.counts["Note"]
    assert (counts.read, counts.written, counts.present, counts.refused) == (8, 3, 0, 5)
    assert len(move.refused) == len(set(move.refused)) == 9
    assert move.rows("SELECT id, parent_id FROM notes ORDER BY id") == [
        (1, 5),
        (3, None),
        (5, None),
    ]
    again = move(source)
    assert (again.counts["Note"].written, again.counts["Note"].present) == (0, 3)
    # What earlier runs listed stays, once.
    assert len(move.refused) == len(set(move.refused)) == 9
