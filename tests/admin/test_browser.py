"""The admin page as people use it, in a real browser."""

import json
import os
import re
import subprocess
from urllib.parse import parse_qs

import pytest
import requests
from playwright.sync_api import expect
from sqlalchemy import insert, select

from app.database.session import db
from app.jobs.running import worker
from app.outbox.delivery import drain
from app.outbox.models import DELIVERED, OBSOLETE, Delivery
from app.todos.models import Todo
from app.webhooks.worker import workers as webhooks
from tests.conftest import PASSWORD
from tests.support.axe import find_problems
from tests.support.programs import require
from tests.support.rows import make_old
from tests.support.waiting import eventually

from .browser import DESK, LOOKS, PHONE, AdminPage
from .service import ADMIN, CLERK, CUSTOMERS, PLAIN, SUPPORT, administered
from .views import VIEWS

pytestmark = pytest.mark.live

# The words in cells that are broken over lines, but for ids, and the tables that are cut off.
WHAT_DOES_NOT_FIT = """() => {
  const broken = [];
  for (const cell of document.querySelectorAll(".rows td, .rows th")) {
    const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
      const { data, parentElement } = texts.currentNode;
      if (parentElement.closest("code, .detail")) continue;
      for (const { 0: word, index } of data.matchAll(/\\S+/g)) {
        const range = document.createRange();
        range.setStart(texts.currentNode, index);
        range.setEnd(texts.currentNode, index + word.length);
        if (new Set([...range.getClientRects()].map(({ top }) => Math.round(top))).size > 1) {
          broken.push(word);
        }
      }
    }
  }
  const tables = [...document.querySelectorAll(".wide")];
  const cut = tables.filter((table) => table.scrollWidth > table.clientWidth);
  return [...broken, ...cut.map((table) => table.textContent)];
}"""
MARKUP = "<img src=x onerror='window.ran = true'><script>window.ran = true</script>"


@pytest.fixture(scope="module")
def service(sqlite_template, tmp_path_factory):
    with administered(tmp_path_factory.mktemp("admin"), sqlite_template) as service:
        yield service


@pytest.fixture(scope="module")
def tab(browser):
    """A page that tests use one after the other."""
    with browser.new_context(viewport=DESK, accept_downloads=True) as context:
        yield context.new_page()


@pytest.fixture
def admin(service, tab):
    """The page, as the last test left it, unless that failed in a dialog."""
    if tab.locator("dialog[open]").count():
        tab.goto("about:blank")
    page = AdminPage(tab, service)
    yield page
    tab.set_viewport_size(DESK)
    assert page.errors == []
    assert page.foreign() == []


def test_an_admin_disables_a_user_whose_sessions_end_and_reads_who_did_it(admin, service):
    token = service.log_in(PLAIN)
    page = admin.page
    admin.start()
    admin.log_in(ADMIN, PASSWORD)
    admin.expect_heading("State")
    admin.section("Users")
    admin.expect_rows(25)
    page.keyboard.press("/")
    expect(page.get_by_role("searchbox")).to_be_focused()
    page.keyboard.type("ada@")
    page.keyboard.press("Enter")
    admin.expect_rows(1)
    # From the search to the row.
    page.get_by_role("heading", name="Users").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    admin.expect_heading(PLAIN)

    admin.follow("Sessions")
    expect(admin.row("python-requests")).not_to_have_count(0)
    admin.press("Disable")
    admin.confirm("Disable")
    admin.expect_told("Disabled")
    expect(page.get_by_text("No session is open.")).to_be_visible()
    admin.follow("Roles")
    admin.field("Role").fill("clerk")
    admin.press("Grant")
    admin.expect_told("Granted clerk.")
    admin.press("Enable")
    admin.expect_told("Enabled.")
    admin.section("Audit log")

    expect(admin.row("login").first).to_contain_text("methods pwd")
    assert _status(service, token) == 401
    for action in ("user-enabled", "role-granted", "user-disabled"):
        row = admin.row(action).first
        expect(row.locator("[data-title=user]")).to_have_text(PLAIN)
        expect(row.locator("[data-title=by]")).to_have_text(f"{ADMIN} (you)")
    assert service.call("GET", f"/admin/users/{service.user_id(PLAIN)}")["roles"] == ["clerk"]


