"""Proxies of the settings."""

from __future__ import annotations

from app.connector import DataSource


def test_proxy_of_the_settings_is_used(server):
    source = DataSource.from_config(
        {"proxy": server.url, "operations": [{"template": {"url": "http://inner.example/echo"}}]}
    )

    with source:
        assert source.invoke()["path"] == "http://inner.example/echo"


def test_secure_call_goes_through_a_tunnel_of_the_proxy(server, https_server, authority, tmp_path):
    bundle = tmp_path / "ca.pem"
    authority.cert_pem.write_to_path(str(bundle))
    url = f"https://inner.example:{https_server.server_port}/text"
    source = DataSource.from_config(
        {"proxy": server.url, "ca": str(bundle), "operations": [{"template": {"url": url}}]}
    )

    with source:
        assert [source.invoke(), source.invoke()] == ["plain words"] * 2
