"""GET /explorer and its files."""

import re

import pytest


def test_every_file_of_the_page_is_served_and_revalidated(client):
    page = client.get("/explorer").text

    files = re.findall(r'(?:src|href)="(/(?:explorer|ostiary)/[^"]+)"', page)
    assert len(set(files)) == 6
    for path in files:
        with client.get(path) as first:
            tag = first.headers["ETag"]
        with client.get(path, headers={"If-None-Match": tag}) as again:
            assert [first.status_code, again.status_code] == [200, 304]


def test_a_trailing_slash_is_tolerated(client):
    assert client.get("/explorer/").status_code == 200


@pytest.mark.parametrize("name", ["oauth2-redirect.html", "index.css", "../__init__.py"])
def test_other_files_of_the_swagger_ui_package_are_404(client, name):
    assert client.get(f"/explorer/swagger-ui/{name}").status_code == 404


def test_a_disabled_explorer_is_404_and_the_document_is_served(make_app):
    client = make_app(EXPLORER_ENABLED=False).test_client()

    assert client.get("/explorer").status_code == 404
    assert client.get("/explorer/swagger-ui/swagger-ui.css").status_code == 404
    assert client.get("/api/openapi.json").status_code == 200


def test_behind_a_proxy_the_page_finds_its_files_and_the_api(make_app):
    client = make_app(TRUSTED_PROXIES=1).test_client()

    page = client.get("/explorer", headers={"X-Forwarded-Prefix": "/door"}).text

    assert set(re.findall(r'="(/\w+)/', page)) == {"/door"}
