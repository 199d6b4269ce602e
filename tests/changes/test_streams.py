"""Event streams and long polls, as clients of a server that has a thread for each get them."""

import json
from contextlib import closing
from threading import Event as ThreadEvent
from threading import Thread

import pytest

from app.changes import hub, log
from tests.support.waiting import eventually

from .conftest import ORDER, OWNERS, SHOP
from .test_pages import JSON, begin, read, types

pytestmark = pytest.mark.both_databases
OWNED = {**SHOP, "order": {**ORDER, "acls": OWNERS}}


@pytest.fixture(autouse=True)
def fast(monkeypatch):
    monkeypatch.setattr(hub, "LOOK_INTERVAL", 0.05)


class Events:
    """The events of an open stream."""

    def __init__(self, response):
        assert response.status_code == 200, response.json
        self.response = response
        self._parts = iter(response.response)
        self.last_id = ""
        self._text = ""
        assert self.part() == ":ok"

    def part(self):
        """Return the next block of the stream."""
        while "\n\n" not in self._text:
            self._text += next(self._parts).decode()
        block, _, self._text = self._text.partition("\n\n")
        return block

    def next(self):
        """Return the name and the data of the next event."""
        while True:
            lines = [line.partition(": ") for line in self.part().split("\n")]
            fields = {name: value for name, _, value in lines}
            self.last_id = fields.get("id", self.last_id)
            if "data" in fields:
                return fields["event"], json.loads(fields["data"])

    def take_all(self):
        """Return the events of all changes so far, which end with comments of later looks."""
        found, comments = [], 0
        while comments < 3:
            lines = [line.partition(": ") for line in self.part().split("\n")]
            fields = {name: value for name, _, value in lines}
            comments += 1
            if "data" in fields:
                found.append((fields["event"], json.loads(fields["data"])))
                comments = 0
        return found

    def close(self):
        self.response.close()


@pytest.fixture
def listen():
    """Open a stream; all are closed at the end."""
    opened = []

    def listen(caller, path="/orders/change-stream", method="GET", **options):
        opened.append(Events(caller(method, path, buffered=False, **options)))
        return opened[-1]

    yield listen
    for events in opened:
        events.close()


def test_a_stream_has_the_form_of_loopback(shop, listen):
    events = listen(shop, "/orders/change-stream?_format=event-stream")

    shop("POST", "/orders", {"title": "Home"})
    created = events.next()
    shop("PATCH", "/orders/1", {"title": "Garden"})
    updated = events.next()
    data = shop("GET", "/orders/1").json
    shop("DELETE", "/orders/1")
    removed = events.next()

    where = {"target": 1, "where": {"id": 1}}
    assert created == ("data", {**where, "data": {**data, "title": "Home"}, "type": "create"})
    assert updated == ("data", {**where, "data": data, "type": "update"})
    assert removed == ("data", {**where, "type": "remove"})
    headers = events.response.headers
    assert headers["Content-Type"].startswith("text/event-stream")
    assert (headers["X-Accel-Buffering"], headers["Cache-Control"]) == ("no", "no-store")


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", '/orders/change-stream?options={"where": {"status": "a"}}', None),
        ("GET", "/orders/change-stream?options[where][status]=a", None),
        ("POST", "/orders/change-stream", {"options": {"where": {"status": "a"}}}),
        ("POST", "/orders/change-stream", {"where": {"status": "a"}}),
    ],
)
def test_a_stream_has_a_filter(shop, listen, method, path, body):
    events = listen(shop, path, method, body=body)

    shop("POST", "/orders", {"status": "b"})
    shop("POST", "/orders", {"status": "a"})

    assert events.next()[1]["target"] == 2


def test_a_stream_of_several_models_has_their_names(shop, listen):
    events = listen(shop, "/changes?models=Orders,Lines")

    shop("POST", "/orders", {"title": "Home"})
    first = events.next()[1]
    shop("POST", "/lines", {"sku": "lamp"})

    assert (first["model"], events.next()[1]["model"]) == ("Orders", "Lines")