def _status(service, token):
    headers = {"Authorization": token}
    return requests.get(f"{service.url}/api/todos", headers=headers, timeout=30).status_code


def test_what_changes_rights_asks_for_the_password_if_the_login_was_some_time_ago(admin, service):
    admin.enter(f"users/{service.user_id(CUSTOMERS[2])}/roles")
    make_old(service.app, admin.token())
    admin.field("Role").fill("clerk")
    admin.press("Grant")
    admin.expect_heading("Confirm that it is you")
    admin.page.get_by_role("textbox", name="Password").fill(PASSWORD)
    admin.press("Confirm")

    admin.expect_told("Granted clerk.")
    expect(admin.row("clerk")).to_be_visible()


def test_a_row_of_a_model_in_json_meets_an_error_at_its_field_and_is_saved(admin, service):
    admin.enter("rows/products/7")
    page = admin.page
    price = admin.field("price")
    expect(price).to_have_value("47.06")

    price.fill("a lot")
    admin.field("tags").fill('["brass",')
    page.keyboard.press("Control+Enter")
    expect(admin.field("tags")).to_have_accessible_description(_with("is no JSON"))
    admin.field("tags").fill('["brass", "new"]')
    page.keyboard.press("Control+Enter")
    expect(price).to_have_accessible_description(_with("price"))
    expect(price).to_have_attribute("aria-invalid", "true")
    expect(price).to_be_focused()
    price.fill("48.50")
    with admin.saving():
        page.keyboard.press("Control+Enter")

    row = service.call("GET", "/products/7")
    assert (row["price"], row["tags"], row["name"]) == ("48.50", ["brass", "new"], "Floor lamp 6")


def _with(text):
    """Return what matches a text that has this in it."""
    return re.compile(re.escape(text))


def test_a_row_of_a_model_in_python_is_found_by_its_text_and_changed(admin, service):
    admin.enter("rows/notes?q=under")
    admin.expect_rows(1)
    admin.page.locator("a.open").click()
    admin.field("text").fill("The key is with the neighbour")
    admin.field("stars").fill("4")
    with admin.saving(), admin.page.expect_request("**/api/notes/1") as sent:
        admin.press("Save")

    # Nothing but what was changed.
    assert sent.value.post_data_json == {"text": "The key is with the neighbour", "stars": 4}
    assert service.call("GET", "/notes/1")["stars"] == 4


def test_two_admins_notice_that_they_change_the_same_row(admin, service):
    admin.enter("rows/products/6")
    mine = "Lamp-of-one-" * 8
    admin.field("name").fill(mine)
    service.call("PATCH", "/products/6", {"name": "Lamp of the other", "price": "1.00"})
    admin.press("Save")
    changed = admin.page.locator("dialog tbody tr")
    expect(changed.filter(has_text="name")).to_contain_text("Lamp of the other")
    expect(changed.filter(has_text="name")).to_contain_text(mine)
    expect(changed.filter(has_text="price")).to_contain_text("not changed")
    admin.page.set_viewport_size(PHONE)
    assert _end(admin.page.locator("dialog table")) <= _end(admin.page.locator("dialog h2"))
    admin.page.set_viewport_size(DESK)

    with admin.saving():
        admin.confirm("Save mine all the same")
    row = service.call("GET", "/products/6")
    assert (row["name"], row["price"]) == (mine, "1.00")

    admin.field("name").fill("Mine again")
    service.call("PATCH", "/products/6", {"name": "Theirs"})
    admin.press("Save")
    admin.press("Reload, without mine")
    expect(admin.field("name")).to_have_value("Theirs")


def _end(locator):
    """Return where an element ends, in pixels from the left."""
    box = locator.bounding_box()
    return box["x"] + box["width"]


