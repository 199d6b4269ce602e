"""Email addresses and usernames in their stored forms, and in those for comparison."""

from itertools import product

import pytest
from email_validator import EmailNotValidError, validate_email

from app.users.names import (
    MAX_USERNAME_LENGTH,
    PLAIN_EMAIL,
    normalize_email,
    normalize_username,
    username_key,
)

LONGEST = f"{'a' * 64}@{'.'.join(['b' * 61] * 3)}.cc"


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("Ada@Example.COM", "ada@example.com"),
        (" ada@example.com\u3000", "ada@example.com"),
        ("ada@localhost", "ada@localhost"),
        ("ada+news@example.com", "ada+news@example.com"),
        (LONGEST, LONGEST),
    ],
)
def test_the_stored_form_of_an_address(address, expected):
    assert normalize_email(address, case_sensitive=False) == expected


def test_plain_addresses_are_valid_and_in_their_stored_form():
    texts = ["".join(chars) for chars in product("a1-.x", repeat=4)]
    plain = [address for text in texts for address in (f"{text}@a", f"a@{text}", f"a@x{text}--a")]
    plain = [address for address in plain if PLAIN_EMAIL.fullmatch(address)]

    assert len(plain) > 300
    for address in plain:
        found = validate_email(address, check_deliverability=False, globally_deliverable=False)
        assert found.normalized == address
    # One character too long for a label.
    assert not PLAIN_EMAIL.fullmatch(f"a@{'b' * 64}")


def test_case_is_kept_before_the_domain_if_it_is_to_be():
    assert normalize_email("Ada@Example.COM", case_sensitive=True) == "Ada@example.com"


@pytest.mark.parametrize(
    "address",
    [
        "",
        "ada",
        "ada@",
        "@example.com",
        "ada@example..com",
        "ada @example.com",
        "ada@exa mple.com",
        "ada@example.com\n",
        "=?utf-8?q?ada?=@example.com",
        f"a{LONGEST}",
        f"{LONGEST}cc",
        f"ada@{'b' * 65}.com",
        "a" * 1_000_000,
    ],
)
def test_what_is_no_address(address):
    with pytest.raises(EmailNotValidError):
        normalize_email(address, case_sensitive=False)


@pytest.mark.parametrize(
    ("name", "stored", "key"),
    [
        ("Ada", "Ada", "ada"),
        ("Ada  Lovelace", "Ada  Lovelace", "ada lovelace"),
        ("\uff21da", "Ada", "ada"),
        ("STRASSE", "STRASSE", "strasse"),
        ("Stra\u00dfe", "Stra\u00dfe", "strasse"),
        ("e\u0301", "\u00e9", "\u00e9"),
        ("x" * MAX_USERNAME_LENGTH, "x" * MAX_USERNAME_LENGTH, "x" * MAX_USERNAME_LENGTH),
    ],
)
def test_the_forms_of_a_username(name, stored, key):
    assert normalize_username(name) == stored
    assert username_key(name) == key


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("", "blank"),
        (" \u3000", "blank"),
        ("a\u200bb", "invisible"),
        ("a\x00", "control"),
        ("a\u2800b", "invisible"),
        ("x" * (MAX_USERNAME_LENGTH + 1), "too long"),
        # One character that NFKC expands to 18.
        ("\ufdfa" * 20, "too long"),
    ],
)
def test_what_is_no_username(name, problem):
    with pytest.raises(ValueError, match=problem):
        normalize_username(name)
