"""The explorer in a real browser, on a real server."""

import json
import re
import shutil

import pytest
import requests
from playwright.sync_api import expect

from tests.conftest import PASSWORD
from tests.explorer.browser import Explorer
from tests.live import serve

EMAIL = "ada@example.com"


@pytest.fixture(scope="module")
def server(sqlite_template, tmp_path_factory):
    """A service with one user; starting one, and a browser, takes longer than any test."""
    folder = tmp_path_factory.mktemp("explorer")
    shutil.copy(sqlite_template, folder / "ostiary.sqlite")
    # At another path than the usual one, because the page takes it from the settings.
    database = f"sqlite:///{folder}/ostiary.sqlite"
    with serve(folder, database, APP_USERS_PATH="Accounts") as server:
        user = {"email": EMAIL, "password": PASSWORD}
        requests.post(f"{server.url}/api/accounts", json=user, timeout=10).raise_for_status()
        yield server


@pytest.fixture
def page(server, browser):
    """The explorer, in a browser that remembers nothing."""
    with browser.new_context() as context:
        page = Explorer(context.new_page(), server.url)
        yield page
        assert page.foreign == []
        assert page.failed == []


def test_a_session_from_login_over_todo_calls_to_logout_works(page):
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


def test_wrong_credentials_show_the_message_of_the_service(page):
    page.log_in(EMAIL, "not the password")

    page.page.locator("#problem:not(:empty)").wait_for()
    assert page.page.inner_text("#problem") == "login failed"
    assert page.page.locator("#session").is_hidden()


def test_a_user_registers_with_the_example_and_logs_in(page):
    status, body = page.execute("users.create")
    again, _ = page.execute("users.login")
    address = page.page.input_value("#email")
    page.log_in(address, "a quiet harbour")
    page.page.locator("#session").wait_for()
    own, record = page.execute("users.findById")

    assert [status, again, own] == [200, 200, 200]
    assert json.loads(record) == json.loads(body)
    assert json.loads(record)["email"] == address
    assert page.errors == []


def test_filters_start_empty(page):
    block = page.open("todos.find")

    assert block.locator("input[placeholder=filter]").input_value() == ""


def test_locks_are_open_until_login(page):
    closed = page.page.locator('.opblock [aria-label="authorization button locked"]')
    opened = page.page.locator('.opblock [aria-label="authorization button unlocked"]')
    expect(closed).to_have_count(0)
    count = opened.count()

    page.log_in(EMAIL, PASSWORD)

    expect(opened).to_have_count(0)
    expect(closed).to_have_count(count)


def test_calling_the_logout_operation_ends_the_session_of_the_page(page):
    page.log_in(EMAIL, PASSWORD)
    page.page.locator("#session").wait_for()

    status, _ = page.execute("users.logout")

    page.page.locator("#login").wait_for()
    assert status == 204
    assert page.errors == []


def test_an_expired_token_is_dropped(page):
    page.page.clock.install()
    page.log_in(EMAIL, PASSWORD)
    page.page.locator("#session").wait_for()

    page.page.clock.fast_forward(1209600 * 1000)

    page.page.locator("#login").wait_for()
    assert "expired" in page.page.inner_text("#problem")


def test_the_session_is_not_stored_in_the_browser(page):
    page.log_in(EMAIL, PASSWORD)
    page.page.locator("#session").wait_for()
    stored = page.page.context.storage_state()

    assert stored == {"cookies": [], "origins": []}