def test_a_row_is_created_and_deleted_with_what_goes_with_it(admin, service):
    admin.enter("rows/products/new")
    admin.field("sku").fill("NEW-1")
    admin.field("name").fill("Table lamp")
    admin.field("price").fill("10")
    admin.press("Create")
    admin.expect_told("Created product")
    product = admin.page.url.rpartition("/")[2]
    admin.go("rows/reviews/new")
    admin.field("stars").fill("5")
    admin.press("Search for productId")
    admin.page.get_by_role("searchbox", name="Search products").fill("table")
    admin.page.locator("dialog").get_by_role("button", name="Table lamp").click()
    expect(admin.field("productId")).to_have_value(product)
    admin.press("Create")
    admin.expect_told("Created review")
    related = admin.page.locator(".related")
    expect(related).to_contain_text(f"Product {product}: Table lamp")

    admin.go(f"rows/products/{product}")
    admin.expect_heading(f"Product {product}: Table lamp")
    admin.press("Delete")
    dialog = admin.page.locator("dialog")
    expect(dialog).to_contain_text("1 of reviews will be deleted")
    admin.confirm("Delete")
    admin.expect_told(f"Deleted product {product}.")
    admin.expect_heading("Products")
    where = json.dumps({"productId": int(product)})
    assert service.call("GET", f"/reviews/count?where={where}") == {"count": 0}


def test_several_rows_are_changed_and_deleted_at_once(admin, service):
    for number in range(3):
        service.call("POST", "/todos", {"title": f"Sweep {number}"})
    admin.enter("rows/todos?q=sweep")
    admin.expect_rows(3)
    admin.page.get_by_label("Select all rows of the page").check()
    admin.press("Set a property")
    admin.page.locator("dialog [name=property]").select_option("isComplete")
    admin.page.locator("dialog [name=isComplete]").select_option("yes")
    admin.press("Set")
    admin.expect_told("Changed 3 rows.")
    where = json.dumps({"and": [{"title": {"like": "Sweep%"}}, {"isComplete": True}]})
    assert service.call("GET", f"/todos/count?where={where}") == {"count": 3}

    admin.page.get_by_label("Select all rows of the page").check()
    admin.press("Delete")
    admin.confirm("Delete")
    admin.expect_told("Deleted 3 rows.")
    expect(admin.page.get_by_text("Nothing matches.")).to_be_visible()


def test_what_a_list_shows_is_in_its_address_and_survives_a_reload(admin):
    admin.enter("rows/products?q=LAMP-")
    page = admin.page
    expect(page.get_by_text("1 to 25 of 60")).to_be_visible()
    expect(page.get_by_role("columnheader", name="price")).to_have_text("price ↕")
    page.get_by_role("button", name="price", exact=True).click()
    expect(page.get_by_role("columnheader", name="price")).to_have_text("price ↑")
    page.get_by_role("columnheader", name="price").get_by_role("button").click()
    expect(page.get_by_role("columnheader", name="price")).to_have_attribute(
        "aria-sort", "descending"
    )
    admin.press("Filter")
    page.locator("dialog [name=property]").select_option("status")
    page.locator("dialog [name=value]").select_option("on sale")
    admin.press("Add the filter")
    page.get_by_role("searchbox").fill("lantern")
    page.keyboard.press("Enter")
    expect(page.get_by_text("1 to 5 of 5")).to_be_visible()
    shown = page.locator("tbody").inner_text()

    page.reload()
    expect(page.get_by_text("1 to 5 of 5")).to_be_visible()
    assert page.locator("tbody").inner_text() == shown
    prices = page.locator("tbody [data-title=price]").all_inner_texts()
    assert [float(price) for price in prices] == sorted(map(float, prices), reverse=True)
    admin.press("Remove the filter status is on sale")
    expect(page.get_by_text("of 15")).to_be_visible()
    page.go_back()
    expect(page.get_by_text("1 to 5 of 5")).to_be_visible()


