"""The policy of the pages that are clients of the API."""

import re

import pytest


@pytest.fixture
def client(sqlite_url, shared_app):
    return shared_app(ACCOUNT_PAGE=True).test_client()


@pytest.mark.parametrize("path", ["/account", "/admin", "/explorer"])
def test_a_page_loads_only_resources_of_its_own_origin(client, path):
    response = client.get(path)

    policy = response.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy
    assert not re.search(r"<script(?![^>]*\ssrc=)|\son\w+=|style=|<style|https?://", response.text)
