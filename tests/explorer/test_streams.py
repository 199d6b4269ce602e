"""Streams of changes in the explorer, in a real browser."""

import pytest
import requests
from playwright.sync_api import expect

from app.changes.hub import hubs
from tests.definitions.conftest import make_models, write_models  # noqa: F401 fixtures
from tests.support.live import serve_app
from tests.support.waiting import eventually

from .browser import SIZE, Explorer

pytestmark = pytest.mark.live
NOTE = {
    "name": "Note",
    "changes": True,
    "properties": {"text": {"type": "string"}},
    "acls": [{"principalType": "ROLE", "principalId": "$everyone", "permission": "ALLOW"}],
}


def test_a_stream_shows_events_until_it_is_stopped(make_models, browser):  # noqa: F811
    app = make_models({"note": NOTE})
    hub = hubs.of(app)
    with serve_app(app) as url, browser.new_context(viewport=SIZE) as context:
        explorer = Explorer(context.new_page(), url)
        block = explorer.open("Notes.createChangeStream")
        block.get_by_role("button", name="Open the stream").click()
        eventually(lambda: hub.number == 1)

        made = requests.post(f"{url}/api/notes", json={"text": "Hello"}, timeout=20).json()
        events = block.get_by_role("log").get_by_role("listitem")
        expect(events).to_have_count(1)
        expect(events).to_contain_text('"text":"Hello"')
        requests.delete(f"{url}/api/notes/{made['id']}", timeout=20)
        expect(events.nth(1)).to_contain_text('"type":"remove"')
        block.get_by_role("button", name="Stop").click()
        expect(block.get_by_text("The stream is closed.")).to_be_visible()

        requests.post(f"{url}/api/notes", json={"text": "Unseen"}, timeout=20)
        eventually(lambda: hub.number == 0)
        expect(events).to_have_count(2)
        assert explorer.errors == []


def test_a_refused_stream_says_so(make_models, browser):  # noqa: F811
    app = make_models({"note": {**NOTE, "acls": []}})
    with serve_app(app) as url, browser.new_context(viewport=SIZE) as context:
        explorer = Explorer(context.new_page(), url)
        block = explorer.open("Notes.createChangeStream")
        block.get_by_role("button", name="Open the stream").click()

        expect(block.get_by_text("The service has refused the stream: 401.")).to_be_visible()