def test_a_list_is_filtered_by_a_property_of_a_related_row(admin):
    admin.enter("rows/order-items")
    admin.expect_rows(5)
    page, dialog = admin.page, admin.page.locator("dialog")
    admin.press("Filter")
    dialog.get_by_label("Property").select_option("product.status")
    dialog.locator("[name=value]").select_option("on sale")
    admin.press("Add the filter")
    admin.expect_rows(2)
    admin.press("Filter")
    dialog.get_by_label("Property").select_option("product.name")
    dialog.locator("[name=value]").fill("lantern")
    admin.press("Add the filter")
    admin.expect_rows(1)

    page.reload()
    admin.expect_rows(1)
    [where] = parse_qs(page.url.partition("?")[2])["where"]
    assert json.loads(where) == {
        "and": [{"product": {"status": "on sale"}}, {"product": {"name": {"ilike": "%lantern%"}}}]
    }
    admin.press("Remove the filter product.status is on sale")
    expect(page.get_by_text("product.name contains lantern")).to_be_visible()
    admin.expect_rows(1)


def test_a_list_of_many_rows_is_read_by_the_page_and_counted_once(admin, service):
    with service.app.app_context(), db.engine.begin() as connection:
        owner = service.user_id(ADMIN)
        rows = [{"title": f"Row {number}", "owner_id": owner} for number in range(2000)]
        connection.execute(insert(Todo.__table__), rows)
    admin.enter("rows/todos?q=row")
    page = admin.page
    expect(page.get_by_text("1 to 25 of 2,000")).to_be_visible()
    with page.expect_response(re.compile("%22skip%22%3A25")):
        page.get_by_role("button", name="Next").click()
    expect(page.get_by_text("26 to 50 of 2,000")).to_be_visible()

    pages = [call for call in admin.calls("/todos?") if "count=true" not in call]
    assert len(pages) == 2
    assert all("%22limit%22%3A25" in call for call in pages)
    assert len(admin.calls("/todos?")) == 3


def test_a_download_has_all_pages_and_no_formulas(admin, service):
    service.call("POST", "/categories", {"name": "=1+1, or so"})
    # Full-width, as Japanese keyboards write them.
    for sign in "\uff1d\uff0b\uff0d\uff20":
        service.call("POST", "/categories", {"name": f"{sign}1"})
    admin.enter()
    lists = {}
    for name, format_ in (("products", "json"), ("categories", "csv")):
        admin.go(f"rows/{name}?q={'LAMP-' if name == 'products' else ''}")
        admin.expect_heading(name.capitalize())
        admin.press("Download")
        admin.page.locator(f"dialog [value={format_}]").check()
        with admin.page.expect_download() as download:
            admin.confirm("Download")
        lists[format_] = download.value.path().read_text()

    assert len(json.loads(lists["json"])) == 60
    assert '"\'=1+1, or so"' in lists["csv"]
    assert all(f"'{sign}1" in lists["csv"] for sign in "\uff1d\uff0b\uff0d\uff20")


def test_a_choice_in_a_dialog_stays_when_the_number_of_rows_is_known(admin):
    page, held = admin.page, []
    admin.enter()
    page.route("**count=true*", lambda route: held.append(route))
    with page.expect_request("**count=true*"):
        admin.go("rows/products?q=LAMP-")
    admin.open_dialog("Download")
    page.get_by_label("JSON").check()
    with page.expect_response("**count=true*"):
        held[0].continue_()
    expect(page.get_by_text("1 to 25 of 60")).to_have_count(1)

    expect(page.get_by_label("JSON")).to_be_checked()
    page.unroute("**count=true*")
    page.keyboard.press("Escape")


