"""The table of logins by mail that are under way."""

from datetime import datetime

from sqlalchemy import String
from sqlalchemy.orm import Mapped, mapped_column

from app.database.columns import UtcDateTime
from app.database.session import Model


class LoginCode(Model):
    """How often the code of a ticket was tried; the ticket itself is an access token.

    There is a row for the ticket of an unknown address, too, so that trying costs the same.
    """

    __tablename__ = "login_codes"

    ticket_digest: Mapped[str] = mapped_column(String(64), primary_key=True)
    tries: Mapped[int] = mapped_column(default=0)
    expires_at: Mapped[datetime] = mapped_column(UtcDateTime, index=True)
