"""The account page in a real browser: from the registration to a login of each kind, and after."""

import re
from pathlib import Path

import pytest
import requests
from playwright.sync_api import expect

from app.access.roles import grant
from app.database.session import db
from app.oauth.models import ExternalIdentity
from app.testing.apps import close
from tests.conftest import NEW, PASSWORD
from tests.support.apps import build
from tests.support.live import serve_app
from tests.support.rows import make_old
from tests.support.second_factors import FACTOR_KEY, Device

from .browser import SIZES, AccountPage
from .conftest import Service, make_tables

pytestmark = pytest.mark.live

CODE = re.compile(r"\b[0-9]{8}\b")
TYPED_CODE = re.compile(r"\b[a-z2-7]{4}-[a-z2-7]{4}-[a-z2-7]{4}\b")
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
PROFILE, METHODS = "Profile", "Ways to log in"
# Seconds from a code of an authenticator app to its check.
PATIENCE = 20


def add_app(account):
    """Add an authenticator app on the page; return it."""
    account.press("Add an authenticator app")
    account.expect_dialog_in_the_middle()
    account.fill(Name="phone")
    account.press("Next")
    secret = account.page.locator("dialog code").inner_text().replace(" ", "")
    device = Device(secret, PATIENCE)
    account.fill(Code_that_the_app_shows=device.code())
    account.page.locator("dialog").get_by_role("button", name="Add", exact=True).click()
    expect(account.row("phone")).to_be_visible()
    return device


def make_codes(account):
    """Make recovery codes on the page; return them."""
    account.press("Make new codes")
    account.expect_heading("Your new recovery codes")
    return account.page.locator(".codes code").all_inner_texts()


def leave_cookies(service, account, **cookies):
    """Set cookies as a login by a provider does."""
    flags = {"url": service.url, "sameSite": "Lax"}
    rows = [
        {"name": name, "value": value, "httpOnly": name != "userId", **flags}
        for name, value in cookies.items()
    ]
    account.page.context.add_cookies(rows)


def end_sessions(service, token, user_id):
    path = f"{service.url}/api/users/{user_id}/accessTokens"
    answer = requests.delete(path, headers={"Authorization": token}, timeout=60)
    assert answer.status_code == 204


def test_a_visitor_registers_confirms_the_address_and_logs_in(service, account):
    account.open()
    account.assert_accessible()
    account.follow("Register")
    account.fill(Email="ada@example.com", Password="password")
    account.press("Register")
    expect(account.field("Password")).to_have_accessible_description(
        "At least 8 characters. Password is too common"
    )
    expect(account.field("Password")).to_be_focused()
    account.assert_accessible()
    account.fill(Password=PASSWORD)
    account.press("Register")
    account.expect_heading("Confirm your address")
    account.assert_accessible()
    account.press("Mail a new link")
    account.expect_text("A new link is on its way.")

    account.page.goto(service.link_to("ada@example.com"))
    account.assert_accessible()
    account.press("Confirm the address")
    account.expect_heading("Your email address is confirmed")
    account.assert_accessible()
    account.follow("Go to your account")
    account.log_in("ada@example.com", PASSWORD)
    account.expect_heading(PROFILE)
    account.expect_text("confirmed")
    account.page.reload()
    account.expect_heading(PROFILE)
    account.log_out()


def test_a_forgotten_password_is_replaced_by_a_mailed_link(service, account):
    service.user("bo@example.com")
    account.open()
    account.log_in("bo@example.com", "not the password")
    account.expect_text("The email or the password is wrong.")
    account.follow("Forgot your password?")
    account.assert_accessible()
    account.fill(Email="bo@example.com")
    account.press("Mail a link")
    account.expect_text("If bo@example.com is the address of an account")

    account.page.goto(service.link_to("bo@example.com"))
    account.page.get_by_label("New password").fill("password")
    account.press("Set password")
    account.expect_text("too common")
    account.assert_accessible()
    account.page.get_by_label("New password").fill(NEW)
    account.press("Set password")
    account.expect_heading("Your password is set")
    account.assert_accessible()
    account.follow("Go to your account")
    account.log_in("bo@example.com", NEW)
    account.expect_heading(PROFILE)


