"""The limit of concurrent data source calls."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event

import pytest

from .conftest import LOCATION


@pytest.fixture
def held(server):
    """Let the remote service keep calls until `go` is set; two of them meet at the barrier."""
    arrived, go = Barrier(3), Event()

    def keep(handler):
        arrived.wait(60)
        go.wait(60)
        handler.reply({"results": [{"geometry": {"location": LOCATION}}]})

    server.routes["geocode"] = keep
    yield arrived, go
    go.set()


def test_more_calls_than_half_of_the_threads_are_503_at_once(make_app, geo, api, token, held):
    arrived, go = held
    geo["options"]["timeout"] = 30_000
    app = make_app(DATA_SOURCES={"geo": geo}, THREADS=4)

    def get(path="/api/geo/geocode?street=x"):
        return app.test_client().get(path, headers={"Authorization": token})

    with ThreadPoolExecutor(2) as pool:
        calls = [pool.submit(get) for _ in range(2)]
        arrived.wait(60)
        refused, todos, document = get(), get("/api/todos"), get("/api/openapi.json")
        go.set()
        answers = [call.result() for call in calls]

    assert refused.status_code == 503
    assert refused.json["error"]["code"] == "TOO_MANY_CALLS"
    assert refused.headers["Retry-After"] == "5"
    assert todos.status_code == document.status_code == 200
    assert [answer.json for answer in answers] == [LOCATION, LOCATION]


def test_more_calls_than_a_data_source_allows_are_503_at_once(make_app, geo, token, server):
    arrived, go = Event(), Event()

    def keep(handler):
        arrived.set()
        go.wait(60)
        handler.reply({"results": [{"geometry": {"location": LOCATION}}]})

    server.routes["geocode"] = keep
    limited = {
        **geo,
        "options": {**geo["options"], "pool": {"maxConcurrent": 1}},
    }
    app = make_app(DATA_SOURCES={"geo": limited, "other": geo}, THREADS=8)

    def get(path):
        return app.test_client().get(path, headers={"Authorization": token})

    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(get, "/api/geo/geocode?street=x")
        arrived.wait(60)
        refused = get("/api/geo/geocode?street=x")
        other = get("/api/other/status/200")
        go.set()
        answer = first.result()

    assert refused.status_code == 503
    assert refused.json["error"]["code"] == "TOO_MANY_CALLS"
    assert refused.headers["Retry-After"] == "5"
    assert (other.status_code, answer.status_code) == (200, 200)


@pytest.mark.parametrize("failing", ["/api/geo/status/500", "/api/geo/slow"])
def test_a_failed_call_releases_its_slot(make_app, geo, token, failing):
    geo["options"]["timeout"] = 50
    client = make_app(DATA_SOURCES={"geo": geo}, DATA_SOURCE_CALLS=1).test_client()

    statuses = {client.get(failing, headers={"Authorization": token}).status_code for _ in "abc"}

    assert statuses <= {502, 504}
