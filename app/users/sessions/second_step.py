"""The second step of a login: what a feature asks for after the first one has succeeded."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from sqlalchemy import ColumnElement

from app.access.identity import LiveToken
from app.errors import ValidationError
from app.ids import Id
from app.state import AppState

from .tokens import IssuedToken

# What is said of a kind of second factors that a login does not take.
UNKNOWN_KIND = {"kind": ["is not one of this login"]}


@dataclass(frozen=True)
class FirstStep:
    """A login whose first step has succeeded: who it is, and what session was asked for.

    `methods` are those of the first step, `details` those of the record in the audit log, and
    `includes_user` tells whether the answer has the user.
    """

    user_id: Id
    ttl: float
    remember_me: bool
    methods: tuple[str, ...]
    includes_user: bool = False
    details: Mapping[str, object] = field(default_factory=dict)


class SecondStep(Protocol):
    """What decides whether a login takes a second step, and leads through it."""

    def is_due(self, user_id: Id, methods: Collection[str]) -> bool:
        """Return True if a user whom these methods have identified takes a second step."""
        ...

    def take(
        self, first: FirstStep, proof: Mapping[str, object], *conditions: ColumnElement[bool]
    ) -> IssuedToken:
        """End a login with a second factor that came with the first step.

        Raises SecondFactorRequired without one, SecondFactorFailed for a wrong one, and LoginFailed
        if the user does not meet the conditions.
        """
        ...

    def reauthenticate(self, session: LiveToken, proof: Mapping[str, object]) -> None:
        """Note that the user of a session has shown a second factor now.

        Raises SecondFactorFailed for a wrong one, TooManyRequests after too many of them, and
        ValidationError for an unknown kind.
        """
        ...


second_step = AppState[SecondStep | None]("second step", factory=lambda _app: None)


def is_due(user_id: Id, methods: Collection[str]) -> bool:
    """Return True if a user whom these methods have identified takes a second step."""
    step = second_step.current
    return step is not None and step.is_due(user_id, methods)


def take(
    first: FirstStep, proof: Mapping[str, object], *conditions: ColumnElement[bool]
) -> IssuedToken:
    """End a login for which a second step is due, or raise what SecondStep.take does."""
    step = second_step.current
    if step is None:
        raise RuntimeError("no second step is due")
    return step.take(first, proof, *conditions)


def reauthenticate(session: LiveToken, proof: Mapping[str, object]) -> None:
    """Do what SecondStep.reauthenticate does.

    Raises ValidationError for an empty proof, and where logins take no second step.
    """
    step = second_step.current
    if step is None or not proof:
        raise ValidationError({"password": ["is missing"]})
    step.reauthenticate(session, proof)
