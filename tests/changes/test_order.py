"""Many writers, slow transactions and rollbacks: each committed change is read once, in order."""

import random
import threading
from contextlib import suppress

import pytest
from sqlalchemy import text

from app.changes import log
from app.changes.log import Position, Snapshot
from app.database.session import db, transaction

pytestmark = pytest.mark.both_databases
WRITERS, ROUNDS, ROWS = 6, 12, 4


def pause(chance):
    """Let others write meanwhile, for as long as some statements take."""
    for _ in range(chance.randrange(20)):
        db.session.scalar(text("SELECT 1"))


def write(app, seed, committed):
    """Change rows in transactions of several statements, some of which roll back."""
    chance = random.Random(seed)
    changed = text(
        'UPDATE "order" SET title = :title, count = count + 1 WHERE id = :id RETURNING count'
    )
    with app.app_context():
        for number in range(ROUNDS):
            values = []
            with suppress(LookupError), transaction():
                for row in sorted(chance.sample(range(1, ROWS + 1), 2)):
                    pause(chance)
                    given = {"title": f"{seed}.{number}", "id": row}
                    values.append((str(row), db.session.scalar(changed, given)))
                pause(chance)
                if chance.random() < 0.3:
                    raise LookupError
                committed += values


def test_each_committed_change_is_read_once_and_in_the_order_of_its_row(make_shop):
    order = {
        "name": "Order",
        "changes": {"keep": ["count"]},
        "properties": {"title": {"type": "string"}, "count": {"type": "number", "default": 0}},
        "defaultPermission": "ALLOW",
    }
    shop = make_shop({"order": order})
    for _ in range(ROWS):
        shop("POST", "/orders", {"count": 0})
    committed, found = [], []
    with shop.app.app_context():
        position = Position(log.snapshot())
    writers = [
        threading.Thread(target=write, args=(shop.app, seed, committed)) for seed in range(WRITERS)
    ]
    for writer in writers:
        writer.start()
    is_last = False
    while True:
        with shop.app.app_context():
            page = log.read(position, ["Orders"], log.snapshot())
        found += [(each.row_id, each.after["count"]) for each in page.changes]
        position = page.position
        if is_last and not page.has_more:
            break
        is_last = not any(writer.is_alive() for writer in writers)

    assert sorted(found) == sorted(committed)
    for row in range(1, ROWS + 1):
        counts = [count for id, count in found if id == str(row)]
        assert counts == sorted(counts)


def test_a_page_ends_within_a_window_and_is_continued(make_shop, monkeypatch):
    monkeypatch.setattr(log, "PAGE", 2)
    shop = make_shop()
    for number in range(5):
        shop("POST", "/orders", {"title": str(number)})

    found, position = [], Position(Snapshot(0))
    with shop.app.app_context():
        for _ in range(3):
            page = log.read(position, ["Orders"], log.snapshot())
            found.append(len(page.changes))
            position = page.position

    assert found == [2, 2, 1]