def test_a_mail_that_failed_is_sent_again(admin, service):
    admin.enter("outbox?state=failed")
    failed = admin.row("the server refused the sender")
    expect(failed.get_by_role("link", name=PLAIN)).to_be_visible()
    assert admin.page.evaluate(WHAT_DOES_NOT_FIT) == []
    failed.get_by_role("button", name="Retry").click()
    admin.expect_told("It is tried again.")
    # By the worker, or in this thread if it is not awake yet.
    drain(service.app)
    eventually(lambda: not undelivered(service.app))
    admin.go("outbox?state=delivered")
    delivered = admin.row("resetPasswordRequest")
    expect(delivered).to_contain_text("delivered")
    admin.page.set_viewport_size(PHONE)
    expect(delivered.locator("[data-title=state]")).to_be_visible()
    expect(delivered.locator("[data-title=actions]")).to_be_hidden()
    admin.page.set_viewport_size(DESK)
    admin.go("audit")
    expect(admin.row("delivery-retried")).to_contain_text(ADMIN)


def test_a_webhook_is_added_tested_and_deleted(admin, service, receiver):
    admin.enter("webhooks")
    admin.field("Address").fill(receiver.url)
    admin.field("Events").fill("users.created, users.made")
    admin.press("Create")
    expect(admin.page.get_by_role("alert")).to_contain_text("must be one of")
    admin.field("Events").fill("users.created")
    admin.press("Create")
    expect(admin.page.get_by_role("dialog")).to_contain_text("whsec_")
    admin.press("Close")
    admin.follow(receiver.url)
    admin.press("Test")
    admin.expect_told("A test is sent.")
    webhooks.of(service.app).work()
    assert [message["type"] for message in receiver.take()] == ["webhooks.test"]
    admin.press("Refresh")
    delivery = admin.row("webhooks.test")
    expect(delivery).to_contain_text("delivered")
    expect(delivery).to_contain_text("thanks")
    assert admin.page.evaluate(WHAT_DOES_NOT_FIT) == []
    admin.press("Send 1 again")
    admin.expect_told("It is sent again.")
    admin.press("Disable")
    admin.expect_told("Disabled.")
    admin.press("Rotate")
    admin.confirm("Rotate")
    expect(admin.page.get_by_role("dialog")).to_contain_text("whsec_")
    admin.press("Close")
    admin.press("Delete")
    admin.confirm("Delete")
    admin.expect_told("Deleted the webhook.")
    expect(admin.page.get_by_text("There is no webhook yet")).to_be_visible()


def test_a_job_is_run_now_and_its_last_run_is_seen(admin, service):
    admin.enter("jobs")
    job = admin.row("purge-expired")
    expect(job).to_contain_text("every 0:01:00")
    admin.press("Run purge-expired")
    admin.expect_told("It runs as soon as a process is free.")
    worker.of(service.app).start()
    try:
        eventually(lambda: service.call("GET", "/admin/jobs")[0]["succeeded"])
    finally:
        worker.of(service.app).stop()
    admin.press("Refresh")
    expect(job).to_contain_text("succeeded")
    assert admin.page.evaluate(WHAT_DOES_NOT_FIT) == []
    admin.go("audit")
    expect(admin.row("job-requested")).to_contain_text(ADMIN)


# The states of deliveries that are not to be made any more, such as those to no webhook.
MADE = DELIVERED, OBSOLETE


def undelivered(app):
    """Return the ids of the deliveries that are still to be made, or were given up."""
    with app.app_context():
        return db.session.scalars(select(Delivery.id).where(Delivery.state.not_in(MADE))).all()


def test_a_lock_is_released_and_a_function_of_a_data_source_is_called(admin, service):
    admin.enter("locks")
    admin.row("login_identity").get_by_role("button").click()
    admin.expect_told("Released.")
    expect(admin.page.get_by_text("Nobody is locked out.")).to_be_visible()
    admin.go("sources")
    admin.follow("product")
    admin.field("id").fill("one")
    admin.press("Call")
    expect(admin.field("id")).to_have_accessible_description(_with("must be a number"))
    admin.field("id").fill("1")
    admin.press("Call")
    expect(admin.page.locator(".json")).to_contain_text('"sku": "LAMP-0"')


