"""The tables of second factors, recovery codes and pending second steps."""

from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, ForeignKey, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from app.database.columns import Json, UtcDateTime
from app.database.dialects import IDS_GIVEN_ONCE
from app.database.ids import IntegerId
from app.database.session import Model
from app.ids import Id
from app.times import now

#: Maximum characters of a factor's name.
MAX_FACTOR_NAME = 100


class HeldFactor(Model):
    """The columns of factors that users add, name and remove."""

    __abstract__ = True
    __table_args__ = (IDS_GIVEN_ONCE,)

    id: Mapped[int] = mapped_column(IntegerId, primary_key=True, sort_order=-1)
    user_id: Mapped[Id] = mapped_column(
        ForeignKey("users.id", ondelete="CASCADE"), index=True, sort_order=-1
    )
    name: Mapped[str | None] = mapped_column(String(MAX_FACTOR_NAME), sort_order=-1)
    created: Mapped[datetime] = mapped_column(UtcDateTime, default=now)
    last_used: Mapped[datetime | None] = mapped_column(UtcDateTime)


class Factor(HeldFactor):
    """A generator of one-time passwords (RFC 6238) that a user has enrolled."""

    __tablename__ = "factors"

    # Encrypted with a key of FACTOR_KEYS.
    secret: Mapped[str] = mapped_column(Text)
    # None until a code has shown that the user has the secret.
    confirmed_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    # The period number of the last code, which is not accepted again (RFC 6238, 5.2).
    last_step: Mapped[int | None] = mapped_column(BigInteger)


class RecoveryCode(Model):
    """An unused recovery code."""

    __tablename__ = "recovery_codes"

    digest: Mapped[str] = mapped_column(String(64), primary_key=True)
    user_id: Mapped[Id] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)


class LoginTicket(Model):
    """A login after its first step; its access token has the scope TICKET_SCOPE.

    Whatever ends the tokens of a user therefore ends pending logins, too.
    """

    __tablename__ = "login_tickets"

    digest: Mapped[str] = mapped_column(
        ForeignKey("access_tokens.digest", ondelete="CASCADE"), primary_key=True
    )
    # The result and the options of the first step: the fields of FirstStep.
    first_step: Mapped[dict[str, Any]] = mapped_column(Json())
    # Whether the user has no factor and enrols one with this ticket.
    enrols: Mapped[bool]
    attempts: Mapped[int] = mapped_column(default=0)