def test_an_authenticator_app_and_recovery_codes_are_added_and_log_in(service, account):
    service.user("cy@example.com")
    account.open("login-methods")
    account.log_in("cy@example.com", PASSWORD)
    device = add_app(account)
    codes = make_codes(account)
    account.assert_accessible()
    account.press("I have kept them")
    account.expect_text("You have 10 codes left.")

    account.log_out()
    account.log_in("cy@example.com", PASSWORD)
    account.expect_heading("Second factor")
    account.assert_accessible()
    account.fill(Code="000000")
    account.press("Log in")
    account.expect_text("The second factor is wrong.")
    account.fill(Code=device.code())
    account.press("Log in")
    account.expect_heading(METHODS)

    account.log_out()
    account.log_in("cy@example.com", PASSWORD)
    account.fill(Code=codes[0])
    account.press("Log in")
    account.expect_text("You have 9 codes left.")
    account.press("Remove phone")
    account.fill(Code=codes[1])
    account.page.locator("dialog").get_by_role("button", name="Remove", exact=True).click()
    expect(account.row("phone")).to_have_count(0)
    expect(account.page.get_by_text("codes left")).to_have_count(0)


def test_on_a_phone_a_link_opens_the_authenticator_app(service, account):
    account.enter(*service.user("al@example.com"), "login-methods")
    account.press("Add an authenticator app")
    account.press("Next")
    link = account.page.get_by_role("link", name="Open in an authenticator app")
    expect(account.page.get_by_role("img", name="QR code")).to_be_visible()
    expect(link).to_be_hidden()
    account.page.set_viewport_size(SIZES["dark"])
    expect(link).to_have_attribute("href", re.compile("^otpauth://totp/.*secret="))
    account.assert_accessible()


def test_recovery_codes_are_copied_downloaded_and_printed(service, account):
    account.enter(*service.user("di@example.com"), "login-methods")
    page = account.page
    add_app(account)
    expect(page.locator(".notice")).to_be_visible()
    codes = make_codes(account)
    # It must not cover what is to be done with the codes.
    assert page.locator(".notice").count() == 0
    expect(page.get_by_role("heading", name="Your new recovery codes")).to_be_focused()
    account.press("Copy")
    account.expect_text("Copied")
    with page.expect_download() as download:
        account.press("Download")
    page.evaluate("() => { window.print = () => { window.isPrinted = true } }")
    account.press("Print")
    page.emulate_media(media="print")

    assert len(set(codes)) == 10
    assert page.evaluate("navigator.clipboard.readText()").split() == codes
    saved = Path(download.value.path()).read_text()
    assert "di@example.com" in saved
    assert all(f"\n{code}\n" in saved for code in codes)
    assert page.evaluate("window.isPrinted")
    printed = page.locator("body").inner_text()
    assert "Recovery codes of di@example.com at Ostiary" in printed
    assert [code for code in codes if code not in printed] == []
    assert "Log out" not in printed
    assert "phone" not in printed


def test_a_passkey_logs_in_alone_and_is_a_second_factor(service, account):
    service.user("ed@example.com")
    with account.passkeys():
        account.open("login-methods")
        account.log_in("ed@example.com", PASSWORD)
        account.press("Add a passkey")
        account.fill(Name="laptop")
        account.page.keyboard.press("Enter")
        expect(account.row("laptop")).to_contain_text("on one device only")

        account.log_out()
        account.press("Log in with a passkey")
        expect(account.row("laptop")).not_to_contain_text("last used never")
        account.expect_text("ed@example.com")

        account.log_out()
        account.log_in("ed@example.com", PASSWORD)
        account.press("Use a passkey")
        account.press("Rename laptop")
        account.fill(Name="old laptop")
        account.page.keyboard.press("Enter")
        expect(account.row("old laptop")).to_be_visible()
        account.press("Remove old laptop")
        account.page.locator("dialog").get_by_role("button", name="Use a passkey").click()
        expect(account.row("laptop")).to_have_count(0)


def test_a_device_without_a_passkey_is_told_so(service, account):
    with account.passkeys():
        account.open()
        account.press("Log in with a passkey")

        account.expect_text("it was cancelled, or this device has none for this site.")


def test_a_mailed_code_logs_in(service, account):
    service.user("fe@example.com")
    account.open()
    account.press("Mail me a code")
    account.assert_accessible()
    account.fill(Email="fe@example.com")
    account.press("Mail a code")
    expect(account.field("Code of the mail")).to_be_focused()
    code = CODE.search(service.mail_to("fe@example.com"))[0]
    account.fill(Code_of_the_mail="00000000")
    account.press("Log in")
    account.expect_text("The code is wrong, or too old.")
    account.fill(Code_of_the_mail=code)
    account.press("Log in")

    account.expect_heading(PROFILE)


