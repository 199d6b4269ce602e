"""Events beside those that LoopBack 3 sends for the same writes, which are recorded."""

import json

import pytest

from app.changes import hub

from .conftest import ALL
from .loopback3.__main__ import FOLDER, MODEL
from .test_streams import Events, fast  # noqa: F401 fixtures

REMOVED = {"target": 1, "where": {"id": 1}, "type": "remove"}
# What is different from the recorded events, and why: by the case, its events from this one on.
DIFFERENT = {
    # A row that a filter does not select any more is removed.
    "a filter in JSON": (1, [REMOVED]),
    "a filter in brackets": (1, [REMOVED]),
    "a filter in a body": (1, [REMOVED]),
    "a removal with a filter": (1, [REMOVED]),
    # Each row has an event, of its own kind.
    "updateAll": (
        2,
        [{"target": 1, "data": {"id": 1, "title": "All", "status": "a"}, "type": "update"}],
    ),
}


def recorded():
    cases = json.loads((FOLDER / "recorded.json").read_text())
    return [pytest.param(case, id=case["name"]) for case in cases]


def events_in(text):
    """Return the data of the events of a stream."""
    comment, *blocks = text.removesuffix("\n\n").split("\n\n")
    assert comment == ":ok"
    lines = [block.split("\n") for block in blocks]
    assert all(first == "event: data" for first, _ in lines)
    return [json.loads(second.removeprefix("data: ")) for _, second in lines]


@pytest.mark.parametrize("case", recorded())
def test_streams_have_the_events_of_loopback_3(make_shop, monkeypatch, case):
    monkeypatch.setattr(hub, "PING_INTERVAL", 0.01)
    expected = events_in(case["sent"])
    if case["name"] in DIFFERENT:
        first, events = DIFFERENT[case["name"]]
        expected[first:] = events
    shop = make_shop({"order": {**MODEL, "changes": {"keep": ["status"]}, "acls": ALL}})
    method, path, body = case["stream"]
    stream = Events(shop(method, path, body, buffered=False))
    found = []
    for call in case["calls"]:
        assert shop(*call).status_code == 200
        found += stream.take_all()
    stream.close()

    assert {name for name, _ in found} == {"data"}
    # Here all events have `where`.
    assert all(data["where"] == {"id": data["target"]} for _, data in found)
    added = [{"where": {"id": each["target"]}, **each} for each in expected]
    assert [data for _, data in found] == added
