"""The documents as a site: `make site`."""

import re
import sys
from subprocess import run

import pytest

from tests.support.documents import DOCUMENTS, ROOT

PAGES = {path.relative_to(ROOT / "docs").name for path in DOCUMENTS if path.parent.name == "docs"}


def test_the_page_of_contents_lists_every_document():
    listed = re.findall(r"^- \[.*?\]\(([\w-]+\.md)\)", (ROOT / "docs/README.md").read_text(), re.M)

    assert len(listed) == len(set(listed))
    assert set(listed) == PAGES - {"README.md"}


@pytest.mark.live
def test_the_site_has_every_page_and_a_search_that_needs_no_network(chrome):
    built = run(
        [sys.executable, "-m", "tools.site"], cwd=ROOT, capture_output=True, text=True, timeout=300
    )
    site = ROOT / "build" / "site"
    page = chrome.new_page()
    try:
        page.goto(f"{site.as_uri()}/search.html?q=redirect")
        page.get_by_role("link", name="Configuration").first.wait_for()
        page.goto(f"{site.as_uri()}/index.html")
        page.get_by_role("link", name="Access rules").first.click()
        title = page.title()
    finally:
        page.close()

    assert built.returncode == 0, built.stderr
    assert built.stderr == ""
    assert {f"{path.stem}.html" for path in site.glob("*.html")} >= {
        f"{name.removesuffix('.md')}.html" for name in PAGES - {"README.md"}
    }
    assert title.startswith("Access rules")