def test_who_must_have_a_second_factor_adds_one_at_the_login(service, account):
    _, user_id = service.user("gil@example.com")
    with service.app.app_context():
        grant(user_id, "auditor")
    account.open()
    account.log_in("gil@example.com", PASSWORD)
    account.expect_heading("Add a second factor")
    account.assert_accessible()
    device = Device(account.page.locator(".secret code").inner_text().replace(" ", ""), PATIENCE)
    account.fill(Code_that_the_app_shows=device.code())
    account.press("Log in")

    account.expect_heading(PROFILE)


def confirm_address(service, account, email):
    """Type the code that is mailed to an address, after a wrong one."""
    account.expect_heading("Confirm your address")
    account.press("Mail a code")
    account.expect_text("A code is on its way.")
    expect(account.field("Code of the mail")).to_be_focused()
    account.fill(Code_of_the_mail="abcd-efgh-ijkl")
    account.press("Confirm")
    account.expect_text("is wrong, or over")
    account.press("Mail another code")
    account.expect_text("Another code is on its way.")
    account.fill(Code_of_the_mail=TYPED_CODE.search(service.mail_to(email))[0].upper())
    account.press("Confirm")


def test_the_first_factor_takes_a_code_that_is_mailed_to_the_address(service, account):
    account.enter(*service.user("ray@example.com", verified=False), "login-methods")
    account.press("Add an authenticator app")
    account.press("Next")
    account.expect_heading("Confirm your address")
    account.assert_accessible()
    account.page.keyboard.press("Escape")
    account.expect_text("Prove your email address first")
    account.press("Next")
    confirm_address(service, account, "ray@example.com")
    account.expect_text("Scan this with the app")
    account.page.keyboard.press("Escape")
    account.follow("Tokens")
    account.press("Make a token")
    account.fill(Name="backup")
    account.page.get_by_label("Read todos").check()
    account.press("Make the token")

    # Once is enough.
    account.expect_text("It is shown this once")


def test_a_login_long_ago_and_an_address_that_is_not_proved_are_asked_for_one_after_the_other(
    service, account
):
    token, user_id = service.user("sam@example.com", verified=False)
    account.enter(token, user_id, "login-methods")
    account.expect_heading("Passkeys")
    make_old(service.app, token)
    account.press("Add an authenticator app")
    account.press("Next")
    account.expect_heading("Confirm that it is you")
    account.fill(Password=PASSWORD)
    account.press("Confirm")
    confirm_address(service, account, "sam@example.com")

    account.expect_text("Scan this with the app")


def test_a_new_address_of_a_user_with_a_factor_is_proved_first(service, account):
    account.enter(*service.user("tom@example.com"), "login-methods")
    add_app(account)
    account.follow("Profile")
    form = account.page.get_by_role("form", name="Email address")
    form.get_by_label("New email address").fill("thomas@example.com")
    form.get_by_label("Password").fill(PASSWORD)
    account.press("Change the address")
    account.expect_text("First show that thomas@example.com is your address.")
    confirm_address(service, account, "thomas@example.com")

    account.expect_text("Your email address is changed.")
    expect(account.page.locator(".who")).to_have_text("thomas@example.com")


def test_who_must_have_a_second_factor_proves_the_address_at_the_login(tmp_path, context):
    settings = {"SECOND_FACTOR": "required", "FACTOR_KEYS": [FACTOR_KEY], "ACCOUNT_PAGE": True}
    url, mails = f"sqlite:///{tmp_path}/ostiary.sqlite", tmp_path / "mail"
    make_tables(url, mails, settings)
    app = build(url, mails, **settings, OUTBOX_IN_PROCESS=False)
    with serve_app(app) as address:
        account, service = AccountPage(context.new_page(), address), Service(app, address, mails)
        account.open("register")
        account.fill(Email="uma@example.com", Password=PASSWORD)
        account.press("Register")
        account.expect_heading("Confirm your address")
        account.assert_accessible()
        confirm_address(service, account, "uma@example.com")
        account.expect_heading("Add a second factor")
        secret = account.page.locator(".secret code").inner_text().replace(" ", "")
        account.fill(Code_that_the_app_shows=Device(secret, PATIENCE).code())
        account.press("Log in")
        account.expect_heading(PROFILE)
        account.page.close()
    close(app)

    assert (account.errors, account.foreign) == ([], [])


def test_sessions_are_listed_and_ended(service, account):
    token, user_id = service.user("hal@example.com")
    credentials = {"email": "hal@example.com", "password": PASSWORD}
    login = f"{service.url}/api/users/login"
    agents = {"User-Agent": FIREFOX}, {"User-Agent": "curl/8.14.1"}, {"User-Agent": "backup"}
    for agent in agents:
        requests.post(login, json=credentials, headers=agent, timeout=60)
    account.enter(token, user_id, "sessions")
    rows = account.page.locator(".rows li")
    expect(rows).to_have_count(4)
    expect(account.row("this session")).to_have_count(1)
    account.press("End Firefox on Linux")
    expect(rows).to_have_count(3)
    account.press("End all others")
    expect(rows).to_have_count(1)

    account.expect_text("2 sessions are ended.")
    expect(rows).to_contain_text("this session")


