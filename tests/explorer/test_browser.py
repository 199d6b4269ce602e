"""The explorer in a real browser."""

import json
import re
import shutil
from contextlib import contextmanager

import pytest
import requests
from playwright.sync_api import expect

from app.testing.apps import close
from tests.conftest import PASSWORD
from tests.support.apps import build
from tests.support.live import serve_app

from .browser import SIZE, Explorer

pytestmark = pytest.mark.live

EMAIL = "ada@example.com"


@pytest.fixture(scope="module")
def server(sqlite_template, tmp_path_factory):
    """The address of a service with one user."""
    folder = tmp_path_factory.mktemp("explorer")
    shutil.copy(sqlite_template, folder / "ostiary.sqlite")
    # At another path than the usual one, because the page takes it from the settings.
    app = build(f"sqlite:///{folder}/ostiary.sqlite", folder / "mail", USERS_PATH="Accounts")
    with serve_app(app) as url:
        user = {"email": EMAIL, "password": PASSWORD}
        requests.post(f"{url}/api/accounts", json=user, timeout=60).raise_for_status()
        yield url
    close(app)


@pytest.fixture(scope="module")
def tab(browser):
    """A page that tests use one after the other: a new one takes twice as long to load."""
    with browser.new_context(viewport=SIZE) as context:
        yield context.new_page()


@pytest.fixture
def page(server, tab):
    """The explorer, in a browser that remembers nothing."""
    with _explore(tab, server) as page:
        yield page


@pytest.fixture
def page_without_todos(shared_app, tab):
    """The explorer of a service with one user and no to-do, so that the first one gets the id 1."""
    with serve_app(shared_app()) as url:
        user = {"email": EMAIL, "password": PASSWORD}
        requests.post(f"{url}/api/users", json=user, timeout=60).raise_for_status()
        with _explore(tab, url) as page:
            yield page


@contextmanager
def _explore(tab, url):
    page = Explorer(tab, url)
    try:
        yield page
        assert page.foreign == []
        assert page.failed == []
    finally:
        page.leave()


def test_a_session_from_login_over_todo_calls_to_logout_works(page_without_todos):
    page = page_without_todos
    page.log_in(EMAIL, PASSWORD)
    page.page.locator("#session").wait_for()
    shown = page.page.inner_text("#session")

    created = page.execute("todos.create")
    listed = page.execute("todos.find")
    read = page.execute("todos.findById")
    page.page.click("#logout")
    page.page.locator("#login").wait_for()
    refused = page.execute("todos.find")

    assert f"Logged in as {EMAIL}" in shown
    assert re.search(r"token active for 1[34] d", shown)
    assert [created[0], listed[0], read[0], refused[0]] == [200, 200, 200, 401]
    todo = json.loads(created[1])
    assert todo["title"] == "Water the plants"
    assert json.loads(listed[1]) == [todo]
    assert json.loads(read[1]) == todo
    assert json.loads(refused[1])["error"]["code"] == "AUTHORIZATION_REQUIRED"
    # Chromium itself reports the 401 that was asked for, and nothing else.
    assert [error for error in page.errors if "status of 401" not in error] == []
    assert len(page.errors) == 1


def test_a_service_without_public_users_has_an_explorer_without_a_login(make_app, tab, tmp_path):
    config = {"User": {"dataSource": "db", "public": False}}
    (tmp_path / "model-config.json").write_text(json.dumps(config))
    app = make_app(MODELS_FOLDER=str(tmp_path))
    with serve_app(app) as url, _explore(tab, url) as page:
        read = page.execute("todos.find")

        assert read[0] == 401
        expect(page.page.locator("#account")).to_be_hidden()
        assert [error for error in page.errors if "status of 401" not in error] == []


