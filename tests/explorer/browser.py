"""The explorer in a headless Chromium that records every error."""

from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, ConsoleMessage, Locator, Page, expect, sync_playwright

from tests.support.programs import require

CHROMIUM = "/usr/bin/chromium"
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
SIZE = {"width": 1280, "height": 720}
# Slow machines need more than the 5 seconds that are usual.
expect.set_options(timeout=60_000)


class Explorer:
    """The explorer in a browser: what a person does there, and what they would never notice."""

    def __init__(self, page: Page, url: str) -> None:
        self.page = page
        self.errors: list[str] = []
        self.foreign: list[str] = []
        self.failed: list[str] = []
        self._listeners = {
            "console": self._note,
            "pageerror": lambda error: self.errors.append(str(error)),
            "requestfailed": lambda request: self.failed.append(request.url),
            "request": lambda request: self._note_foreign(request.url, url),
        }
        for event, listener in self._listeners.items():
            page.on(event, listener)
        page.goto(f"{url}/explorer")
        page.locator(".opblock").first.wait_for()

    def leave(self) -> None:
        """Leave nothing in the page, and the browser, to whoever uses them next."""
        for event, listener in self._listeners.items():
            self.page.remove_listener(event, listener)
        self.page.evaluate("() => { localStorage.clear(); sessionStorage.clear() }")
        self.page.context.clear_cookies()
        self.page.set_viewport_size(SIZE)
        self.page.goto("about:blank")

    def _note(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.errors.append(message.text)

    def _note_foreign(self, wanted: str, url: str) -> None:
        if not wanted.startswith((f"{url}/", "data:")):
            self.foreign.append(wanted)

    def log_in(self, email: str, password: str) -> None:
        """Fill in the login form and send it."""
        self.send("login", email, password)

    def send(self, form: str, email: str, password: str) -> None:
        """Fill in the form to log in or to register, and send it."""
        self.page.fill(f"#{form} [name=email]", email)
        self.page.fill(f"#{form} [name=password]", password)
        self.page.click(f"#{form} button:not([type])")

    def open(self, name: str) -> Locator:
        """Unfold an operation."""
        self.page.fill("#words", name)
        label = self.page.locator(f'.opblock-summary-operation-id:text-is("{name}")')
        block = self.page.locator(".opblock", has=label)
        if block.locator(".opblock-body").count() == 0:
            block.locator(".opblock-summary-control").click()
        block.locator(".execute").wait_for()
        return block

    def execute(self, name: str) -> tuple[int, str]:
        """Execute an operation as it stands; return the status and the body that are shown."""
        block = self.open(name)
        with self.page.expect_response("**/api/**") as answer:
            block.locator(".execute").click()
        shown = block.locator(".live-responses-table .response")
        shown.locator(f'.response-col_status:has-text("{answer.value.status}")').wait_for()
        body = shown.locator("pre")
        return answer.value.status, body.first.inner_text() if body.count() else ""


@contextmanager
def chromium() -> Iterator[Browser]:
    """Start the browser; without it, skip the test here and fail it in continuous integration."""
    require(CHROMIUM)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()
