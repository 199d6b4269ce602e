"""The client of a request: what trusted proxies say, and the network by which it is counted."""

import pytest

from app.observability.origin import forwarded, network_of


@pytest.mark.parametrize(
    ("entries", "proxies", "expected"),
    [
        ("192.0.2.1", 1, "192.0.2.1"),
        ("192.0.2.1", 0, None),
        ("192.0.2.1", 2, None),
        ("192.0.2.1, 192.0.2.2", 1, "192.0.2.2"),
        ("192.0.2.1,192.0.2.2", 2, "192.0.2.1"),
        ("192.0.2.1, 192.0.2.2, 192.0.2.3", 2, "192.0.2.2"),
        ('"192.0.2.1, 192.0.2.2', 1, "192.0.2.2"),
        ('x, "192.0.2.2"', 1, "192.0.2.2"),
        ("192.0.2.1, ", 1, None),
        ("", 1, None),
    ],
)
def test_the_entry_that_trusted_proxies_have_followed(entries, proxies, expected):
    assert forwarded(entries, proxies) == expected


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("192.0.2.1:4711", "192.0.2.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("[2001:db8::1]:4711", "2001:db8::/64"),
        ("[2001:db8::1]", "2001:db8::/64"),
        ("2001:DB8::1", "2001:db8::/64"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("", ""),
        ("unknown", ""),
        ("192.0.2.256", ""),
        ("1" * 1000, ""),
    ],
)
def test_the_network_of_an_address(address, expected):
    assert network_of(address) == expected
