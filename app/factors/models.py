"""The tables of second factors, recovery codes and logins between their two steps."""

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

#: Characters of the name of a factor.
MAX_FACTOR_NAME = 100


class Factor(Model):
    """A generator of one-time passwords (RFC 6238) that a user has enrolled."""

    __tablename__ = "factors"
    __table_args__ = (IDS_GIVEN_ONCE,)

    id: Mapped[int] = mapped_column(IntegerId, primary_key=True)
    user_id: Mapped[Id] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    name: Mapped[str | None] = mapped_column(String(MAX_FACTOR_NAME))
    # Encrypted with a key of FACTOR_KEYS.
    secret: Mapped[str] = mapped_column(Text)
    created: Mapped[datetime] = mapped_column(UtcDateTime, default=now)
    # None until a code has shown that the user has the secret.
    confirmed_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    last_used: Mapped[datetime | None] = mapped_column(UtcDateTime)
    # The number of the period of the last code, which is not accepted again (RFC 6238, 5.2).
    last_step: Mapped[int | None] = mapped_column(BigInteger)


class RecoveryCode(Model):
    """A recovery code that was not used yet."""

    __tablename__ = "recovery_codes"

    digest: Mapped[str] = mapped_column(String(64), primary_key=True)
    user_id: Mapped[Id] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)


class LoginTicket(Model):
    """A login whose first step has succeeded; its access token has the scope TICKET_SCOPE.

    What ends the tokens of a user thus ends the logins under way.
    """

    __tablename__ = "login_tickets"

    digest: Mapped[str] = mapped_column(
        ForeignKey("access_tokens.digest", ondelete="CASCADE"), primary_key=True
    )
    # What the first step has found out and was asked for: the fields of FirstStep.
    first_step: Mapped[dict[str, Any]] = mapped_column(Json())
    # Whether the user has no factor, and adds one with it.
    enrols: Mapped[bool]
    attempts: Mapped[int] = mapped_column(default=0)
