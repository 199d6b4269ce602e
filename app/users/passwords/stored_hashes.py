"""Stored password hashes: formats for import, replacement, and the schemes that logins verify."""

import re
import time
from collections.abc import Iterator, Mapping

from flask import current_app
from sqlalchemy import select, update

from app.database.session import affected_rows, db
from app.ids import Id
from app.state import AppState
from app.users.models import User

from .hashing import BCRYPT, scheme_of

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


# The schemes, each with one hash, and their expiry by the monotonic clock.
cached_schemes = AppState[tuple[float, Mapping[str, str]]](
    "stored schemes", factory=lambda _app: (0.0, {})
)


def stored_schemes() -> Mapping[str, str]:
    """Return the stored schemes, each with one hash; queried once every CACHE_SECONDS."""
    end, schemes = cached_schemes.current
    if end <= time.monotonic():
        schemes = {scheme: stored for method in METHODS for scheme, stored in _find(method)}
        cached_schemes.set(current_app, (time.monotonic() + CACHE_SECONDS, schemes))
    return schemes


def replace_hash(user_id: Id, old_hash: str | None, new_hash: str) -> int:
    """Replace a user's hash if it is still the old one; else return 0."""
    seen = update(User).where(User.id == user_id, User.password_hash == old_hash)
    return affected_rows(
        seen.values(password_hash=new_hash).execution_options(synchronize_session=False)
    )


def _find(method: str) -> Iterator[tuple[str, str]]:
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
