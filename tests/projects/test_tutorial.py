"""The food bank of docs/tutorial.md, from the empty folder to two instances."""

import sys
from contextlib import closing

import pytest

from tests.support.documents import blocks
from tests.support.ports import free_port
from tests.support.postgres import cluster
from tests.support.programs import require
from tests.support.walks import Walk

pytestmark = [pytest.mark.live, pytest.mark.timeout(1800)]

DOCUMENT = "docs/tutorial.md"
INSTALL = """\
python3 -m venv .venv
. .venv/bin/activate
pip install --quiet "${WHEEL}[postgres]" pytest
"""
# The environment of the test has no program of pytest.
PYTEST = 'pytest() { python -m pytest -p no:cacheprovider -p no:randomly "$@"; }'
BUILT = [
    *("Sites and shifts", "The first rows", "Serve it", "Coordinators", "Sign-ups", "Tests"),
    *("Reminders", "Every evening", "A list to print", "Other services", "A page"),
]
PORTS = ["3000", "3001", "3002", "8080", "8099"]


@pytest.fixture
def database():
    """A PostgreSQL server on which the reader may create databases."""
    with cluster() as server:
        server.create("ostiary")
        server.start()
        yield {"PGHOST": str(server.folder), "PGUSER": "ostiary"}


@pytest.fixture
def reader(installed, tmp_path, database):
    """A reader of the tutorial, in an empty folder."""
    require("nginx")
    ports = {port: str(free_port()) for port in PORTS}
    environment = installed.variables(
        **database,
        PORT=ports["3000"],
        WEB_CONCURRENCY="1",
        APP_PASSWORD_HASH='{"time_cost": 1, "memory_cost": 8}',
    )
    with closing(Walk(tmp_path / "food-bank", environment, ports)) as walk:
        walk.type(PYTEST)
        yield walk


def test_the_food_bank_is_built_as_printed(reader, chrome):
    reader.follow(DOCUMENT, "A new project")
    reader.follow(DOCUMENT, *BUILT, "The first shift")
    sign_up(chrome, f"http://127.0.0.1:{reader.replaced['3000']}")
    reader.follow(DOCUMENT, "A full shift", "PostgreSQL", "Two instances")
    reader.type("ostiary models check --strict")
    for options in ("check", "format --check"):
        reader.type(f"{sys.executable} -m ruff {options}")


def sign_up(chrome, url):
    """Sign up for the first shift on the page, as Ada."""
    page = chrome.new_page()
    try:
        page.goto(url)
        page.get_by_label("Email").fill("ada@example.com")
        page.get_by_label("Password").fill("a sorted shelf")
        for button in ("Log in", "Sign up"):
            with page.expect_response(lambda answer: answer.request.method == "POST") as called:
                page.get_by_role("button", name=button).click()
            assert called.value.status == 200
        page.get_by_text("Done.").wait_for()
    finally:
        page.close()


def test_the_reader_installs_it_as_a_user_does():
    assert blocks(DOCUMENT, "sh", "Install") == [INSTALL]
