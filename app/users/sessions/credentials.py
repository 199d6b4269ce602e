"""Credentials of a login: the realm, and the email or username."""

from collections.abc import Mapping

from flask import current_app

from app import errors
from app.users.names import lookup_email, username_key

# Values that count as absent, as in LoopBack 3.
ABSENT = (None, "", 0)


def parse_credentials(credentials: Mapping[str, object]) -> tuple[str, str, str]:
    """Return the realm, and the name and value of the column that identifies the user.

    `email` precedes `username`; with REALM_DELIMITER, "realm:name" precedes `realm`. Raises
    RealmRequired before any other error, and an error for a field that is not a string.
    """
    name = "username" if credentials.get("email") in ABSENT else "email"
    given, value = _split_realm(credentials.get("realm"), credentials.get(name))
    realm = _check_realm(given)
    if value in ABSENT:
        raise errors.UsernameOrEmailRequired()
    if not isinstance(value, str):
        raise errors.InvalidEmail() if name == "email" else errors.InvalidUsername()
    if name == "email":
        return realm, "email", lookup_email(value)
    return realm, "username_key", username_key(value)


def parse_remember_me(asked: object) -> bool:
    """Return whether the session's cookie outlives the browser's session, by default True."""
    return not (asked is False or (isinstance(asked, str) and asked.lower() == "false"))


def _split_realm(realm: object, name: object) -> tuple[object, object]:
    delimiter = current_app.config["REALM_DELIMITER"]
    if delimiter and isinstance(name, str) and delimiter in name:
        realm, _, name = name.partition(delimiter)
    return realm, name


def _check_realm(realm: object) -> str:
    """Return a realm in its stored form; raise RealmRequired or InvalidRealm."""
    config = current_app.config
    if realm in (None, "") and (config["REALM_REQUIRED"] or config["REALM_DELIMITER"]):
        raise errors.RealmRequired()
    if realm is not None and not isinstance(realm, str):
        raise errors.InvalidRealm()
    return realm or ""