@pytest.mark.parametrize("way", ["header", "query"])
def test_a_stream_resumes_where_it_ended(shop, listen, way):
    events = listen(shop)
    shop("POST", "/orders", {"title": "First"})
    events.next()
    events.close()
    shop("POST", "/orders", {"title": "Meanwhile"})
    query = f"?since={events.last_id}" if way == "query" else ""
    headers = {"Last-Event-ID": events.last_id} if way == "header" else {}

    resumed = listen(shop, f"/orders/change-stream{query}", headers=headers)

    assert resumed.next()[1]["target"] == 2


def test_an_unknown_cursor_gets_a_resync_and_the_stream_goes_on(shop, listen):
    events = listen(shop, headers={"Last-Event-ID": "unknown"})

    assert events.next() == ("resync", {})
    assert events.last_id
    shop("POST", "/orders", {"title": "Home"})
    assert events.next()[1]["target"] == 1


def test_an_open_stream_gets_a_resync_with_a_new_epoch(shop, listen):
    events = listen(shop)
    shop("POST", "/orders", {"title": "Home"})
    assert events.next()[1]["target"] == 1

    shop.app.test_cli_runner().invoke(args=["changes", "new-epoch"])

    assert events.next() == ("resync", {})
    shop("POST", "/orders", {"title": "Garden"})
    assert events.next()[1]["target"] == 2


def test_an_error_of_one_stream_ends_it_and_no_other(make_shop, api, listen, caplog):
    code = """
from ostiary.identity import current_identity

def extend(orders):
    @orders.loaded.connect
    def fail(sender, event):
        if current_identity().user_id == 2:
            raise RuntimeError("planted")
"""
    shop = make_shop(code={"order": code})
    failing, other = listen(shop, token=api.logged_in("grace@example.com")), listen(shop)

    shop("POST", "/orders", {"title": "Home"})

    assert other.next()[1]["target"] == 1
    with pytest.raises(StopIteration):
        failing.next()


def test_pings_carry_a_cursor(shop, listen, monkeypatch):
    monkeypatch.setattr(hub, "PING_INTERVAL", 0.1)
    events = listen(shop)

    id_, comment = events.part().split("\n")

    assert id_.startswith("id: ")
    assert comment == ":"


def test_a_stream_ends_after_its_time(shop, listen, monkeypatch):
    monkeypatch.setattr("app.changes.streams.LIFETIME", 0.1)

    events = listen(shop)

    with pytest.raises(StopIteration):
        events.part()


def test_a_stream_ends_with_its_token(make_shop, api, listen):
    shop = make_shop(OWNED)
    token = api.logged_in("grace@example.com")
    events = listen(shop, token=token)
    shop("POST", "/users/logout", token=token)

    shop("POST", "/orders", {"title": "Home"})

    with pytest.raises(StopIteration):
        events.next()


def test_a_stream_shows_only_what_its_caller_may_find(make_shop, api, listen):
    shop = make_shop(OWNED)
    token = api.logged_in("grace@example.com")
    events = listen(shop, token=token)

    shop("POST", "/orders", {"title": "Not hers"})
    shop("POST", "/orders", {"title": "Hers"}, token=token)

    assert events.next()[1]["target"] == 2
    assert shop("GET", "/orders/change-stream", token=None).status_code == 401


def test_a_user_has_a_limited_number_of_streams(make_shop, listen, monkeypatch):
    shop = make_shop(OWNED)
    monkeypatch.setattr(hub, "MAX_OF_USER", 1)
    first = listen(shop)

    refused = shop("GET", "/orders/change-stream")
    first.close()

    assert (refused.status_code, refused.json["error"]["code"]) == (429, "TOO_MANY_REQUESTS")
    assert refused.headers["Retry-After"] == "5"
    assert listen(shop)


def test_an_address_has_a_limited_number_of_streams(shop, api, listen, monkeypatch):
    monkeypatch.setattr(hub, "MAX_OF_ADDRESS", 2)
    for token in (shop.token, api.logged_in("grace@example.com")):
        listen(shop, token=token)

    refused = shop("GET", "/orders/change-stream", token=None)
    long_poll = shop("GET", f"/changes?models=Orders&wait=1&since={begin(shop)}", headers=JSON)

    assert [refused.status_code, long_poll.status_code] == [429, 429]
    assert refused.headers["Retry-After"] == "5"


