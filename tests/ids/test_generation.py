"""New ids: their form, order and uniqueness, also over threads and processes."""

import multiprocessing
import uuid
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest

from app import ids
from app.ids import Uuids, new_object_id

MOMENT = 1_767_323_045_678_901_234


@pytest.fixture
def clock(monkeypatch):
    """A clock that shows what a test says, in nanoseconds."""
    shown = SimpleNamespace(moment=MOMENT)
    shown.time_ns = lambda: shown.moment
    shown.time = lambda: shown.moment / 1e9
    monkeypatch.setattr(ids, "time", shown)
    return shown


def test_uuids_are_of_version_7_and_in_the_order_of_their_time(clock):
    new_uuid, made = Uuids(), []
    for _ in range(1000):
        made.append(uuid.UUID(new_uuid()))
        clock.moment += 250_000

    assert {(each.version, each.variant) for each in made} == {(7, uuid.RFC_4122)}
    assert [each.int >> 80 for each in made[:5]] == [
        MOMENT // 1_000_000 + n for n in [0, 1, 1, 1, 1]
    ]
    times = [each.int >> 64 for each in made]
    assert times == sorted(set(times))


@pytest.mark.parametrize("step", [0, -2_000_000, -9_000_000_000])
def test_uuids_are_in_their_order_though_the_clock_stands_or_is_set_back(clock, step):
    new_uuid = Uuids()
    made = [new_uuid()]
    clock.moment += step
    made += [new_uuid() for _ in range(5000)]
    clock.moment = MOMENT + 2_000_000_000
    made.append(new_uuid())

    assert made == sorted(set(made))
    assert uuid.UUID(made[-1]).int >> 80 == MOMENT // 1_000_000 + 2000


def test_uuids_have_the_time_of_a_clock_that_was_wrong_before(clock):
    new_uuid = Uuids()
    clock.moment += 3_600_000_000_000
    new_uuid()
    clock.moment = MOMENT

    assert uuid.UUID(new_uuid()).int >> 80 == MOMENT // 1_000_000


def test_object_ids_are_a_time_the_process_and_a_counter(clock):
    made = [bytes.fromhex(new_object_id()) for _ in range(1000)]

    assert {len(each) for each in made} == {12}
    assert {int.from_bytes(each[:4], "big") for each in made} == {MOMENT // 1_000_000_000}
    assert len({each[4:9] for each in made}) == 1
    counts = [int.from_bytes(each[9:], "big") for each in made]
    assert [(each - counts[0]) % 2**24 for each in counts] == list(range(1000))


@pytest.mark.live
def test_threads_and_processes_generate_different_object_ids():
    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(lambda _: new_object_id(), range(4000)))
    assert len(set(made)) == 4000

    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=lambda: sender.send(new_object_id()))
    child.start()
    of_child = receiver.recv()
    child.join()
    assert of_child[8:18] != made[0][8:18]
