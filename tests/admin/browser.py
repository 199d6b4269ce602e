"""The admin page in a headless Chromium that records every error."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import ConsoleMessage, Locator, Page, Response, expect

from .service import ADMIN, Service

DESK, PHONE = {"width": 1280, "height": 800}, {"width": 390, "height": 844}
# The window on a desk and on a phone, by the colour scheme that it is looked at in.
LOOKS = {"light": DESK, "dark": PHONE}
# What Chromium itself says of each answer that is an error.
ANSWER = "Failed to load resource: the server responded with a status of 4"
GO = """view => new Promise(done => {
  if (location.hash === view) return done();
  const drawn = () => requestAnimationFrame(() => setTimeout(done));
  addEventListener("hashchange", drawn, { once: true });
  location.hash = view;
})"""
KEEP = "text => sessionStorage.setItem('ostiary.session', text)"


def _is_saved(answer: Response) -> bool:
    return answer.request.method == "PATCH" and answer.ok


class AdminPage:
    """The page in a browser: what a person does there, and what they would never notice."""

    def __init__(self, page: Page, service: Service) -> None:
        self.page, self.service = page, service
        self.errors: list[str] = []
        # The paths of all files and calls that it asks for.
        self.requests: list[str] = []
        page.on("console", self._note)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("request", lambda request: self.requests.append(request.url))

    def start(self) -> None:
        """Open the page in a tab that nobody has logged in in."""
        self._reach_origin()
        self.page.evaluate("sessionStorage.clear()")
        self.page.goto(f"{self.service.url}/admin")
        self.page.get_by_label("Email").wait_for()

    def enter(self, view: str = "", email: str = ADMIN) -> None:
        """Open a view as a user who is logged in; a page that is open stays so."""
        if not self._is_open(email):
            session = {
                "token": self.service.token(email),
                "userId": self.service.user_id(email),
                "email": email,
                "expires": 4e12,
            }
            self._reach_origin()
            self.page.evaluate(KEEP, json.dumps(session))
            self.page.goto(f"{self.service.url}/health")
            self.page.goto(f"{self.service.url}/admin#/{view}")
        self.go(view)
        self.page.locator("main h1").wait_for()

    def token(self) -> str:
        """Return the token of the session of the page."""
        kept: str = self.page.evaluate("sessionStorage.getItem('ostiary.session')")
        token: str = json.loads(kept)["token"]
        return token

    def _is_open(self, email: str) -> bool:
        is_admin = self.page.url.startswith(f"{self.service.url}/admin")
        return is_admin and self.page.locator(".who").get_by_text(email, exact=True).count() > 0

    def _reach_origin(self) -> None:
        if not self.page.url.startswith(self.service.url):
            self.page.goto(f"{self.service.url}/health")

    def log_in(self, email: str, password: str) -> None:
        """Fill in the login form and send it."""
        self.page.get_by_label("Email").fill(email)
        self.page.get_by_label("Password").fill(password)
        self.press("Log in")

    def go(self, view: str) -> None:
        """Go to a view by the address."""
        self.page.evaluate(GO, f"#/{view}")

    def section(self, name: str) -> None:
        """Follow a link of the navigation."""
        sections = self.page.get_by_role("navigation", name="Sections")
        sections.get_by_role("link", name=name, exact=True).click()

    def follow(self, name: str) -> None:
        """Follow a link of the view."""
        self.page.get_by_role("main").get_by_role("link", name=name, exact=True).click()

    def press(self, name: str) -> None:
        self.page.get_by_role("button", name=name, exact=True).click()

    def open_dialog(self, *buttons: str) -> None:
        """Press buttons, each of which opens a dialog."""
        for button in buttons:
            self.press(button)
            expect(self.page.locator("dialog[open]")).to_be_visible()

    def confirm(self, name: str) -> None:
        """Press a button of the dialog that is open, or about to be."""
        dialog = self.page.get_by_role("dialog")
        dialog.get_by_role("button", name=name, exact=True).click()

    def field(self, name: str) -> Locator:
        return self.page.get_by_role("main").get_by_label(name, exact=True)

    def row(self, text: str) -> Locator:
        """Return the row of a list, or the entry, that has a text."""
        return self.page.locator(".rows tbody tr, .entries li").filter(has_text=text)

    def expect_heading(self, name: str) -> None:
        expect(self.page.get_by_role("heading", name=name, exact=True).first).to_be_visible()

    def expect_told(self, text: str) -> None:
        """Expect a notice."""
        expect(self.page.locator(".notice")).to_have_text(re.compile(re.escape(text)))

    def expect_rows(self, number: int) -> None:
        expect(self.page.locator(".rows tbody tr")).to_have_count(number)

    def show(self, view: str) -> None:
        """Go to a view, and wait until it has all that it asks for."""
        self.go(view)
        self.page.locator("main h1").wait_for()
        expect(self.page.locator("[aria-busy=true]")).to_have_count(0)
        expect(self.page.get_by_text("Loading …")).to_have_count(0)

    @contextmanager
    def saving(self) -> Iterator[None]:
        """Do what saves a row, and wait until it is saved."""
        with self.page.expect_response(_is_saved):
            yield
        self.expect_told("Saved.")

    def calls(self, path: str) -> list[str]:
        """Return the calls of the API whose path begins with this."""
        start = f"{self.service.url}/api{path}"
        return [url for url in self.requests if url.startswith(start)]

    def foreign(self) -> list[str]:
        """Return what was asked of another host."""
        own = (f"{self.service.url}/", "data:", "blob:")
        return [url for url in self.requests if not url.startswith(own)]

    def _note(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning") and not message.text.startswith(ANSWER):
            self.errors.append(message.text)