def test_files_are_uploaded_downloaded_and_deleted(admin, tmp_path):
    page, manual = admin.page, tmp_path / "<b>lamp & oil.txt"
    manual.write_text("Fill it with oil.\n")
    admin.enter()
    admin.section("Files")
    admin.field("New container").fill("notes")
    admin.press("Create")
    admin.expect_told("Created notes.")
    admin.follow("notes")
    expect(page.get_by_text("There is no file yet.")).to_be_visible()
    admin.field("Files").set_input_files(manual)
    admin.press("Upload")
    expect(page.get_by_role("alert")).to_contain_text("name")
    manual = manual.rename(tmp_path / "lamp & oil.txt")
    admin.field("Files").set_input_files(manual)
    admin.press("Upload")
    admin.expect_told("Uploaded.")
    expect(admin.row("lamp & oil.txt")).to_contain_text("18 B")
    with page.expect_download() as download:
        admin.press("Download lamp & oil.txt")
    saved = download.value
    admin.row("lamp & oil.txt").get_by_role("button", name="Delete").click()
    admin.confirm("Delete")
    admin.expect_told("Deleted lamp & oil.txt.")

    assert saved.suggested_filename == "lamp & oil.txt"
    assert saved.path().read_text() == "Fill it with oil.\n"
    admin.expect_rows(0)
    admin.press("Delete")
    admin.confirm("Delete")
    admin.expect_heading("Files")
    expect(admin.row("notes")).to_have_count(0)


def test_a_role_is_created_given_to_a_user_who_is_searched_and_deleted(admin, service):
    admin.enter("roles")
    admin.field("Name").fill("auditor")
    admin.press("Create")
    admin.row("auditor").get_by_role("link").click()
    expect(admin.page.get_by_text("Nobody has this role.")).to_be_visible()
    admin.press("Add a member")
    admin.page.get_by_role("searchbox").fill(CUSTOMERS[3])
    admin.page.locator("dialog").get_by_role("button", name=CUSTOMERS[3]).click()
    expect(admin.row(CUSTOMERS[3])).to_be_visible()
    assert service.call("GET", "/admin/roles/auditor/members")[0]["email"] == CUSTOMERS[3]

    admin.press("Delete")
    admin.confirm("Delete")
    admin.expect_told("Deleted auditor.")
    admin.expect_heading("Roles")
    expect(admin.row("auditor")).to_have_count(0)


def test_the_request_behind_a_view_is_a_command_without_the_token(admin, service):
    require("curl")
    admin.enter("rows/products?q=LAMP-1&order=price%20DESC&columns=sku")
    admin.expect_rows(11)
    admin.page.get_by_text("Request as curl").click()
    command = admin.page.locator(".curl pre").inner_text()
    variables = {**os.environ, "TOKEN": service.token(ADMIN)}
    answer = subprocess.run(
        ["sh", "-c", f"{command} --silent"], env=variables, capture_output=True, check=True
    )

    assert service.token(ADMIN) not in command
    skus = admin.page.locator("tbody [data-title=sku]").all_inner_texts()
    assert [row["sku"] for row in json.loads(answer.stdout)] == skus


def test_support_sees_what_its_rules_allow_and_is_refused_the_rest(admin, service):
    admin.enter("", SUPPORT)
    sections = admin.page.get_by_role("navigation", name="Sections").get_by_role("link")
    admin.expect_heading("Users")
    assert sections.all_inner_texts() == ["Users"]
    admin.page.get_by_role("searchbox").fill(PLAIN)
    admin.page.keyboard.press("Enter")
    admin.expect_rows(1)
    admin.page.locator("a.open").click()
    admin.expect_heading(PLAIN)

    assert admin.page.get_by_role("main").get_by_role("button").all_inner_texts() == []
    admin.go("settings")
    admin.expect_heading("Nothing here")
    assert admin.calls("/admin/settings") == []


def test_users_who_may_not_be_opened_are_no_links(admin):
    admin.enter("users", CLERK)
    admin.expect_rows(25)
    admin.page.locator("[data-title=email]").first.click()

    assert admin.page.get_by_role("table").get_by_role("link").count() == 0
    assert admin.page.url.endswith("#/users")


