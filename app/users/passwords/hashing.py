"""Hashes of passwords, the checks of passwords against them, and limits on failed attempts."""

import re
import secrets
import time
import unicodedata
from base64 import b64encode
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager

import bcrypt
from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError
from argon2.low_level import ARGON2_VERSION
from flask import Flask, current_app
from sqlalchemy import select, update
from werkzeug.security import check_password_hash

from app.database.session import affected_rows, db
from app.errors import InvalidPassword
from app.hash_slots import hash_slots
from app.ids import Id
from app.observability.origin import current_network
from app.state import AppState
from app.throttles import (
    LOGIN_ADDRESS,
    LOGIN_IDENTITY,
    PASSWORD_CHECK,
    clear,
    count_failure,
)
from app.users.models import User
from app.users.user_models import key_prefix

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
# Maximum characters of a hash, the length of its column.
MAX_HASH_LENGTH = 255
# Each format with the highest values of its groups, because a login verifies a hash of each scheme:
# about ten times the work of the OWASP Password Storage Cheat Sheet's choices, or 2 s.
# Argon2: KiB, passes and lanes. bcrypt: the logarithm of its rounds. scrypt: N, r, p. PBKDF2:
# iterations.
BASE64, HEX = "[A-Za-z0-9+/]+", "[0-9a-f]+"
FORMATS = {
    rf"\$argon2(?:id|i|d)\$v=(?:16|19)\$m=(\d+),t=(\d+),p=(\d+)\${BASE64}\${BASE64}": (
        262_144,
        10,
        8,
    ),
    r"\$2[aby]\$(\d\d)\$[./A-Za-z0-9]{53}": (14,),
    rf"scrypt:(\d+):(\d+):(\d+)\$[^$]+\${HEX}": (131_072, 8, 4),
    rf"pbkdf2:sha(?:1|256|512):(\d+)\$[^$]+\${HEX}": (2_000_000,),
}
# The prefixes of hashes, by method.
METHODS = ("$argon2", *BCRYPT, "pbkdf2:", "scrypt:")
#: Seconds between two queries for the schemes of stored hashes.
CACHE_SECONDS = 60
#: Maximum costs of one hash method that a login verifies, because each adds a verification to every
#: login.
MAX_SCHEMES_PER_METHOD = 4

password_hasher = AppState[PasswordHasher]("password hasher")
decoy_hash = AppState[str]("decoy hash")
# The schemes, each with one hash, and their expiry by the monotonic clock.
cached_schemes = AppState[tuple[float, Mapping[str, str]]](
    "stored schemes", factory=lambda _app: (0.0, {})
)


def init_app(app: Flask) -> None:
    """Create the hasher, and a decoy hash to verify for users that do not exist."""
    hasher = PasswordHasher(**app.config["PASSWORD_HASH"])
    password_hasher.set(app, hasher)
    decoy_hash.set(app, _make_decoy(hasher))


def hashing() -> AbstractContextManager[None]:
    """Reserve a slot to hash passwords during a block; raise TooManyHashes if none is free.

    Every hash reserves one itself. Services that do work before, or hash twice, reserve one first,
    so that they are refused before they begin or not at all.
    """
    return hash_slots.current.reserve()


def hash_password(password: str) -> str:
    """Return the Argon2id hash of a password, in its normal form."""
    with hashing():
        hash_ = password_hasher.current.hash
        return hash_slots.current.threads.compute(hash_, _encode(normal_form(password)))


def find_form(stored: str, password: str) -> str | None:
    """Return the form of a password that matches a stored hash; None for a wrong password.

    The hash is one of Argon2, bcrypt or Werkzeug. Older hashes may be of the password as sent,
    before normalization: if the two forms differ, that form is compared, too.
    """
    with hashing():
        return _compute_form(stored, password)


def normal_form(password: str) -> str:
    """Return a password in NFC: keyboards and systems send the same letters in different forms."""
    if len(password) > MAX_NORMALIZED:
        return password
    return unicodedata.normalize("NFC", password)


def verify_login(stored: str | None, password: object) -> str | None:
    """Compare a password with a user's hash (None: no such user) in the same time for all users.

    Returns the result of `find_form`. One hash of each stored scheme is verified: the user's own
    hash, or a decoy. Raises TooManyHashes; call it within `login_attempt`.
    """
    attempt = password if isinstance(password, str) else ""
    decoy, own = decoy_hash.current, stored or ""
    hashes = {scheme_of(decoy) or "": decoy, **stored_schemes()}
    if scheme := scheme_of(own):
        hashes[scheme] = own
    with hashing():
        forms = {known: _compute_form(hash_, attempt) for known, hash_ in hashes.items()}
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