def test_an_event_of_a_large_row_is_sent_and_others_after_it(shop, listen, monkeypatch):
    first = begin(shop)
    monkeypatch.setattr("app.changes.streams.MAX_BYTES", 1000)
    large = {"text": "x" * 5000}
    for _ in range(3):
        assert shop("POST", "/orders", {"extra": large}).status_code == 200

    events = listen(shop, headers={"Last-Event-ID": first})
    found = [events.next()[1] for _ in range(3)]

    assert [each["target"] for each in found] == [1, 2, 3]
    assert all(each["data"]["extra"] == large for each in found)


def test_a_process_has_a_limited_number_of_streams(shop, listen, monkeypatch):
    monkeypatch.setattr(hub, "MAX_STREAMS", 1)
    assert listen(shop)

    refused = shop("GET", "/orders/change-stream")

    assert (refused.status_code, refused.headers["Retry-After"]) == (503, "5")


def test_a_long_poll_waits_for_a_change(shop):
    start = begin(shop)
    writer = Thread(target=shop, args=("POST", "/orders", {"title": "Home"}))
    writer.start()

    page = read(shop, start, query="&wait=30")

    writer.join()
    assert types(page) == [("create", 1)]
    assert "resync" not in read(shop, page["next"])


def test_a_long_poll_ends_without_a_change(shop):
    page = read(shop, begin(shop), query="&wait=0.1")

    assert page["changes"] == []
    assert "resync" not in read(shop, page["next"])


def test_a_long_poll_ends_with_a_resync_in_a_new_epoch(shop):
    start = begin(shop)
    pages = []
    poll = Thread(target=lambda: pages.append(read(shop, start, query="&wait=30")))
    poll.start()
    eventually(lambda: hub.hubs.of(shop.app).number == 1)

    with shop.app.app_context():
        # The first may come before the first look at the log.
        eventually(lambda: log.begin_epoch() or pages)

    poll.join()
    assert (pages[0]["changes"], pages[0]["resync"]) == ([], True)


def test_a_role_that_fails_ends_no_streams_of_others(make_shop, api, listen, monkeypatch):
    code = """
from flask import current_app

def extend(orders):
    def member(user_id):
        if user_id == 2 and "FAILING" in current_app.config:
            raise RuntimeError("planted")
        return orders.model.title != "x"

    orders.roles["member"] = member
"""
    member = {"principalType": "ROLE", "principalId": "member", "permission": "ALLOW"}
    shop = make_shop({**SHOP, "order": {**ORDER, "acls": [member]}}, {"order": code})
    failing = listen(shop, token=api.logged_in("grace@example.com"))
    other = listen(shop)
    shop.app.config["FAILING"] = True
    monkeypatch.setattr(hub, "PING_INTERVAL", 0.1)

    assert other.part().startswith("id: ")
    assert other.part().startswith("id: ")
    with pytest.raises(StopIteration):
        failing.part()


@pytest.mark.parametrize("wait", ["x", "nan", "-1", "61", "inf"])
def test_a_wrong_wait_is_an_error(shop, wait):
    accept = {"Accept": "application/json"}
    response = shop("GET", f"/changes?models=Orders&wait={wait}", headers=accept)

    assert (response.status_code, response.json["error"]["code"]) == (400, "INVALID_CHANGE_STREAM")


def test_a_stream_whose_client_reads_nothing_costs_no_looks(shop, listen, monkeypatch):
    listen(shop)
    shop("POST", "/orders", {"title": "Home"})
    looks, look = [], log.epoch
    monkeypatch.setattr(log, "epoch", lambda: looks.append(1) or look())

    eventually(lambda: looks)
    monkeypatch.setattr(hub, "LOOK_INTERVAL", 30)
    ThreadEvent().wait(0.5)

    # Every 20 ms it would be 25.
    assert len(looks) < 5


def test_the_head_of_a_stream_opens_none(shop):
    with closing(shop("HEAD", "/orders/change-stream")) as response:
        assert response.status_code == 200
        assert response.mimetype == "text/event-stream"
    assert hub.hubs.of(shop.app).number == 0
