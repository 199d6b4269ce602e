"""The kinds of second factors; features register the kinds that they implement."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Protocol

from flask import Flask
from sqlalchemy import ColumnElement, select

from app.database.session import db
from app.ids import Id
from app.state import AppState

from .models import HeldFactor

# The kinds of authenticator apps' codes, the default; of recovery codes; and of passkeys.
TOTP, RECOVERY, PASSKEY = "totp", "recovery", "passkey"


class FactorKind(Protocol):
    """A kind of second factors."""

    @property
    def suffices(self) -> bool:
        """Whether logins of users with this factor take a second step; not for recovery codes."""
        ...

    def is_had(self, user_id: object) -> ColumnElement[bool]:
        """Return the condition that a user has a factor of this kind."""
        ...

    def verify(self, user_id: Id, proof: Mapping[str, object]) -> tuple[str, ...] | None:
        """Return the methods (RFC 8176) that a proof shows, None for an invalid one; use it up.

        `proof` has what the client has sent, such as `code`. Call it in a transaction.
        """
        ...


# Returns a user's factors of a kind.
FindFactors = Callable[[Id], Sequence[HeldFactor]]
# Deletes a user's factors of a kind. Called in a transaction.
Reset = Callable[[Id], None]


class Enrolment(Protocol):
    """A kind of factors that a user who is required to have one can add during a login."""

    def begin(self, user_id: Id) -> object:
        """Return a new factor, which has no effect until it is confirmed."""
        ...

    def confirm(self, user_id: Id, proof: Mapping[str, object]) -> tuple[str, ...] | None:
        """Confirm the factor; return the methods that the proof shows, None for an invalid one."""
        ...


_kinds = AppState[dict[str, FactorKind]]("kinds of factors", factory=lambda _app: {})
_lists = AppState[dict[str, FindFactors]]("lists of factors", factory=lambda _app: {})
_resets = AppState[list[Reset]]("resets of factors", factory=lambda _app: [])
_enrolments = AppState[dict[str, Enrolment]]("enrolments", factory=lambda _app: {})


def register(app: Flask, name: str, kind: FactorKind, enrolment: Enrolment | None = None) -> None:
    """Register a kind of second factors, and how users add one during a login."""
    _kinds.of(app)[name] = kind
    if enrolment is not None:
        _enrolments.of(app)[name] = enrolment


def register_list(app: Flask, name: str, find_all: FindFactors) -> None:
    """Register the list of users' factors of a kind, also if it is switched off."""
    _lists.of(app)[name] = find_all


def list_factors(user_id: Id) -> Iterator[tuple[str, HeldFactor]]:
    """Yield the factors of a user in the registered lists, with their kinds."""
    for name, find_all in _lists.current.items():
        for row in find_all(user_id):
            yield name, row


def register_reset(app: Flask, *resets: Reset) -> None:
    """Register a function that deletes a user's factors, also if its kind is switched off."""
    _resets.of(app).extend(resets)


def reset(user_id: Id) -> None:
    """Delete all factors of a user, of every kind. Call it in a transaction."""
    for delete_all in _resets.current:
        delete_all(user_id)


def find_kind(name: str) -> FactorKind | None:
    """Return the kind with this name; None if it does not exist."""
    return _kinds.current.get(name)


def find_enrolment(name: str) -> Enrolment | None:
    """Return how users add a factor of this kind during a login; None if they cannot."""
    return _enrolments.current.get(name)


def enrolment_kinds() -> list[str]:
    """Return the kinds that can be added during a login."""
    return [*_enrolments.current]


def look_up(user_id: Id, *further: ColumnElement[bool]) -> tuple[list[str], Sequence[bool]]:
    """Return the kinds of a user's second factors, and whether each further condition is met.

    In one query.
    """
    kinds = _kinds.current
    row = db.session.execute(
        select(*further, *(kind.is_had(user_id) for kind in kinds.values()))
    ).one()
    held = zip(kinds, row[len(further) :], strict=True)
    return [name for name, is_had in held if is_had], row[: len(further)]


def suffice(names: Iterable[str]) -> bool:
    """Return True if logins of a user with factors of these kinds take a second step."""
    return any(_kinds.current[name].suffices for name in names)
