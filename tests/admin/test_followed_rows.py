"""Lists and rows on the admin page, which follow the changes of models that record them."""

import pytest
from playwright.sync_api import expect

from app.changes.hub import hubs
from tests.support.waiting import eventually

from .browser import DESK, AdminPage
from .service import administered

pytestmark = pytest.mark.live
STREAM = "/parcels/change-stream"


@pytest.fixture(scope="module")
def service(sqlite_template, tmp_path_factory):
    folder = tmp_path_factory.mktemp("followed")
    with administered(folder, sqlite_template, CHANGES=["parcels"]) as service:
        yield service


@pytest.fixture
def admin(service, browser):
    with browser.new_context(viewport=DESK) as context:
        page = AdminPage(context.new_page(), service)
        yield page
        assert page.errors == []


def create(service, size="small", grams=100):
    return service.call("POST", "/parcels", {"size": size, "grams": grams})


def streams(service):
    return hubs.of(service.app).number


def test_a_list_shows_changes_of_others_without_polling(service, admin):
    first = create(service)
    admin.enter("rows/parcels")
    admin.row("100").get_by_role("checkbox").check()
    eventually(lambda: streams(service) == 1)
    reads = len(admin.calls("/parcels?"))

    second = create(service, "large", 2500)
    expect(admin.row("2500")).to_contain_text("large")
    expect(admin.page.get_by_text("1 selected")).to_be_visible()
    service.call("PATCH", f"/parcels/{second['id']}", {"grams": 2600})
    expect(admin.row("2600")).to_contain_text("large")
    service.call("DELETE", f"/parcels/{first['id']}")
    expect(admin.page.get_by_text("1 selected")).to_be_hidden()
    admin.expect_rows(1)

    assert len(admin.calls(STREAM)) == 1
    assert reads < len(admin.calls("/parcels?")) <= reads + 3
    service.call("DELETE", f"/parcels/{second['id']}")


def test_a_stream_is_closed_when_its_view_is_left(service, admin):
    admin.enter("rows/parcels")
    eventually(lambda: streams(service) == 1)

    with admin.page.expect_event(
        "requestfailed", lambda request: STREAM in request.url
    ):
        admin.go("rows/products")

    admin.expect_heading("Products")
    assert len(admin.calls("/products/change-stream")) == 0


def test_a_stream_that_was_lost_is_opened_again(service, admin):
    admin.enter("rows/parcels")
    eventually(lambda: admin.calls(STREAM))
    eventually(lambda: streams(service))
    hubs.of(service.app).stop()

    parcel = create(service, "large", 7000)

    expect(admin.row("7000")).to_be_visible()
    service.call("DELETE", f"/parcels/{parcel['id']}")


def test_a_row_follows_changes_unless_it_is_being_edited(service, admin):
    parcel = create(service, grams=300)
    path = f"/parcels/{parcel['id']}"
    admin.enter(f"rows{path}")
    eventually(lambda: streams(service) == 1)

    service.call("PATCH", path, {"grams": 310})
    expect(admin.field("grams")).to_have_value("310")
    admin.field("grams").fill("320")
    other = create(service)
    service.call("PATCH", path, {"grams": 330})
    expect(admin.field("grams")).to_have_value("320")
    admin.press("Save")

    expect(admin.page.get_by_role("dialog")).to_be_visible()
    admin.errors.clear()
    for each in (parcel, other):
        service.call("DELETE", f"/parcels/{each['id']}")