def test_a_user_without_rights_is_told_so_and_can_log_out(admin):
    admin.start()
    # The views are not even loaded before a login.
    assert not any("shell.js" in url for url in admin.requests)
    admin.log_in(CUSTOMERS[0], PASSWORD)
    admin.expect_heading("No access")
    assert admin.page.get_by_role("link").all_inner_texts() == ["Skip to the content"]
    admin.press("Log out")
    expect(admin.page.get_by_label("Email")).to_be_visible()


def test_markup_in_texts_is_shown_and_does_nothing(admin, service):
    row = {"sku": "<b>sku</b>", "name": MARKUP[:100], "price": "1", "tags": [MARKUP]}
    product = service.call("POST", "/products", {**row, "size": {"<i>": MARKUP}})["id"]
    service.call("POST", "/reviews", {"stars": 1, "text": MARKUP, "productId": product})
    note = service.call("POST", "/notes", {"text": MARKUP})["id"]
    names = {"email": "markup@example.com", "username": MARKUP}
    user = service.call("POST", "/users", {**names, "password": PASSWORD})
    views = [f"rows/products?q={product}", f"rows/products/{product}", "rows/reviews"]
    views += [f"rows/notes/{note}", f"users?q={user['id']}", f"users/{user['id']}"]
    admin.enter()
    for view in [*views, f"rows/products?q={MARKUP}", f"rows/{MARKUP}", f"roles/{MARKUP}"]:
        admin.show(view)
        assert admin.page.locator("main img, main script, main b, main i").count() == 0
    admin.go(views[0])
    expect(admin.row("<b>sku</b>")).to_contain_text("<img src=x")
    assert admin.page.evaluate("window.ran") is None


def test_the_audit_log_has_seconds_whole_words_and_what_commands_did(admin):
    admin.enter("audit?limit=100")
    granted = admin.row("role-granted").filter(has_text="support")
    expect(granted.locator("[data-title=by]")).to_have_text("a command")
    expect(granted.locator("time")).to_have_text(re.compile(r"\d:\d\d:\d\d"))
    login = admin.row(ADMIN).filter(has_text="methods pwd").first
    expect(login.locator("[data-title=by]")).to_have_text("the user")
    registered = admin.row(CUSTOMERS[7]).filter(has_text="registered")
    expect(registered.locator("[data-title=by]")).to_have_text("not logged in")
    assert admin.page.evaluate(WHAT_DOES_NOT_FIT) == []


def test_an_email_is_changed_with_the_password_of_the_admin(admin, service):
    user = service.user_id(CUSTOMERS[6])
    admin.enter(f"users/{user}")
    make_old(service.app, admin.token())
    expect(admin.field("email")).to_have_value(CUSTOMERS[6])
    expect(admin.page.locator("input[type=password]")).to_have_count(0)
    admin.field("email").fill("renamed@example.com")
    expect(admin.field("Your own password")).to_be_visible()
    admin.press("Save")
    expect(admin.field("Your own password")).to_have_accessible_description(_with("is needed"))
    admin.field("Your own password").fill(PASSWORD)
    expect(admin.page.locator(".curl")).to_contain_text('"password":"…"')
    with admin.saving():
        admin.press("Save")

    expect(admin.page.locator("input[type=password]")).to_have_count(0)
    assert service.call("GET", f"/admin/users/{user}")["email"] == "renamed@example.com"
    # Other tests use the session, which is to be a recent one.
    path = f"/users/{service.user_id(ADMIN)}/reauthenticate"
    service.call("POST", path, {"password": PASSWORD})


def test_a_model_has_all_values_of_an_enumeration_and_no_bounds_that_are_not_exact(admin):
    admin.enter("models/parcels")

    expect(admin.row("size").locator("[data-title=type]")).to_have_text("small, large")
    expect(admin.row("grams").locator("[data-title=bounds]")).not_to_contain_text("00")
    admin.go("models/notes")
    bounds = admin.row("stars").locator("[data-title=bounds]")
    expect(bounds).to_contain_text("-2147483648 to 2147483647")


