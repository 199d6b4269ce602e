"""GET /account and its files."""

import json
import re
from html import unescape

import pytest

from .conftest import SETTINGS

BROWSER = {"Accept": "text/html"}
IMPORT = re.compile(r'^import .* from "([^"]+)";', re.MULTILINE)


def told(page):
    """Return what the page tells its scripts."""
    return json.loads(unescape(re.search(r'data-page="([^"]*)"', page)[1]))


@pytest.fixture
def page_client(shared_app):
    return shared_app(ACCOUNT_PAGE=True).test_client()


def test_every_file_that_the_page_imports_is_served_and_revalidated(page_client):
    waiting = re.findall(
        r'(?:src|href)="(/(?:account|ostiary)/[^"]+)"', page_client.get("/account").text
    )
    seen = set()
    while waiting:
        path = waiting.pop()
        if path in seen:
            continue
        seen.add(path)
        with page_client.get(path) as first:
            tag, text = first.headers["ETag"], first.text
        with page_client.get(path, headers={"If-None-Match": tag}) as again:
            assert (first.status_code, again.status_code) == (200, 304), path
        if path.endswith(".js"):
            waiting += [resolve(path, name) for name in IMPORT.findall(text)]
    assert len(seen) > 20


def resolve(path, relative):
    """Return the path that a relative import leads to."""
    parts = path.split("/")[:-1]
    for step in relative.split("/"):
        if step == "..":
            parts.pop()
        elif step != ".":
            parts.append(step)
    return "/".join(parts)


def test_a_trailing_slash_is_tolerated(page_client):
    assert page_client.get("/account/").status_code == 200


def test_the_page_is_told_what_is_switched_on(page_client, shared_app):
    few = told(page_client.get("/account").text)
    many = told(shared_app(**SETTINGS).test_client().get("/account").text)

    names = ("passkeys", "mailedCodes", "secondFactor", "identities", "asksForConfirmation")
    assert [few[name] for name in names] == [False] * 5
    assert [many[name] for name in names] == [True] * 5
    assert (few["personalTokens"], few["models"], few["providers"]) == (None, [], [])
    assert many["models"] == ["todos", "users"]
    assert many["providers"] == [{"label": "Google", "path": "/auth/google"}]
    assert "secret" not in json.dumps(many["providers"])


def test_behind_a_proxy_the_page_finds_its_files_and_the_api(shared_app):
    client = shared_app(ACCOUNT_PAGE=True, TRUSTED_PROXIES=1).test_client()

    page = client.get("/account", headers={"X-Forwarded-Prefix": "/door"}).text

    assert set(re.findall(r'(?:src|href)="(/\w+)/', page)) == {"/door"}
    assert told(page)["root"] == "/door/api"


def test_the_page_is_off_unless_it_is_switched_on(client):
    assert client.get("/account", headers=BROWSER).status_code == 404
    assert client.get("/account/static/account.js").status_code == 404