def test_a_session_that_has_ended_leads_to_the_login_which_says_so(service, account):
    token, user_id = service.user("ina@example.com")
    account.enter(token, user_id)
    account.expect_heading(PROFILE)
    end_sessions(service, token, user_id)
    account.follow("Sessions")

    account.expect_text("Your session has ended: log in again.")
    account.assert_accessible()


def test_a_session_ends_without_activity_at_the_service_too(service, context):
    token, user_id = service.user("jo@example.com")
    account = AccountPage(context.new_page(), service.url)
    account.page.clock.install()
    account.enter(token, user_id)
    account.expect_heading(PROFILE)
    with account.page.expect_response("**/logout"):
        account.page.clock.fast_forward("15:30")

    account.expect_text("You were logged out after 15 minutes without activity.")
    account.page.close()
    own = f"{service.url}/api/users/{user_id}"
    assert requests.get(own, headers={"Authorization": token}, timeout=60).status_code == 401


def test_a_change_of_credentials_long_after_the_login_asks_for_the_password(service, account):
    token, user_id = service.user("kim@example.com")
    account.enter(token, user_id, "login-methods")
    account.expect_heading("Passkeys")
    make_old(service.app, token)
    account.press("Add an authenticator app")
    account.press("Next")
    account.expect_heading("Confirm that it is you")
    account.assert_accessible()
    account.page.keyboard.press("Escape")
    account.expect_text("Authenticate again")
    account.press("Next")
    account.fill(Password="not the password")
    account.press("Confirm")
    account.expect_text("Invalid current password.")
    account.fill(Password=PASSWORD)
    account.press("Confirm")

    account.expect_text("Scan this with the app")


def test_a_personal_token_is_made_used_and_ended(service, account):
    account.enter(*service.user("lou@example.com"), "tokens")
    account.press("Make a token")
    account.fill(Name="backup")
    account.press("Make the token")
    account.expect_text("Tick at least one box.")
    account.assert_accessible()
    account.page.get_by_label("Read todos").check()
    account.press("Make the token")
    account.expect_text("It is shown this once")
    value = account.page.locator(".value code").inner_text()
    headers = {"Authorization": value}
    todos = f"{service.url}/api/todos"
    read = requests.get(todos, headers=headers, timeout=60)
    written = requests.post(todos, json={"title": "New"}, headers=headers, timeout=60)
    account.press("End backup")
    account.press("End the token")
    expect(account.page.get_by_text("You have none.")).to_be_visible()
    ended = requests.get(todos, headers=headers, timeout=60)

    assert [read.status_code, written.status_code, ended.status_code] == [200, 403, 401]


def test_the_address_and_the_password_are_changed(service, account):
    service.user("mo@example.com")
    account.open()
    account.log_in("mo@example.com", PASSWORD)
    account.fill(Present_password=PASSWORD, New_password=NEW)
    account.press("Change the password")
    account.expect_text("Your password is changed")
    expect(account.field("New password")).to_have_value("")
    form = account.page.get_by_role("form", name="Email address")
    form.get_by_label("New email address").fill("mona@example.com")
    form.get_by_label("Password").fill(PASSWORD)
    account.press("Change the address")
    account.expect_text("Invalid current password.")
    form.get_by_label("Password").fill(NEW)
    account.press("Change the address")
    account.expect_text("A link is on its way to mona@example.com.")
    account.page.goto(service.link_to("mona@example.com"))
    account.press("Confirm the address")
    account.follow("Go to your account")
    account.expect_text("Your session has ended: log in again.")
    account.log_in("mona@example.com", NEW)

    account.expect_heading(PROFILE)


def test_the_login_of_another_service_is_listed_and_removed(service, account):
    token, user_id = service.user("nia@example.com")
    with service.app.app_context():
        profile = {"email": "nia@gmail.example"}
        names = {"provider": "google", "issuer": "https://accounts.google.com", "subject": "7"}
        db.session.add(ExternalIdentity(user_id=user_id, profile=profile, **names))
        db.session.commit()
    account.enter(token, user_id, "login-methods")
    expect(account.row("google")).to_contain_text("nia@gmail.example")
    account.press("Remove google")
    account.assert_accessible()
    account.press("Remove")

    expect(account.row("google")).to_have_count(0)


