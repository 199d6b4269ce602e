"""Hash and verify passwords, and say which ones are good enough."""

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


def init_app(app: Flask) -> None:
    """Prepare the hasher, and a hash that fits no password for users who do not exist."""
    hasher = PasswordHasher(**app.config["PASSWORD_HASH"])
    app.extensions["password_hasher"] = hasher
    app.extensions["password_decoy"] = hasher.hash("nobody's password")


def hash_password(password: str) -> str:
    """Return the Argon2id hash of a password."""
    hasher: PasswordHasher = current_app.extensions["password_hasher"]
    return hasher.hash(_as_bytes(password))


def verify_password(stored: str | None, password: object) -> bool:
    """Compare a password with a stored hash, with the same work when there is none of either.

    Understands Argon2, bcrypt and Werkzeug's hashes.
    """
    real = stored is not None and isinstance(password, str)
    attempt = password if isinstance(password, str) else ""
    matches = _matches(stored or current_app.extensions["password_decoy"], attempt)
    return matches and real


def needs_rehash(stored: str) -> bool:
    """Tell whether a hash was made by another method or with other costs than today's."""
    hasher: PasswordHasher = current_app.extensions["password_hasher"]
    try:
        return hasher.check_needs_rehash(stored)
    except InvalidHashError:
        return True


def check_password(password: str, *context: str | None, field: str = "password") -> None:
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


def _matches(stored: str, password: str) -> bool:
    attempt = _as_bytes(password)
    try:
        if stored.startswith("$argon2"):
            hasher: PasswordHasher = current_app.extensions["password_hasher"]
            return hasher.verify(stored, attempt)
        if stored.startswith(("$2a$", "$2b$", "$2y$")):
            return len(attempt) <= BCRYPT_LONGEST and bcrypt.checkpw(attempt, stored.encode())
        return check_password_hash(stored, password)
    except (VerificationError, InvalidHashError, ValueError):
        return False


def _as_bytes(password: str) -> bytes:
    return password.encode("utf-8", "surrogatepass")
