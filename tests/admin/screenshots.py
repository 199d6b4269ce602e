"""Take pictures of every view of the admin page, for people to look at.

    python -m tests.admin.screenshots FOLDER

Desk and phone, light and dark: `users-desk-light.png` and so on.
"""

import sys
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import Browser

from tests.explorer.browser import chromium
from tests.support.databases import make_template

from .browser import DESK, PHONE, AdminPage
from .service import Service, administered
from .views import VIEWS

SIZES = {"desk": DESK, "phone": PHONE}
SCHEMES = ("light", "dark")
# Pixels: what is below of a long list looks like what is above.
MAX_HEIGHT = 1600


def take_all(browser: Browser, service: Service, folder: Path) -> None:
    """Write a picture of each view in each look."""
    for (size, viewport), scheme in product(SIZES.items(), SCHEMES):
        with browser.new_context(viewport=viewport, color_scheme=scheme) as context:
            page = AdminPage(context.new_page(), service)
            _take(page, folder, f"{size}-{scheme}")


def _take(admin: AdminPage, folder: Path, look: str) -> None:
    admin.start()
    admin.page.screenshot(path=folder / f"login-{look}.png")
    admin.enter()
    for view in VIEWS:
        admin.show(view.address)
        admin.page.wait_for_load_state("networkidle")
        admin.open_dialog(*view.buttons)
        admin.page.wait_for_load_state("networkidle")
        width = admin.page.viewport_size["width"]
        height = admin.page.evaluate("document.documentElement.scrollHeight")
        clip = {"x": 0, "y": 0, "width": width, "height": min(height, MAX_HEIGHT)}
        path = folder / f"{view.name}-{look}.png"
        if view.buttons:
            admin.page.screenshot(path=path)
        else:
            admin.page.screenshot(path=path, full_page=True, clip=clip)
        admin.page.keyboard.press("Escape")


def main(folder: Path) -> None:
    """Serve what is administered, and take the pictures."""
    folder.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as name, chromium() as browser:
        run = Path(name)
        for part in ("template", "service"):
            (run / part).mkdir()
        with administered(run / "service", make_template(run / "template")) as service:
            take_all(browser, service, folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
