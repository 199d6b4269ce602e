"""The table of pending logins by mail."""

from datetime import datetime

from sqlalchemy import String
from sqlalchemy.orm import Mapped, mapped_column

from app.database.columns import UtcDateTime
from app.database.session import Model


class LoginCode(Model):
    """The attempts made with a ticket; the ticket itself is an access token.

    Tickets of unknown addresses have a row, too, so that attempts cost the same.
    """

    __tablename__ = "login_codes"

    ticket_digest: Mapped[str] = mapped_column(String(64), primary_key=True)
    tries: Mapped[int] = mapped_column(default=0)
    expires_at: Mapped[datetime] = mapped_column(UtcDateTime, index=True)
