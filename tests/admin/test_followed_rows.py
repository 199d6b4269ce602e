"""Lists and rows on the admin page, which follow the changes of models that record them."""

import pytest
from playwright.sync_api import expect

from app.changes.hub import hubs
from tests.support.waiting import eventually

from .browser import DESK, AdminPage
from .service import administered

pytestmark = pytest.mark.live
STREAM = "/categories/change-stream"


@pytest.fixture(scope="module")
def service(sqlite_template, tmp_path_factory):
    folder = tmp_path_factory.mktemp("followed")
    with administered(folder, sqlite_template, CHANGES=["categories"]) as service:
        yield service


@pytest.fixture
def admin(service, browser):
    with browser.new_context(viewport=DESK) as context:
        page = AdminPage(context.new_page(), service)
        yield page
        assert page.errors == []


def create(service, name):
    """Create a category; return its path."""
    return f"/categories/{service.call('POST', '/categories', {'name': name})['id']}"


def wait_for_stream(service):
    """Wait until the view follows changes, and no other does any more."""
    eventually(lambda: hubs.of(service.app).number == 1)


def test_a_list_shows_changes_of_others_without_polling(service, admin):
    first = create(service, "Shelves")
    admin.enter("rows/categories")
    wait_for_stream(service)
    admin.row("Shelves").get_by_role("checkbox").check()
    reads = len(admin.calls("/categories?"))

    second = create(service, "Beds")
    expect(admin.row("Beds")).to_be_visible()
    expect(admin.page.get_by_text("1 selected")).to_be_visible()
    service.call("PATCH", second, {"name": "Sofas"})
    expect(admin.row("Sofas")).to_be_visible()
    service.call("DELETE", first)
    expect(admin.page.get_by_text("1 selected")).to_be_hidden()

    expect(admin.row("Shelves")).to_have_count(0)
    assert len(admin.calls(STREAM)) == 1
    assert reads < len(admin.calls("/categories?")) <= reads + 3
    service.call("DELETE", second)


def test_a_stream_is_closed_when_its_view_is_left(service, admin):
    admin.enter("rows/categories")
    wait_for_stream(service)

    with admin.page.expect_event("requestfailed", lambda request: STREAM in request.url):
        admin.go("rows/products")

    admin.expect_heading("Products")
    assert admin.calls("/products/change-stream") == []


def test_a_stream_that_was_lost_is_opened_again(service, admin):
    admin.enter("rows/categories")
    wait_for_stream(service)
    hubs.of(service.app).stop()

    path = create(service, "Desks")

    expect(admin.row("Desks")).to_be_visible()
    service.call("DELETE", path)


def test_a_row_follows_changes_unless_it_is_being_edited(service, admin):
    path = create(service, "Stools")
    admin.enter(f"rows{path}")
    wait_for_stream(service)

    service.call("PATCH", path, {"name": "Bar stools"})
    expect(admin.field("name")).to_have_value("Bar stools")
    admin.field("name").fill("My stools")
    service.call("PATCH", path, {"name": "Their stools"})
    admin.page.wait_for_timeout(1000)
    admin.press("Save")

    expect(admin.page.get_by_role("dialog")).to_be_visible()
    expect(admin.field("name")).to_have_value("My stools")
    # Chromium itself reports the 412.
    admin.errors.clear()
    service.call("DELETE", path)
