"""Hashing and verification of passwords."""

import re
import secrets
import unicodedata
from base64 import b64encode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import bcrypt
from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError
from argon2.low_level import ARGON2_VERSION
from flask import Flask
from werkzeug.security import check_password_hash

from app.hash_slots import hash_slots
from app.state import AppState

#: Maximum characters of a password that is normalized: longer ones take quadratic time; these take
#: 1.5 ms.
MAX_NORMALIZED = 1024
# Bytes of a password that bcrypt uses.
BCRYPT_MAX_BYTES = 72
BCRYPT = ("$2a$", "$2b$", "$2y$")
# The scheme of a hash: method and cost, which determine the time of a verification.
SCHEME = re.compile(
    r"\$argon2(?:id|i|d)\$v=\d+\$m=\d+,t=\d+,p=\d+\$|\$2[aby]\$\d\d\$|(?:scrypt|pbkdf2):[^$]+\$"
)


password_hasher = AppState[PasswordHasher]("password hasher")
decoy_hash = AppState[str]("decoy hash")


def init_app(app: Flask) -> None:
    """Create the hasher, and a decoy hash to verify for users that do not exist."""
    hasher = PasswordHasher(**app.config["PASSWORD_HASH"])
    password_hasher.set(app, hasher)
    decoy_hash.set(app, _make_decoy(hasher))


@contextmanager
def hashing() -> Iterator[None]:
    """Reserve a slot to hash passwords during the block; raise TooManyHashes if none is free.

    Every hash reserves one itself. Services that do work before, or hash twice, reserve one first,
    so that they are refused before they begin or not at all.
    """
    with hash_slots.current.reserve():
        yield


@hashing()
def hash_password(password: str) -> str:
    """Return the Argon2id hash of a password, in its normal form."""
    hash_ = password_hasher.current.hash
    return hash_slots.current.threads.compute(hash_, _encode(normal_form(password)))


@hashing()
def find_form(stored: str, password: str) -> str | None:
    """Return the form of a password that matches a stored hash; None for a wrong password.

    The hash is one of Argon2, bcrypt or Werkzeug. Older hashes may be of the password as sent,
    before normalization: if the two forms differ, that form is compared, too.
    """
    hasher = password_hasher.current
    return hash_slots.current.threads.compute(_find_form, hasher, stored, password)


def normal_form(password: str) -> str:
    """Return a password in NFC: keyboards and systems send the same letters in different forms."""
    if len(password) > MAX_NORMALIZED:
        return password
    return unicodedata.normalize("NFC", password)


def _find_form(hasher: PasswordHasher, stored: str, password: str) -> str | None:
    forms = dict.fromkeys((normal_form(password), password))
    return next((form for form in forms if _matches(hasher, stored, form)), None)


def _matches(hasher: PasswordHasher, stored: str, password: str) -> bool:
    attempt = _encode(password)
    try:
        if stored.startswith("$argon2"):
            return hasher.verify(stored, attempt)
        if stored.startswith(BCRYPT):
            # Truncated, because bcrypt raises for more; a long password costs the same.
            matches = bcrypt.checkpw(attempt[:BCRYPT_MAX_BYTES], stored.encode())
            return matches and len(attempt) <= BCRYPT_MAX_BYTES
        return check_password_hash(stored, password)
    except (VerificationError, InvalidHashError, ValueError):
        return False


@hashing()
def verify_login(stored: str | None, password: object, decoys: Mapping[str, str]) -> str | None:
    """Compare a password with a user's hash (None: no such user) in the same time for all users.

    Returns the result of `find_form`. One hash of each scheme is verified: those in `decoys`, which
    maps schemes to hashes, except that the user's own hash replaces the one of its scheme.
    """
    attempt = password if isinstance(password, str) else ""
    decoy, own = decoy_hash.current, stored or ""
    hashes = {scheme_of(decoy) or "": decoy, **decoys}
    if scheme := scheme_of(own):
        hashes[scheme] = own
    forms = {known: find_form(hash_, attempt) for known, hash_ in hashes.items()}
    return forms[scheme] if scheme and isinstance(password, str) else None


def scheme_of(stored: str) -> str | None:
    """Return the scheme of a hash, its prefix with method and cost; None if unknown."""
    found = SCHEME.match(stored)
    return found[0] if found else None


def needs_rehash(stored: str) -> bool:
    """Return True if a hash's method or cost differs from the configured ones."""
    try:
        return password_hasher.current.check_needs_rehash(stored)
    except InvalidHashError:
        return True


def _make_decoy(hasher: PasswordHasher) -> str:
    """Return a hash of no password, without hashing: a random salt and digest."""
    costs = f"m={hasher.memory_cost},t={hasher.time_cost},p={hasher.parallelism}"
    random = (b64encode(secrets.token_bytes(n)) for n in (hasher.salt_len, hasher.hash_len))
    salt, digest = (value.decode().rstrip("=") for value in random)
    return f"$argon2id$v={ARGON2_VERSION}${costs}${salt}${digest}"


def _encode(password: str) -> bytes:
    return password.encode("utf-8", "surrogatepass")
