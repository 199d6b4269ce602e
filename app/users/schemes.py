"""Which schemes of password hashes are stored, so that a login can cost the same for everybody."""

import time
from collections.abc import Iterator, Mapping

from flask import current_app
from sqlalchemy import select

from app.extensions import db

from .models import User
from .passwords import BCRYPT, scheme_of

# What hashes begin with; "$argon2" stands for other costs than today's.
METHODS = ("$argon2", *BCRYPT, "pbkdf2:", "scrypt:")
# Seconds for which a process believes what it found.
LIFETIME = 60
# Schemes of one method; each costs every login a verification.
MOST = 4


def stored_schemes() -> Mapping[str, str]:
    """Return the schemes that are stored, each with a hash of it; looked up once a minute."""
    known: tuple[float, Mapping[str, str]] = current_app.extensions.get("schemes", (0.0, {}))
    if known[0] <= time.monotonic():
        found = {scheme: each for method in METHODS for scheme, each in _find(method)}
        known = time.monotonic() + LIFETIME, found
        current_app.extensions["schemes"] = known
    return known[1]


def _find(method: str) -> Iterator[tuple[str, str]]:
    """Yield the schemes of a method: the index is asked for the first hash after each one's."""
    start, end = method, _after(method)
    for _ in range(MOST):
        first = select(User.password_hash).where(
            User.password_hash >= start, User.password_hash < end
        )
        stored = db.session.scalar(first.order_by(User.password_hash).limit(1))
        if stored is None or (scheme := scheme_of(stored)) is None:
            return
        yield scheme, stored
        start = _after(scheme)


def _after(prefix: str) -> str:
    """Return what sorts after every text with this prefix, which is ASCII."""
    return prefix[:-1] + chr(ord(prefix[-1]) + 1)
