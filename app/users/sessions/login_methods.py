"""Login methods that accounts keep besides the password, such as identities at providers.

Features register those that they keep. What is added only once the address of the account is proved
is its owner's: `register_proved`. Of anything else, somebody else may have added it before, and its
owner is shown it and may remove it: `register`. This module logs nobody in; a new way to log in
calls `login_identified` or `open_session` in `login.py`.
"""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any, NamedTuple, Protocol

from flask import Flask
from sqlalchemy import ColumnElement, or_, select

from app.database.session import db
from app.ids import Id
from app.state import AppState
from app.users.models import User


class LoginMethod(NamedTuple):
    """A login method of an account, as its owner is asked about it."""

    # Unique within the account.
    key: str
    provider: str
    # Who it is at the provider; None if that is not known.
    name: str | None
    added: datetime


class LoginMethods(Protocol):
    """Login methods that may be added to an account whose address is not proved."""

    def logs_in(self, user_id: Id, without: str) -> bool:
        """Return True if a user can log in by one of them alone, but for the one with this key."""
        ...

    def find_unproven(self, user: User, email: str) -> Sequence[LoginMethod]:
        """Return what was added to the account before its owner proved this address."""
        ...

    def remove_unproven(self, user: User, email: str, kept: Collection[str]) -> int:
        """Remove what was added before, except for these keys; return how many were removed.

        What stays is from now on the owner's, as long as the account has this address. Called in
        the transaction in which the owner proves it.
        """
        ...


class ProvedCredentials(Protocol):
    """Factors, passkeys or tokens, which `accounts.address_proofs` admits before they are added."""

    def is_had(self, user_id: Any) -> ColumnElement[bool]:
        """Return the condition that a user has one."""
        ...

    def logs_in(self, user_id: Id, without: str) -> bool:
        """Return True if a user can log in by one of them alone, but for the one with this key."""
        ...


_registered = AppState[list[LoginMethods]]("login methods", factory=lambda _app: [])
_proved = AppState[list[ProvedCredentials]]("proved credentials", factory=lambda _app: [])


def register(app: Flask, logins: LoginMethods) -> None:
    """Register the login methods that a feature keeps."""
    _registered.of(app).append(logins)


def register_proved(app: Flask, credentials: ProvedCredentials) -> None:
    """Register what a feature adds only to accounts whose address is proved."""
    _proved.of(app).append(credentials)


def has_other(user: User, without: str) -> bool:
    """Return True if a user can log in otherwise than by the login method with this key."""
    if user.password_hash is not None:
        return True
    kept: list[LoginMethods | ProvedCredentials] = [*_registered.current, *_proved.current]
    return any(logins.logs_in(user.id, without) for logins in kept)


def has_proved(user_id: Id) -> bool:
    """Return True if a user has what is added only to accounts whose address is proved."""
    held = [credentials.is_had(user_id) for credentials in _proved.current]
    return bool(held) and bool(db.session.scalar(select(or_(*held))))


def find_unproven(user: User, email: str) -> list[LoginMethod]:
    """Return what was added to the account before its owner proved this address."""
    return [login for logins in _registered.current for login in logins.find_unproven(user, email)]


def remove_unproven(user: User, email: str, kept: Collection[str] = ()) -> int:
    """Remove what was added before the owner of this address proved it, except for these keys.

    Returns how many were removed. Call it in the transaction of the proof.
    """
    return sum(logins.remove_unproven(user, email, kept) for logins in _registered.current)


def keep_all(user: User, email: str) -> None:
    """Note that everything in an account is that of the owner of this address.

    Who proves it in a session is who has added it. Call it in the transaction of the proof.
    """
    remove_unproven(user, email, [login.key for login in find_unproven(user, email)])