def test_a_session_in_cookies_is_used_and_ended(service, account):
    token, user_id = service.user("pia@example.com")
    leave_cookies(service, account, access_token=token, userId=str(user_id))
    account.open()
    account.expect_heading(PROFILE)
    account.expect_text("pia@example.com")
    account.log_out()
    account.page.reload()

    account.expect_heading("Log in")
    assert account.page.context.cookies() == []


def test_a_login_by_a_provider_goes_on_with_the_second_step(service, account):
    token, user_id = service.user("quin@example.com")
    account.enter(token, user_id, "login-methods")
    device = add_app(account)
    account.log_out()
    credentials = {"email": "quin@example.com", "password": PASSWORD}
    first = requests.post(f"{service.url}/api/users/login", json=credentials, timeout=60)
    leave_cookies(service, account, second_step=first.json()["error"]["details"]["ticket"])
    account.page.goto(f"{service.url}/account?error=SECOND_FACTOR_REQUIRED")
    account.fill(Code=device.code())
    account.press("Log in")

    account.expect_heading(PROFILE)
    assert "error" not in account.page.url


def test_a_failed_login_by_a_provider_is_told(service, account):
    account.page.goto(f"{service.url}/account?error=ACCOUNT_EXISTS")

    account.expect_text("There is an account with this address already")


def test_every_view_is_accessible_on_desk_and_phone(service, account):
    account.enter(*service.user("ola@example.com"))
    for title in (PROFILE, METHODS, "Sessions", "Tokens"):
        account.follow(title)
        account.expect_heading(title)
        expect(account.page.locator(".card").first).to_be_visible()
        expect(account.page.get_by_text("Loading")).to_have_count(0)

        account.assert_accessible()


def test_a_registration_asks_for_the_properties_that_users_must_have(tmp_path, context):
    properties = {
        "company": {"type": "string", "required": True},
        "employees": {"type": "number", "required": True},
        "plan": {"type": "string", "required": True, "enum": ["free", "paid"]},
        "newsletter": {"type": "boolean", "required": True},
        "since": {"type": "dateonly", "required": True, "description": "When you joined."},
        "motto": {"type": "string", "required": True, "hidden": True, "length": 20},
        "nickname": "string",
    }
    settings = {"ACCOUNT_PAGE": True, "USERS_PATH": "Members", "USER_PROPERTIES": properties}
    url = f"sqlite:///{tmp_path}/ostiary.sqlite"
    make_tables(url, tmp_path, settings)
    app = build(url, tmp_path, **settings)
    with serve_app(app) as address:
        account = AccountPage(context.new_page(), address)
        account.open("register")
        account.page.get_by_label("plan").select_option("paid")
        account.page.get_by_label("newsletter").select_option("false")
        account.page.get_by_label("employees").fill("12")
        account.page.get_by_label("since").fill("2026-05-12")
        account.fill(Email="ada@example.com", Password=PASSWORD, Motto="quiet")
        labels = account.page.locator("main label").all_inner_texts()
        account.assert_accessible()
        account.press("Register")
        expect(account.field("Company")).to_have_accessible_description(
            "at most 10000 characters Company can't be blank"
        )
        account.fill(Company="Acme")
        with account.page.expect_response("**/members") as answer:
            account.press("Register")
        account.expect_heading(PROFILE)
        user = answer.value.json()
        account.page.close()
    close(app)

    own = ["Company", "Employees", "Plan", "Newsletter", "Since", "Motto"]
    assert labels == ["Email", "Password", *own]
    shown = [user[name] for name in properties if name != "motto"]
    assert shown == ["Acme", 12, "paid", False, "2026-05-12", None]
    assert (account.errors, account.foreign) == ([], [])


def test_what_is_switched_off_is_not_shown(sqlite_url, tmp_path, context):
    app = build(sqlite_url, tmp_path, ACCOUNT_PAGE=True, REGISTRATION_OPEN=False)
    with serve_app(app) as url:
        user = {"email": "ada@example.com", "password": PASSWORD}
        runner = app.test_cli_runner()
        runner.invoke(args=["users", "create", user["email"], "--password-stdin"], input=PASSWORD)
        account = AccountPage(context.new_page(), url)
        account.open("register")
        account.expect_heading("Log in")
        outside = account.page.locator("main").inner_text()
        account.log_in(**user)
        account.expect_heading(PROFILE)
        inside = account.page.get_by_role("navigation").inner_text()
        account.page.close()
    close(app)

    assert not any(word in outside for word in ("passkey", "code", "Register"))
    assert inside.split() == ["Profile", "Sessions"]
    assert (account.errors, account.foreign) == ([], [])
