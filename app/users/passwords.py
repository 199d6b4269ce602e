"""Hash and verify passwords, and say which ones are good enough."""

import re
from collections.abc import Mapping
from functools import cache
from importlib import import_module

import bcrypt
from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError
from flask import Flask, current_app
from werkzeug.security import check_password_hash

from app.errors import ValidationError

# bcrypt reads no further; longer passwords were never set with it.
BCRYPT_LONGEST = 72
BCRYPT = ("$2a$", "$2b$", "$2y$")
# Method and cost, which together say how long a verification takes.
SCHEME = re.compile(
    r"\$argon2(?:id|i|d)\$v=\d+\$m=\d+,t=\d+,p=\d+\$|\$2[aby]\$\d\d\$|(?:scrypt|pbkdf2):[^$]+\$"
)


def init_app(app: Flask) -> None:
    """Prepare the hasher, and a hash that fits no password for users who do not exist."""
    hasher = PasswordHasher(**app.config["PASSWORD_HASH"])
    app.extensions["password_hasher"] = hasher
    decoy = hasher.hash("nobody's password")
    app.extensions["password_decoy"] = {scheme_of(decoy): decoy}


def hash_password(password: str) -> str:
    """Return the Argon2id hash of a password."""
    hasher: PasswordHasher = current_app.extensions["password_hasher"]
    return hasher.hash(_as_bytes(password))


def verify_password(stored: str, password: str) -> bool:
    """Compare a password with a stored hash of Argon2, bcrypt or Werkzeug."""
    attempt = _as_bytes(password)
    try:
        if stored.startswith("$argon2"):
            hasher: PasswordHasher = current_app.extensions["password_hasher"]
            return hasher.verify(stored, attempt)
        if stored.startswith(BCRYPT):
            # Cut off for bcrypt, which refuses more, so that a long password costs the same.
            matches = bcrypt.checkpw(attempt[:BCRYPT_LONGEST], stored.encode())
            return matches and len(attempt) <= BCRYPT_LONGEST
        return check_password_hash(stored, password)
    except (VerificationError, InvalidHashError, ValueError):
        return False


def verify_login(stored: str | None, password: object, decoys: Mapping[str, str]) -> bool:
    """Compare a password with a user's hash, with the same work whoever the user is, if anybody.

    That is one verification for each scheme in `decoys`, which maps schemes to a hash of theirs;
    the user's own hash takes the place of the one of its scheme.
    """
    attempt = password if isinstance(password, str) else ""
    own = scheme_of(stored or "")
    hashes = {**current_app.extensions["password_decoy"], **decoys}
    if stored is not None and own is not None:
        hashes[own] = stored
    matches = {scheme: verify_password(each, attempt) for scheme, each in hashes.items()}
    return stored is not None and isinstance(password, str) and matches.get(own, False)


def scheme_of(stored: str) -> str | None:
    """Return the method and the cost that a hash begins with; None if it is no known hash."""
    found = SCHEME.match(stored)
    return found[0] if found else None


def needs_rehash(stored: str) -> bool:
    """Tell whether a hash was made by another method or with other costs than today's."""
    hasher: PasswordHasher = current_app.extensions["password_hasher"]
    try:
        return hasher.check_needs_rehash(stored)
    except InvalidHashError:
        return True


def validate_password(password: str, *context: str | None, field: str = "password") -> None:
    """Raise ValidationError for a password that is too short, too long or easily guessed.

    Length and a blocklist, no rules of composition (OWASP ASVS 6.2.1 to 6.2.11). `context` are
    words that an attacker would try first: the user's own names.
    """
    if problem := _problem(password, context):
        raise ValidationError({field: [problem]})


def _problem(password: str, context: tuple[str | None, ...]) -> str | None:
    shortest = current_app.config["PASSWORD_MIN_LENGTH"]
    longest = current_app.config["PASSWORD_MAX_LENGTH"]
    if not password:
        return "can't be blank"
    if len(password) < shortest:
        return f"is too short (minimum is {shortest} characters)"
    if len(password) > longest:
        return f"is too long (maximum is {longest} characters)"
    words = {word.lower() for name in context if name for word in (name, name.partition("@")[0])}
    if password.lower() in words:
        return "must not be the email or the username"
    if current_app.config["PASSWORD_BLOCKLIST"] and password.lower() in _common_passwords():
        return "is too common"
    return None


@cache
def _common_passwords() -> frozenset[str]:
    """Read the list when it is first needed: it is large, and most processes never need it."""
    lists = import_module("zxcvbn.frequency_lists").FREQUENCY_LISTS
    return frozenset(lists["passwords"])


def _as_bytes(password: str) -> bytes:
    return password.encode("utf-8", "surrogatepass")
