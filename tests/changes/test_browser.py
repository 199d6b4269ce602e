"""A browser's `EventSource`, which connects again by itself and continues."""

import pytest

from app.changes.hub import hubs
from tests.support.live import serve_app
from tests.support.waiting import eventually

pytestmark = pytest.mark.live
OPEN = """
() => {
  window.events = [];
  window.source = new EventSource("/api/orders/change-stream");
  window.source.addEventListener("data", (event) => {
    const { type, target } = JSON.parse(event.data);
    window.events.push([type, target, event.lastEventId !== ""]);
  });
  return new Promise((resolve) => { window.source.onopen = () => resolve(true); });
}
"""


def test_a_browser_continues_after_its_connection_was_lost(make_shop, browser):
    shop = make_shop()
    with serve_app(shop.app) as url:
        page = browser.new_page()
        page.goto(f"{url}/explorer")
        assert page.evaluate(OPEN)
        shop("POST", "/orders", {"title": "First"})
        eventually(lambda: len(page.evaluate("() => window.events")) == 1)
        hubs.of(shop.app).stop()
        shop("POST", "/orders", {"title": "Meanwhile"})
        shop("DELETE", "/orders/1")
        eventually(lambda: len(page.evaluate("() => window.events")) == 3)

        found = page.evaluate("() => window.events")
        page.evaluate("() => window.source.close()")
        page.close()

    assert found == [["create", 1, True], ["create", 2, True], ["remove", 1, True]]
