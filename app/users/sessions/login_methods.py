"""Login methods of accounts besides the password, such as identities at providers.

Features register the methods that they store. Methods that require a proved address belong to the
account's owner: `register_proved`. Any other method may have been added by somebody else before, so
the owner is shown it and may remove it: `register`. This module does not log in anybody; a new way
to log in calls `login_identified` or `open_session` in `login.py`.
"""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import NamedTuple, Protocol

from flask import Flask
from sqlalchemy import ColumnElement, or_, select

from app.database.session import db
from app.ids import Id
from app.state import AppState
from app.users.models import User


class LoginMethod(NamedTuple):
    """A login method of an account, as shown to its owner."""

    # Unique within the account.
    key: str
    provider: str
    # The user's name at the provider; None if unknown.
    name: str | None
    added: datetime


class LoginMethods(Protocol):
    """Login methods that may be added to an account whose address is not proved."""

    def logs_in(self, user_id: Id, without: str) -> bool:
        """Return True if a user can log in by one of them alone, without the one with this key."""
        ...

    def find_unproven(self, user: User, email: str) -> Sequence[LoginMethod]:
        """Return the methods added to the account before its owner proved this address."""
        ...

    def remove_unproven(self, user: User, email: str, kept: Collection[str]) -> int:
        """Remove the methods added before, except these keys; return the number of removed ones.

        The kept ones belong to the owner from now on, as long as the account has this address.
        Called in the transaction in which the owner proves it.
        """
        ...


class ProvedCredentials(Protocol):
    """Credentials of a feature that may only be added as `accounts.address_proofs` allows."""

    def is_had(self, user_id: object) -> ColumnElement[bool]:
        """Return the condition that a user has one."""
        ...

    def logs_in(self, user_id: Id, without: str) -> bool:
        """Return True if a user can log in by one of them alone, without the one with this key."""
        ...


_registered = AppState[list[LoginMethods]]("login methods", factory=lambda _app: [])
_proved = AppState[list[ProvedCredentials]]("proved credentials", factory=lambda _app: [])


def register(app: Flask, logins: LoginMethods) -> None:
    """Register the login methods that a feature stores."""
    _registered.of(app).append(logins)


def register_proved(app: Flask, credentials: ProvedCredentials) -> None:
    """Register methods of a feature that require a proved address."""
    _proved.of(app).append(credentials)


def has_other(user: User, without: str) -> bool:
    """Return True if a user can log in by any means other than the one with this key."""
    if user.password_hash is not None:
        return True
    kept: list[LoginMethods | ProvedCredentials] = [*_registered.current, *_proved.current]
    return any(logins.logs_in(user.id, without) for logins in kept)


def has_proved(user_id: Id) -> bool:
    """Return True if a user has anything that requires a proved address."""
    held = [credentials.is_had(user_id) for credentials in _proved.current]
    return bool(held) and bool(db.session.scalar(select(or_(*held))))


def find_unproven(user: User, email: str) -> list[LoginMethod]:
    """Return the methods added to the account before its owner proved this address."""
    return [login for logins in _registered.current for login in logins.find_unproven(user, email)]


def remove_unproven(user: User, email: str, kept: Collection[str] = ()) -> int:
    """Remove the methods added before the owner proved this address, except these keys.

    Returns the number of removed ones. Call it in the transaction of the proof.
    """
    return sum(logins.remove_unproven(user, email, kept) for logins in _registered.current)


def keep_all(user: User, email: str) -> None:
    """Record that everything in an account belongs to the owner of this address.

    A user who proves it within a session has added it. Call it in the transaction of the proof.
    """
    remove_unproven(user, email, [login.key for login in find_unproven(user, email)])