def test_what_the_service_says_of_a_form_is_read_out_at_the_form(page):
    page.log_in(EMAIL, "not the password")
    login = page.page.locator("#login .problem")
    expect(login).to_have_text("login failed")
    expect(login).to_be_focused()
    expect(login).to_have_role("alert")

    page.page.click("#to-register")
    page.send("register", EMAIL, "password")
    password = page.page.locator("#register [name=password]")
    expect(password).to_be_focused()
    expect(password).to_have_accessible_description("is too common")
    page.send("register", EMAIL, "a quiet harbour")
    email = page.page.locator("#register [name=email]")
    expect(email).to_have_accessible_description("already exists")
    expect(password).not_to_have_attribute("aria-invalid", "true")
    page.send("register", "new@example.com", "a quiet harbour")

    expect(page.page.locator("#session")).to_contain_text("Logged in as new@example.com")


def test_registration_follows_the_settings(tab, shared_app):
    required = shared_app(EMAIL_VERIFICATION="required")
    closed = shared_app(REGISTRATION_OPEN=False)
    with serve_app(required) as url, _explore(tab, url) as explorer:
        page = explorer.page
        page.click("#to-register")
        page.fill("#register [name=email]", EMAIL)
        page.fill("#register [name=password]", PASSWORD)
        page.click("#register button:not([type])")

        told = f"You are registered: follow the link in the mail to {EMAIL}, and log in."
        expect(page.locator("#login .problem")).to_have_text(told)
        expect(page.locator("#login [name=email]")).to_have_value(EMAIL)
    with serve_app(closed) as url, _explore(tab, url) as explorer:
        page = explorer.page

        expect(page.locator("#login")).to_be_visible()
        expect(page.locator("#to-register")).to_be_hidden()


def test_a_user_registers_with_the_example_and_logs_in(page):
    status, body = page.execute("users.create")
    again, _ = page.execute("users.login")
    address = page.page.input_value("#login [name=email]")
    page.log_in(address, "a quiet harbour")
    page.page.locator("#session").wait_for()
    own, record = page.execute("users.findById")

    assert [status, again, own] == [200, 200, 200]
    assert json.loads(record) == json.loads(body)
    assert json.loads(record)["email"] == address
    assert page.errors == []


def test_calls_are_in_the_order_of_their_use_and_found_by_words(page):
    names = page.page.locator(".opblock-summary-operation-id")
    tags = page.page.locator(".opblock-tag-section h3").evaluate_all(
        "headings => headings.map(heading => heading.dataset.tag)"
    )
    # The models come first, and only the first section is unfolded.
    assert tags[:2] == ["todos", "users"]
    assert {text.partition(".")[0] for text in names.all_inner_texts()} == {"todos"}
    page.page.locator('.opblock-tag-section h3[data-tag="todos"]').click()
    page.page.locator('.opblock-tag-section h3[data-tag="users"]').click()
    expect(page.page.locator("[id^='operations-todos-']")).to_have_count(0)
    page.page.locator("[id^='operations-users-']").first.wait_for()
    shown = names.all_inner_texts()
    first = [item.partition(".")[2].replace("\u200b", "") for item in shown]

    assert first[:4] == ["create", "login", "findById", "patchAttributes"]
    assert first.index("logout") < first.index("find")
    assert [name for name in first if name.startswith("logout")] == ["logout"]
    assert {item.partition(".")[0] for item in shown} == {"users"}

    page.page.get_by_role("searchbox", name="Search calls").press_sequentially("lIST todo ")
    expect(page.page.locator("#found")).to_have_text("2 calls")
    expect(names).to_have_count(2)
    assert {text.rpartition("_")[2] for text in names.all_inner_texts()} == {"todos.find", "todos"}
    page.page.fill("#words", "/todos/count")
    expect(page.page.locator("#found")).to_have_text("2 calls")
    page.page.fill("#words", "")
    # Without words, only the first section is unfolded again.
    expect(page.page.locator("[id^='operations-users-']")).to_have_count(0)
    expect(page.page.locator("[id^='operations-todos-']").first).to_be_visible()
    assert page.page.get_by_role("button", name="Authorize").count() == 0


