"""Parse the credentials of a login: the realm, the email or username, and the ttl."""

import re
from collections.abc import Mapping
from typing import Any

from email_validator import EmailNotValidError
from flask import current_app

from app import errors

from .names import normalize_email, normalize_username, username_key

# A number as text, which forms send: as in JSON (RFC 8259 section 6), with optional spaces.
NUMERIC = re.compile(r"\s*-?\d+(\.\d+)?([eE][+-]?\d+)?\s*", re.ASCII)
# Values that count as absent, as in LoopBack 3.
ABSENT = (None, "", 0)


def parse_credentials(credentials: Mapping[str, Any]) -> tuple[str, str, str]:
    """Return the realm, and the name and value of the column that identifies the user.

    `email` precedes `username`; "realm:name" precedes `realm` if REALM_DELIMITER is set. Raises
    RealmRequired before any other error, and an error for a field that is not a string.
    """
    name = "username" if credentials.get("email") in ABSENT else "email"
    given = credentials.get(name)
    realm, value = _split_realm(credentials.get("realm"), given)
    _check_realm(realm)
    if value in ABSENT:
        raise errors.UsernameOrEmailRequired()
    if not isinstance(value, str):
        raise errors.InvalidEmail() if name == "email" else errors.InvalidUsername()
    if name == "email":
        return realm or "", "email", lookup_email(value)
    return realm or "", "username_key", username_key(value)


def parse_ttl(asked: object) -> float:
    """Return the lifetime in seconds for the ttl in a login; raise InvalidTtl."""
    longest: int = current_app.config["TOKEN_MAX_TTL"]
    if isinstance(asked, str) and NUMERIC.fullmatch(asked):
        asked = float(asked)
    if isinstance(asked, bool):
        raise errors.InvalidTtl()
    if asked in ABSENT:
        asked = current_app.config["TOKEN_TTL"]
    if not isinstance(asked, int | float) or asked <= 0:
        raise errors.InvalidTtl()
    return min(asked, longest)


def parse_remember_me(asked: object) -> bool:
    """Return whether the session's cookie shall outlive the browser's session, as by default."""
    return not (asked is False or (isinstance(asked, str) and asked.lower() == "false"))


def stored_email(address: str) -> str:
    """Return an address in its stored form; raise ValidationError if it is invalid."""
    try:
        return normalize_email(address, current_app.config["EMAIL_CASE_SENSITIVE"])
    except EmailNotValidError:
        raise errors.ValidationError({"email": ["is not an email address"]}) from None


def username_columns(name: str | None) -> dict[str, str | None]:
    """Return the values of a username's columns; raise ValidationError if it is invalid."""
    if name is None:
        return {"username": None, "username_key": None}
    try:
        return {"username": normalize_username(name), "username_key": username_key(name)}
    except ValueError as error:
        raise errors.ValidationError({"username": [str(error)]}) from None


def lookup_email(address: str) -> str:
    """Return an address in its stored form; if it is invalid, "", which matches no user."""
    try:
        return stored_email(address)
    except errors.ValidationError:
        return ""


def _split_realm(realm: object, name: object) -> tuple[Any, Any]:
    delimiter = current_app.config["REALM_DELIMITER"]
    if delimiter and isinstance(name, str) and delimiter in name:
        realm, _, name = name.partition(delimiter)
    return realm, name


def _check_realm(realm: object) -> None:
    config = current_app.config
    if realm in (None, "") and (config["REALM_REQUIRED"] or config["REALM_DELIMITER"]):
        raise errors.RealmRequired()
    if realm is not None and not isinstance(realm, str):
        raise errors.InvalidRealm()
