"""Normalization of the email addresses and usernames with which users log in."""

import re
import unicodedata

from email_validator import (
    SPECIAL_USE_DOMAIN_NAMES,
    EmailNotValidError,
    EmailSyntaxError,
    validate_email,
)
from flask import current_app

from app.errors import BLANK, ValidationError

#: Maximum characters of an email address (RFC 5321, 4.5.3.1.3; RFC 3696, erratum 1690).
MAX_EMAIL_LENGTH = 254
#: Maximum characters of an email address before its `@`, and of a label of its domain (RFC 5321,
#: 4.5.3.1.1; RFC 1035, 2.3.4).
MAX_EMAIL_PART_LENGTH = 64
#: Maximum characters of a username, the length of its columns.
MAX_USERNAME_LENGTH = 255
# The message for an invalid email.
NOT_AN_EMAIL = "is not an email address"
# The Unicode categories of control, format, unassigned and private characters and separators.
UNPRINTED = {"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"}
# Invisible characters of other categories: Default_Ignorable_Code_Point and U+2800.
INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0000-\U000e0fff]"
)

# Short plain ASCII addresses, which the library returns unchanged, at a cost of 350 calls.
PLAIN_EMAIL = re.compile(r"(?=.{,64}\Z)[a-z0-9_+-]+(\.[a-z0-9_+-]+)*@[a-z0-9]+([.-][a-z0-9]+)*")

# Spaces of keyboards: the ordinary, the no-break and the wide one.
SPACES = " \u00a0\u3000"

# Makes the library accept domains like .local and localhost, which internal networks use.
SPECIAL_USE_DOMAIN_NAMES.clear()


def normalize_email(address: str, case_sensitive: bool) -> str:
    """Return an address in its stored form; raise ValueError if it is invalid.

    Internal addresses, such as `ada@localhost`, are valid; DNS is not queried. Surrounding spaces,
    which phone keyboards add, are removed.
    """
    address = address.strip(SPACES)
    if PLAIN_EMAIL.fullmatch(address):
        return address
    # Before normalizing, which takes quadratic time.
    _check_length(address)
    found = validate_email(address, check_deliverability=False, globally_deliverable=False)
    if "=?" in found.local_part:
        # A mail header would decode it (RFC 2047), and send the mail to another address.
        raise EmailSyntaxError("An encoded word is not an address.")
    email = found.normalized if case_sensitive else found.normalized.lower()
    _check_length(email)
    return email


def _check_length(address: str) -> None:
    parts = address.replace("@", ".").split(".")
    if len(address) > MAX_EMAIL_LENGTH or max(map(len, parts)) > MAX_EMAIL_PART_LENGTH:
        raise EmailSyntaxError("The address is too long.")


def normalize_username(name: str) -> str:
    """Return a username in its stored form, NFKC; raise ValueError with the reason if invalid.

    Invisible characters are rejected: they make different names look alike (RFC 8265 3.3, UTS 39).
    """
    if len(name) > MAX_USERNAME_LENGTH:
        raise ValueError(f"is too long (maximum is {MAX_USERNAME_LENGTH} characters)")
    normalized = unicodedata.normalize("NFKC", name)
    if not normalized.strip():
        raise ValueError(BLANK)
    if INVISIBLE.search(name + normalized) or UNPRINTED & set(
        map(unicodedata.category, normalized)
    ):
        raise ValueError("has an invisible or a control character")
    if not username_key(name):
        # NFKC expands some characters to up to 18.
        raise ValueError(f"is too long (maximum is {MAX_USERNAME_LENGTH} characters)")
    return normalized


def username_key(name: str) -> str:
    """Return a username in the form for comparison; "" if too long, which matches no user.

    The comparison ignores case and the number of spaces.
    """
    if len(name) > MAX_USERNAME_LENGTH:
        return ""
    normalized = unicodedata.normalize("NFKC", name)
    if len(normalized) > MAX_USERNAME_LENGTH:
        return ""
    key = " ".join(unicodedata.normalize("NFKC", normalized.casefold()).split())
    return key if len(key) <= MAX_USERNAME_LENGTH else ""


def stored_email(address: str) -> str:
    """Return an address in its stored form; raise ValidationError if it is invalid."""
    try:
        return normalize_email(address, current_app.config["EMAIL_CASE_SENSITIVE"])
    except EmailNotValidError:
        raise ValidationError({"email": [NOT_AN_EMAIL]}) from None


def username_columns(name: str | None) -> dict[str, str | None]:
    """Return the values of a username's columns; raise ValidationError if it is invalid."""
    if name is None:
        return {"username": None, "username_key": None}
    try:
        return {"username": normalize_username(name), "username_key": username_key(name)}
    except ValueError as error:
        raise ValidationError({"username": [str(error)]}) from None


def lookup_email(address: str) -> str:
    """Return an address in its stored form; "" if invalid, which matches no user."""
    try:
        return stored_email(address)
    except ValidationError:
        return ""