def test_the_form_of_a_new_row_shows_the_default_of_a_choice(admin):
    admin.enter("rows/todos/new")

    none = admin.page.get_by_label("isComplete").locator("option").first
    expect(none).to_have_text("(the default: no)")
    expect(none).to_have_attribute("value", "")


def test_on_a_phone_the_actions_of_a_user_are_in_a_line_and_the_tab_is_in_sight(admin, service):
    admin.page.set_viewport_size(PHONE)
    admin.enter(f"users/{service.user_id(CUSTOMERS[8])}/history")
    expect(admin.page.locator(".head button")).to_have_count(4)
    tops = [button.bounding_box()["y"] for button in admin.page.locator(".head button").all()]

    assert len(set(tops)) == 1
    expect(admin.page.locator(".tabs [aria-current]")).to_be_in_viewport(ratio=0.9)


def test_the_bar_covers_no_field_that_gets_the_focus(admin):
    page = admin.page
    page.set_viewport_size({"width": 1280, "height": 400})
    admin.enter("rows/products/1")
    expect(admin.field("name")).to_be_visible()
    # It is where the bar is, and the next one below.
    page.evaluate("pixels => scrollBy(0, pixels)", admin.field("name").bounding_box()["y"] - 2)
    admin.field("price").evaluate("field => field.focus({ preventScroll: true })")
    page.keyboard.press("Shift+Tab")

    expect(admin.field("name")).to_be_focused()
    bar = page.locator(".bar").bounding_box()
    assert admin.field("name").bounding_box()["y"] >= bar["y"] + bar["height"]


def test_a_session_without_activity_ends(service, browser):
    # A clock stays installed in its context.
    with browser.new_context(viewport=DESK) as context:
        admin = AdminPage(context.new_page(), service)
        admin.page.clock.install()
        admin.start()
        admin.log_in(CUSTOMERS[1], PASSWORD)
        admin.expect_heading("No access")
        token = admin.token()
        with admin.page.expect_response("**/api/users/logout"):
            admin.page.clock.fast_forward(901 * 1000)
        expect(admin.page.get_by_text("without activity")).to_be_visible()

        assert admin.page.evaluate("sessionStorage.length") == 0
        assert _status(service, token) == 401


def test_the_page_asks_before_changes_are_lost(admin):
    admin.enter("rows/products/9")
    admin.field("name").fill("Half done")
    answers = [False, True]
    asked = []

    def answer(dialog):
        asked.append(dialog.message)
        dialog.accept() if answers.pop(0) else dialog.dismiss()

    admin.page.on("dialog", answer)
    admin.go("rows/products")
    expect(admin.field("name")).to_have_value("Half done")
    admin.follow("← Products")
    admin.expect_heading("Products")
    admin.page.remove_listener("dialog", answer)
    assert len(asked) == 2


def test_the_first_view_is_small(service, browser):
    sizes = {}
    with browser.new_context() as context:
        page = context.new_page()
        page.on("response", lambda answer: sizes.update({answer.url: len(answer.body())}))
        page.goto(f"{service.url}/admin")
        page.get_by_label("Email").wait_for()
        page.wait_for_load_state("networkidle")

    assert sum(sizes.values()) < 100_000
    assert any(url.endswith("/admin") for url in sizes)


@pytest.mark.parametrize("scheme", LOOKS)
def test_every_view_is_accessible_and_fits(admin, scheme):
    page = admin.page
    page.set_viewport_size(LOOKS[scheme])
    page.emulate_media(color_scheme=scheme)
    admin.start()
    problems = {"login": find_problems(page)}
    admin.enter()
    # Dialogs are alike in every look.
    for view in VIEWS if scheme == "light" else [view for view in VIEWS if not view.buttons]:
        admin.show(view.address)
        admin.open_dialog(*view.buttons)
        problems[view.name] = find_problems(page)
        if page.evaluate("document.documentElement.scrollWidth") > LOOKS[scheme]["width"]:
            problems[view.name] += ["is wider than the window"]
        page.keyboard.press("Escape")
    page.emulate_media(color_scheme="light")

    assert {name: found for name, found in problems.items() if found} == {}
