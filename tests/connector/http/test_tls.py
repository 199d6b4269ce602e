"""TLS: which certificates are accepted, and on which level that is decided."""

from __future__ import annotations

import pytest

from app.connector import DataSource, TLSError, TransportError


def test_self_signed_certificate_is_refused(https_server):
    source = DataSource.from_config(
        {
            "operations": [
                {"template": {"url": f"https://127.0.0.1:{https_server.server_port}/text"}}
            ]
        }
    )

    with source, pytest.raises(TLSError, match="certificate verify failed"):
        source.invoke()


@pytest.mark.parametrize(
    ("levels", "accepted"),
    [
        (({"strictSSL": False}, {}), True),
        (({"strictSSL": True}, {"strictSSL": False}), True),
        (({"strictSSL": False}, {"strictSSL": True}), False),
    ],
)
def test_strict_ssl_of_the_operation_wins(https_server, levels, accepted):
    outer, inner = levels
    source = DataSource.from_config(
        {
            "options": outer,
            "operations": [
                {
                    "template": {
                        "url": f"https://127.0.0.1:{https_server.server_port}/text",
                        "options": inner,
                    }
                }
            ],
        }
    )

    with source:
        if accepted:
            assert source.invoke() == "plain words"
        else:
            with pytest.raises(TLSError):
                source.invoke()


def test_certificate_of_a_named_authority_is_accepted(https_server, authority, tmp_path):
    bundle = tmp_path / "ca.pem"
    authority.cert_pem.write_to_path(str(bundle))
    source = DataSource.from_config(
        {
            "ca": str(bundle),
            "operations": [
                {"template": {"url": f"https://127.0.0.1:{https_server.server_port}/text"}}
            ],
        }
    )

    with source:
        assert source.invoke() == "plain words"


def test_client_certificate_that_is_missing_is_a_transport_error(https_server):
    source = DataSource.from_config(
        {
            "options": {"cert": "/no/cert", "key": "/no/key"},
            "operations": [
                {
                    "template": {
                        "url": f"https://127.0.0.1:{https_server.server_port}/text",
                        "options": {"strictSSL": False},
                    }
                }
            ],
        }
    )

    with source, pytest.raises(TransportError):
        source.invoke()


def test_secure_connections_are_reused(https_server):
    source = DataSource.from_config(
        {
            "options": {"strictSSL": False},
            "operations": [
                {"template": {"url": f"https://127.0.0.1:{https_server.server_port}/text"}}
            ],
        }
    )
    https_server.forget()

    with source:
        assert [source.invoke(), source.invoke()] == ["plain words"] * 2
    assert https_server.connections == 1
