"""A queue that serves clients in turn."""

import pytest

from app.server.hash_queue import FairQueue


def fill(queue, items, size=1):
    """Add items, each of which begins with the name of its client; return those without room."""
    return [surplus for item in items.split() for surplus in queue.add(item, item[0], size)]


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        ("a1", "a1"),
        ("a1 a2 a3", "a1 a2 a3"),
        ("a1 a2 a3 b1", "a1 b1 a2 a3"),
        ("a1 b1 a2 b2 c1", "a1 b1 c1 a2 b2"),
    ],
)
def test_each_client_has_its_turn(items, expected):
    queue = FairQueue(most=10, most_bytes=100)
    assert fill(queue, items) == []

    assert [queue.pop() for _ in range(len(queue))] == expected.split()
    assert queue.oldest() is None


@pytest.mark.parametrize(
    ("items", "surplus"),
    [
        ("a1 a2 a3 a4", ["a4"]),
        ("a1 a2 a3 b1", ["a3"]),
        # Among clients with as many items, the one who has added the last.
        ("a1 b1 a2 b2", ["b2"]),
        ("a1 b1 c1 d1", ["d1"]),
    ],
)
def test_the_newest_of_who_has_most_items_find_no_room(items, surplus):
    assert fill(FairQueue(most=3, most_bytes=100), items) == surplus


def test_the_newest_of_who_has_most_bytes_find_no_room():
    queue = FairQueue(most=10, most_bytes=100)
    sizes = {"a1": 20, "a2": 20, "b1": 50, "b2": 5}
    assert [queue.add(name, name[0], size) for name, size in sizes.items()] == [[]] * 4

    assert queue.add("c1", "c", 10) == ["b2"]
    assert queue.add("a3", "a", 60) == ["a3"]
    assert [queue.pop() for _ in range(len(queue))] == ["a1", "b1", "c1", "a2"]
    # One that is larger than all may be is the only one.
    assert queue.add("d1", "d", 1000) == []


def test_what_was_removed_is_not_served():
    queue = FairQueue(most=10, most_bytes=100)
    fill(queue, "a1 a2 b1")

    queue.remove("a1")

    assert queue.oldest() == "a2"
    assert [queue.pop() for _ in range(len(queue))] == ["a2", "b1"]
