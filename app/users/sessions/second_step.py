"""The second step of a login, which a feature may require after the first one."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from sqlalchemy import ColumnElement

from app.access.identity import LiveToken
from app.errors import ValidationError
from app.ids import Id
from app.state import AppState

from .tokens import IssuedToken

# The message for a kind of second factors that a login does not take.
UNKNOWN_KIND = {"kind": ["is not one of this login"]}


@dataclass(frozen=True)
class FirstStep:
    """A login after its first step: the user, and the requested session.

    `methods` are those of the first step, `details` are for the audit log, and `includes_user` is
    True if the response contains the user.
    """

    user_id: Id
    ttl: float
    remember_me: bool
    methods: tuple[str, ...]
    includes_user: bool = False
    details: Mapping[str, object] = field(default_factory=dict)


class SecondStep(Protocol):
    """Decides whether a login takes a second step, and handles it."""

    def is_due(self, user_id: Id, methods: Collection[str]) -> bool:
        """Return True if a user identified by these methods takes a second step."""
        ...

    def take(
        self, first: FirstStep, proof: Mapping[str, object], *conditions: ColumnElement[bool]
    ) -> IssuedToken:
        """Finish a login with a second factor sent with the first step.

        Raises SecondFactorRequired without one, SecondFactorFailed for a wrong one, and LoginFailed
        if the user does not meet the conditions.
        """
        ...

    def reauthenticate(self, session: LiveToken, proof: Mapping[str, object]) -> None:
        """Record that the user of a session has just proved a second factor.

        Raises SecondFactorFailed for a wrong one, TooManyRequests after too many of them, and
        ValidationError for an unknown kind.
        """
        ...


second_step = AppState[SecondStep | None]("second step", factory=lambda _app: None)


def is_due(user_id: Id, methods: Collection[str]) -> bool:
    """Return True if a user identified by these methods takes a second step."""
    step = second_step.current
    return step is not None and step.is_due(user_id, methods)


def take(
    first: FirstStep, proof: Mapping[str, object], *conditions: ColumnElement[bool]
) -> IssuedToken:
    """Finish a login that takes a second step, or raise the errors of SecondStep.take."""
    step = second_step.current
    if step is None:
        raise RuntimeError("no second step is due")
    return step.take(first, proof, *conditions)


def reauthenticate(session: LiveToken, proof: Mapping[str, object]) -> None:
    """Call SecondStep.reauthenticate.

    Raises ValidationError for an empty proof, and if logins take no second step.
    """
    step = second_step.current
    if step is None or not proof:
        raise ValidationError({"password": ["is missing"]})
    step.reauthenticate(session, proof)
