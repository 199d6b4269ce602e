"""What hostile callers of streams try: cursors, filters, and credentials that end meanwhile."""

import base64
import random
import time

import pytest

from app.access.roles import grant, revoke
from app.changes import cursors
from app.changes.log import Position, Snapshot, epoch

from .conftest import ORDER, OWNERS, SHOP
from .test_pages import JSON, begin, read
from .test_streams import fast, listen  # noqa: F401 fixtures

pytestmark = pytest.mark.both_databases
OWNED = {**SHOP, "order": {**ORDER, "acls": OWNERS}}
CLERKS = [{"principalType": "ROLE", "principalId": "clerk", "permission": "ALLOW"}]
STREAM = "/orders/change-stream"


def mutated(chance, cursor):
    """Return a cursor with a few changed bytes, in the text or in what it encodes."""
    decoded = bytearray(base64.urlsafe_b64decode(cursor + "=="))
    for _ in range(chance.randrange(1, 4)):
        place = chance.randrange(len(decoded))
        match chance.randrange(3):
            case 0:
                decoded[place] = chance.choice(b"0123456789abcdef.-+_ x\0\xff")
            case 1:
                decoded.insert(place, chance.choice(b"f.-"))
            case _:
                del decoded[place]
    return base64.urlsafe_b64encode(decoded).decode().rstrip("=")


def test_mutated_cursors_show_nothing_of_others(make_shop, api):
    shop = make_shop(OWNED)
    other = api.logged_in("grace@example.com")
    chance = random.Random(1)
    with shop.app.app_context():
        name = epoch()
        wide = Position(Snapshot(900, (5, 7)), Snapshot(2**62, (30,)), 3)
        starts = [begin(shop), cursors.write(name, wide)]
    shop("POST", "/orders", {"title": "Mine"})
    shop("PATCH", "/orders/1", {"title": "Still mine"})
    shop("DELETE", "/orders/1")

    for _ in range(150):
        page = read(shop, mutated(chance, chance.choice(starts)), token=other)
        assert page["changes"] == []


def test_the_longest_cursor_costs_little(shop):
    with shop.app.app_context():
        running = tuple(range(2**40 - 999, 2**40))
        position = Position(Snapshot(2**40, running), Snapshot(2**40 + 5, running[:500]))
        cursor = cursors.write(epoch(), position)
    assert len(cursor) < cursors.MAX_LENGTH
    read(shop, cursor)

    started = time.thread_time()
    page = read(shop, cursor)

    assert time.thread_time() - started < 0.1
    assert "resync" not in page


WRONG_OPTIONS = [
    "[1]",
    '"x"',
    "5",
    '{"where": [1]}',
    '{"where": "x"}',
    '{"where": {"secret": "x"}}',
    '{"where": {"or": [{"secret": {"like": "x%"}}]}}',
    '{"where": {"title": {"regexp": "(a+)+"}}}',
    '{"where": {"lines": {"sku": "x"}}}',
    '{"where": ' + '{"and": [' * 40 + "{}" + "]}" * 40 + "}",
    '{"include": "lines"}',
]


@pytest.mark.parametrize("options", WRONG_OPTIONS)
def test_options_that_are_wrong_are_errors(shop, options):
    several = f'{{"Orders": {options}}}'
    paths = [f"{STREAM}?options={options}", f"/changes?models=Orders&options={several}"]

    assert [shop("GET", path).status_code for path in paths] == [400, 400]


@pytest.mark.parametrize(
    ("body", "status"),
    [([1], 400), ("x", 400), (5, 400), ({"options": [1]}, 400), ({"where": "x"}, 400)],
)
def test_bodies_that_are_wrong_are_errors(shop, body, status):
    assert shop("POST", STREAM, body).status_code == status


def test_a_batch_has_no_streams(shop):
    call = {"method": "POST", "path": STREAM, "body": {}}

    assert shop("POST", "/batch", {"requests": [call]}).status_code == 400


def test_conditions_keys_and_ranges_of_requests_do_not_change_a_stream(shop, listen):  # noqa: F811
    headers = {"If-None-Match": "*", "If-Modified-Since": "Sat, 28 Nov 2037 00:00:00 GMT"}
    headers |= {"Range": "bytes=0-1", "Accept-Encoding": "gzip", "Idempotency-Key": "key"}
    streams = [listen(shop, STREAM, "POST", headers=headers, body={}) for _ in range(2)]

    shop("POST", "/orders", {"title": "Home"})

    assert [stream.next()[1]["target"] for stream in streams] == [1, 1]
    assert "Content-Encoding" not in streams[0].response.headers


def test_models_are_named_once_and_are_few(shop):
    many = ",".join(f"Model{number}" for number in range(21))
    answers = [
        shop("GET", f"/changes?models={names}", headers=JSON).status_code
        for names in ("Orders,Orders", ",,", many, "orders", "users")
    ]

    assert answers == [200, 400, 400, 400, 400]


def disable(shop):
    admin = shop.app.test_cli_runner()
    assert admin.invoke(args=["users", "disable", "grace@example.com"]).exit_code == 0


def take_role(shop):
    with shop.app.app_context():
        revoke(2, "clerk")


def delete_user(shop):
    admin = shop.app.test_cli_runner()
    assert admin.invoke(args=["users", "delete", "grace@example.com", "--yes"]).exit_code == 0


@pytest.mark.parametrize("end", [disable, take_role, delete_user])
def test_a_stream_ends_before_the_next_event(make_shop, api, listen, end):  # noqa: F811
    shop = make_shop({**SHOP, "order": {**ORDER, "acls": CLERKS}})
    token = api.logged_in("grace@example.com")
    with shop.app.app_context():
        grant(1, "clerk")
        grant(2, "clerk")
    events = listen(shop, token=token)
    shop("POST", "/orders", {"title": "Seen"})
    assert events.next()[1]["target"] == 1

    end(shop)
    shop("POST", "/orders", {"title": "Not seen"})

    with pytest.raises(StopIteration):
        events.next()
