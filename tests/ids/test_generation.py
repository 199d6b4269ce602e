"""New ids: their form, order and uniqueness, also over threads and processes."""

import multiprocessing
import time
import uuid
from concurrent.futures import ThreadPoolExecutor

from app.ids import new_object_id, new_uuid


def test_uuids_are_of_version_7_and_in_the_order_of_their_time():
    before = time.time_ns() // 1_000_000
    made = [uuid.UUID(new_uuid()) for _ in range(1000)]
    after = time.time_ns() // 1_000_000

    assert {(each.version, each.variant) for each in made} == {(7, uuid.RFC_4122)}
    assert all(before <= each.int >> 80 <= after for each in made)
    # By the fraction of the milliseconds, unless two are of the same quarter of a microsecond.
    times = [each.int >> 64 for each in made]
    assert times == sorted(times)
    assert len(set(made)) == 1000


def test_object_ids_are_a_time_the_process_and_a_counter():
    before = int(time.time())
    made = [bytes.fromhex(new_object_id()) for _ in range(1000)]

    assert {len(each) for each in made} == {12}
    assert before <= int.from_bytes(made[0][:4], "big") <= int(time.time())
    assert len({each[4:9] for each in made}) == 1
    counts = [int.from_bytes(each[9:], "big") for each in made]
    assert [(each - counts[0]) % 2**24 for each in counts] == list(range(1000))


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
