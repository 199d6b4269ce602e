"""The account page in a headless Chromium that records every error."""

import json
from contextlib import contextmanager
from typing import Any

from playwright.sync_api import ConsoleMessage, Locator, Page, expect

from tests.support.axe import find_problems
from tests.support.virtual_authenticator import add_authenticator

SIZES = {"light": {"width": 1280, "height": 800}, "dark": {"width": 390, "height": 844}}
# What Chromium itself says of each answer that is an error.
ANSWER = "Failed to load resource: the server responded with a status of 4"


class AccountPage:
    """The page in a browser: what a person does there, and what they would never notice."""

    def __init__(self, page: Page, url: str) -> None:
        self.page = page
        self.url = url
        self.errors: list[str] = []
        self.foreign: list[str] = []
        self._listeners = {
            "console": self._note,
            "pageerror": lambda error: self.errors.append(str(error)),
            "request": lambda request: self._note_foreign(request.url),
        }
        for event, listener in self._listeners.items():
            page.on(event, listener)

    def leave(self) -> None:
        """Leave nothing in the tab to whoever uses it next."""
        for event, listener in self._listeners.items():
            self.page.remove_listener(event, listener)
        self.page.evaluate("() => sessionStorage.clear()")
        self.page.context.clear_cookies()
        self.page.emulate_media(media="screen")
        self.page.goto("about:blank")

    def open(self, view: str = "") -> None:
        """Open a view, as whoever has logged in in this tab."""
        self.page.goto(f"{self.url}/account#{view}")

    def enter(self, token: str, user_id: int, view: str = "") -> None:
        """Open a view as a user who is logged in, with this token."""
        session = {"token": token, "userId": user_id, "email": "", "expires": 4e12}
        self.page.goto(f"{self.url}/health")
        keep = "text => sessionStorage.setItem('ostiary.session', text)"
        self.page.evaluate(keep, json.dumps(session))
        self.page.goto(f"{self.url}/account#{view}")

    def log_in(self, email: str, password: str) -> None:
        """Fill in the login form and send it."""
        self.fill(Email=email, Password=password)
        self.press("Log in")

    def fill(self, **values: str) -> None:
        """Fill in fields by their labels, with `_` for a space."""
        for label, value in values.items():
            self.field(label.replace("_", " ")).fill(value)

    def field(self, label: str) -> Locator:
        return self.page.get_by_role("textbox", name=label)

    def press(self, name: str) -> None:
        self.page.get_by_role("button", name=name, exact=True).click()

    def follow(self, name: str) -> None:
        self.page.get_by_role("link", name=name, exact=True).click()

    def log_out(self) -> None:
        self.press("Log out")
        self.expect_heading("Log in")

    def expect_heading(self, name: str) -> None:
        expect(self.page.get_by_role("heading", name=name, exact=True)).to_be_visible()

    def expect_text(self, text: str) -> None:
        expect(self.page.get_by_text(text).first).to_be_visible()

    def expect_dialog_in_the_middle(self) -> None:
        """Expect an open dialog with as much space above as below."""
        dialog = self.page.get_by_role("dialog")
        expect(dialog).to_be_visible()
        box, window = dialog.bounding_box(), self.page.viewport_size
        assert abs(2 * box["y"] + box["height"] - window["height"]) <= 2

    def row(self, name: str) -> Locator:
        return self.page.locator(".rows li", has_text=name)

    @contextmanager
    def passkeys(self) -> Any:
        """Let the browser have a device for passkeys, without one at first."""
        session = add_authenticator(self.page)
        yield
        session.send("WebAuthn.disable")
        session.detach()

    def assert_accessible(self) -> None:
        """Look for problems, and for what is cut off: on a desk and light, on a phone and dark."""
        for scheme, size in SIZES.items():
            self.page.set_viewport_size(size)
            self.page.emulate_media(color_scheme=scheme)
            assert find_problems(self.page) == []
            assert self.page.evaluate("document.documentElement.scrollWidth") <= size["width"]
        self.page.set_viewport_size(SIZES["light"])
        self.page.emulate_media(color_scheme="light")

    def _note(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning") and not message.text.startswith(ANSWER):
            self.errors.append(message.text)

    def _note_foreign(self, wanted: str) -> None:
        if not wanted.startswith((f"{self.url}/", "data:", "blob:")):
            self.foreign.append(wanted)