def stored_schemes() -> Mapping[str, str]:
    """Return the stored schemes, each with one hash; queried once every CACHE_SECONDS."""
    end, schemes = cached_schemes.current
    if end <= time.monotonic():
        schemes = {scheme: stored for method in METHODS for scheme, stored in _find_schemes(method)}
        cached_schemes.set(current_app, (time.monotonic() + CACHE_SECONDS, schemes))
    return schemes


def replace_hash(user_id: Id, old_hash: str | None, new_hash: str) -> int:
    """Replace a user's hash if it is still the old one; else return 0."""
    seen = update(User).where(User.id == user_id, User.password_hash == old_hash)
    return affected_rows(
        seen.values(password_hash=new_hash).execution_options(synchronize_session=False)
    )


def hash_problem(stored: str) -> str | None:
    """Return what is wrong with an imported hash; empty if it is valid."""
    if len(stored) > MAX_HASH_LENGTH:
        return f"is too long (maximum is {MAX_HASH_LENGTH} characters)"
    for form, highest in FORMATS.items():
        if found := re.fullmatch(form, stored, re.ASCII):
            costs = map(int, found.groups())
            too_much = any(cost > most for cost, most in zip(costs, highest, strict=True))
            return "costs too much to verify" if too_much else None
    return "is not a hash of Argon2, bcrypt, or Werkzeug's scrypt or PBKDF2"


@contextmanager
def login_attempt(principal_type: str, realm: str, name: str, value: str) -> Iterator[None]:
    """Count an attempt to log in, which has failed if the block raises.

    Attempts are counted by the submitted identity, whether the user exists or not. Raises
    TooManyRequests, or TooManyHashes, which counts nothing.
    """
    identity = LOGIN_IDENTITY, *key_prefix(principal_type), realm, name, value
    with hashing(), count_failure(LOGIN_ADDRESS, current_network()), count_failure(*identity):
        yield


def check_password(user_id: Id, stored: str | None, password: str) -> None:
    """Require the password of a logged-in user; raise InvalidPassword if it is wrong.

    Raises TooManyRequests after too many wrong ones, or TooManyHashes; for a user without a
    password, InvalidPassword says so.
    """
    if stored is None:
        raise InvalidPassword("The account has no password; a password reset sets one.")
    with hashing(), count_failure(PASSWORD_CHECK, user_id):
        if find_form(stored, password) is None:
            raise InvalidPassword()


def forget_failures(user: User) -> None:
    """Forget failed attempts of a user whose password was set anew."""
    names = LOGIN_IDENTITY, *key_prefix(user.principal_type), user.realm
    clear(*names, "email", user.email)
    clear(*names, "username_key", user.username_key)
    clear(PASSWORD_CHECK, user.id)


def _compute_form(stored: str, password: str) -> str | None:
    """Return the result of `find_form`, for a caller that has a slot."""
    hasher = password_hasher.current
    return hash_slots.current.threads.compute(_find_form, hasher, stored, password)


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


def _make_decoy(hasher: PasswordHasher) -> str:
    """Return a hash of no password, without hashing: a random salt and digest."""
    costs = f"m={hasher.memory_cost},t={hasher.time_cost},p={hasher.parallelism}"
    random = (b64encode(secrets.token_bytes(n)) for n in (hasher.salt_len, hasher.hash_len))
    salt, digest = (value.decode().rstrip("=") for value in random)
    return f"$argon2id$v={ARGON2_VERSION}${costs}${salt}${digest}"


def _encode(password: str) -> bytes:
    return password.encode("utf-8", "surrogatepass")


def _find_schemes(method: str) -> Iterator[tuple[str, str]]:
    """Yield the schemes of a method, each with its first hash in the index."""
    start, end = method, _prefix_end(method)
    for _ in range(MAX_SCHEMES_PER_METHOD):
        first = select(User.password_hash).where(
            User.password_hash >= start, User.password_hash < end
        )
        stored = db.session.scalar(first.order_by(User.password_hash).limit(1))
        if stored is None or (scheme := scheme_of(stored)) is None:
            return
        yield scheme, stored
        start = _prefix_end(scheme)


def _prefix_end(prefix: str) -> str:
    """Return the upper bound of all texts with this ASCII prefix."""
    return prefix[:-1] + chr(ord(prefix[-1]) + 1)
