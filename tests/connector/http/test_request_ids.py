"""`requestIdHeader`: calls carry the id of the request that the application serves."""

from __future__ import annotations

import pytest

from app.connector import ConfigError, DataSource


@pytest.fixture
def make(server):
    def make(request_id, **settings):
        operation = {"template": {"url": "/echo"}, "functions": {"echo": []}}
        settings = {"baseURL": server.url, "operations": [operation], **settings}
        return DataSource.from_config(settings, request_id=request_id)

    return make


def test_calls_send_the_request_id(make):
    source = make(lambda: "r-1", requestIdHeader="X-Correlation-Id")

    assert source.echo()["headers"]["x-correlation-id"] == "r-1"
    assert source.define("echo").find_by_id(1)["headers"]["x-correlation-id"] == "r-1"


@pytest.mark.parametrize("settings", [{}, {"requestIdHeader": "X-Request-Id"}])
def test_no_header_is_sent_without_setting_or_id(make, settings):
    source = make((lambda: "r-1") if not settings else (lambda: None), **settings)

    assert "x-request-id" not in source.echo()["headers"]
    assert "x-request-id" not in make(None, **settings).echo()["headers"]


def test_a_header_of_the_settings_is_kept(make):
    source = make(lambda: "r-1", requestIdHeader="x-id", options={"headers": {"X-Id": "own"}})

    assert source.echo()["headers"]["x-id"] == "own"


def test_a_name_that_is_no_header_is_a_configuration_error(make):
    with pytest.raises(ConfigError, match="requestIdHeader: 'X Id' cannot be used"):
        make(None, requestIdHeader="X Id")
