"""GET /admin and its files."""

import re
from pathlib import Path
from posixpath import normpath

from app.admin import setup

STATIC = Path(setup.__file__).with_name("static")
IMPORT = re.compile(r'(?:from|import)[ (]"(\.{1,2}/[^"]+)"')


def test_every_file_of_the_page_and_what_it_imports_is_served(client):
    page = client.get("/admin").text
    paths = set(re.findall(r'(?:src|href)="(/(?:admin|ostiary)/[^"]+)"', page))
    modules = {path.name: IMPORT.findall(path.read_text()) for path in STATIC.glob("*.js")}
    paths |= {f"/admin/static/{name}" for name in modules}
    for imports in modules.values():
        paths |= {normpath(f"/admin/static/{name}") for name in imports}

    assert "/admin/static/admin.js" in paths
    for path in paths:
        with client.get(path) as response:
            assert response.status_code == 200, path


def test_every_module_is_used(client):
    imported = {
        Path(name).name for path in STATIC.glob("*.js") for name in IMPORT.findall(path.read_text())
    }

    assert {path.name for path in STATIC.glob("*.js")} - imported == {"admin.js"}


def test_nothing_of_the_page_is_styled_or_executed_inline():
    for path in STATIC.glob("*.js"):
        text = path.read_text()
        assert not re.search(r"\bstyle=|innerHTML|insertAdjacentHTML|\beval\(", text), path.name


def test_it_is_the_same_for_everybody_and_says_nothing_of_the_service_but_settings(
    client, api, token
):
    page = client.get("/admin", headers={"Authorization": token})

    assert page.text == client.get("/admin").text
    assert "ada@example.com" not in page.text


def test_switched_off_it_is_404_with_its_files_and_calls(make_app):
    client = make_app(ADMIN_ENABLED=False).test_client()

    for path in ("/admin", "/admin/static/admin.js", "/api/admin/access"):
        assert client.get(path).status_code == 404, path


def test_behind_a_proxy_the_page_finds_its_files_and_the_api(make_app):
    client = make_app(TRUSTED_PROXIES=1).test_client()

    page = client.get("/admin", headers={"X-Forwarded-Prefix": "/door"}).text

    assert set(re.findall(r'="(/\w+)/', page)) == {"/door"}
    assert "/door/api" in page