def test_a_filter_starts_empty_with_an_example_and_its_schema_at_hand(page):
    page.log_in(EMAIL, PASSWORD)
    page.page.locator("#session").wait_for()
    page.execute("todos.create")
    block = page.open("todos.find")
    field = block.locator("input[placeholder=filter]")
    started = field.input_value()
    errors = block.get_by_text("Errors: 400, 401")

    expect(block.locator(".response[data-code]")).to_have_count(1)
    errors.click()
    expect(block.locator('.response[data-code="401"]')).to_be_visible()
    block.get_by_role("button", name="Use the example with a relation").click()
    related = json.loads(field.input_value())
    related_status, _ = page.execute("todos.find")
    block.get_by_role("button", name="Use the example", exact=True).click()
    filled = json.loads(field.input_value())
    status, body = page.execute("todos.find")

    assert started == ""
    assert (related["order"], related_status) == ("owner.email", 200)
    assert filled == {"where": {"title": "Water the plants"}, "order": "id DESC", "limit": 10}
    assert status == 200
    assert {todo["title"] for todo in json.loads(body)} == {"Water the plants"}
    block.get_by_role("link", name="Schema TodoFilter").click()
    schema = page.page.locator(".models article", has_text="TodoFilter").first
    expect(schema.get_by_text("limit")).to_be_visible()


def test_calls_say_that_they_need_a_login_until_there_is_one(page):
    marks = page.page.get_by_text("needs login")
    assert marks.count() > 5

    page.log_in(EMAIL, PASSWORD)

    expect(marks).to_have_count(0)


def test_nothing_is_wider_than_a_phone(page):
    page.page.set_viewport_size({"width": 375, "height": 740})
    page.log_in(EMAIL, PASSWORD)
    page.page.locator("#session").wait_for()
    page.execute("users.login")
    json_ = page.page.locator(".responses-wrapper :is(pre, pre code), .body-param__text")

    # Lines end where JSON has them, and not at a hyphen or in a word.
    wrap = json_.evaluate_all("all => all.map((each) => getComputedStyle(each).whiteSpace)")
    assert len(wrap) > 3
    assert set(wrap) == {"pre"}
    assert page.page.evaluate("document.documentElement.scrollWidth") == 375


def test_in_the_dark_headers_of_answers_are_as_light_as_their_titles(page):
    page.page.emulate_media(color_scheme="dark")
    headers = page.open("users.findById").locator(".headers").first
    title = headers.locator("th").first
    colour = title.evaluate("title => getComputedStyle(title).color")
    expect(headers.get_by_text("ETag", exact=True)).to_have_css("color", colour)
    page.page.emulate_media(color_scheme="light")


def test_calling_the_logout_operation_ends_the_session_of_the_page(page):
    page.log_in(EMAIL, PASSWORD)
    page.page.locator("#session").wait_for()

    status, _ = page.execute("users.logout")

    page.page.locator("#login").wait_for()
    assert status == 204
    assert page.errors == []


def test_a_new_password_is_set_with_the_token_of_the_mail_and_not_that_of_the_session(page):
    page.log_in(EMAIL, PASSWORD)
    page.page.locator("#session").wait_for()
    block = page.open("users.setPassword")
    block.get_by_placeholder("X-Access-Token").fill("of-the-mail")

    with page.page.expect_request("**/reset-password") as sent:
        block.locator(".execute").click()

    assert sent.value.headers["x-access-token"] == "of-the-mail"
    assert "authorization" not in sent.value.headers


def test_an_expired_token_is_dropped(server, browser):
    # A clock stays installed in its context.
    with browser.new_context() as context, _explore(context.new_page(), server) as page:
        page.page.clock.install()
        page.log_in(EMAIL, PASSWORD)
        page.page.locator("#session").wait_for()

        page.page.clock.fast_forward(1209600 * 1000)

        page.page.locator("#login").wait_for()
        assert "expired" in page.page.inner_text("#login .problem")


def test_the_session_is_not_stored_in_the_browser(page):
    page.log_in(EMAIL, PASSWORD)
    page.page.locator("#session").wait_for()
    stored = page.page.context.storage_state()

    assert stored == {"cookies": [], "origins": []}
