"""The mailboxes of addresses."""

import pytest

from app.throttles import mailbox


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("ada@example.com", "ada@example.com"),
        ("Ada@Example.COM", "ada@example.com"),
        ("ada+news@example.com", "ada@example.com"),
        ("ada+a+b@example.com", "ada@example.com"),
        ("+ada@example.com", "@example.com"),
        ('"a@b"+c@example.com', '"a@b"@example.com'),
        ("ada", "@ada"),
    ],
)
def test_the_mailbox_of_an_address(address, expected):
    assert mailbox(address) == expected
