"""The tables of identities and of logins under way."""

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, Index, String
from sqlalchemy.orm import Mapped, mapped_column

from app.database.columns import Json, UtcDateTime
from app.database.dialects import IDS_GIVEN_ONCE
from app.database.ids import IntegerId
from app.database.session import Model
from app.ids import Id
from app.times import now

#: Characters of an issuer; OpenID Connect bounds a subject only.
MAX_ISSUER = 255
#: Characters of a subject (OpenID Connect Core, 2).
MAX_SUBJECT = 255


class ExternalIdentity(Model):
    """A user as a provider knows it: the provider's issuer and its subject, never the email."""

    __tablename__ = "identities"
    __table_args__ = (
        Index("uq_identities_issuer_subject", "issuer", "subject", unique=True),
        IDS_GIVEN_ONCE,
    )

    id: Mapped[int] = mapped_column(IntegerId, primary_key=True)
    user_id: Mapped[Id] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    # The name of the provider when the identity was last used.
    provider: Mapped[str] = mapped_column(String(64))
    issuer: Mapped[str] = mapped_column(String(MAX_ISSUER))
    subject: Mapped[str] = mapped_column(String(MAX_SUBJECT))
    # The claims about the user at the last login.
    profile: Mapped[dict[str, Any]] = mapped_column(Json())
    created: Mapped[datetime] = mapped_column(UtcDateTime, default=now)
    last_used: Mapped[datetime] = mapped_column(UtcDateTime, default=now)
    # The verified address of the user when it was added or kept by its owner. If it is not the
    # user's address, somebody else may have added it.
    proven_email: Mapped[str | None] = mapped_column(String(320))


class LoginFlow(Model):
    """A login that a browser has begun, or an ID token that was used and must not be used again."""

    __tablename__ = "login_flows"

    # Of the parameter `state`.
    state_digest: Mapped[str] = mapped_column(String(64), primary_key=True)
    # Of the cookie of the browser.
    browser_digest: Mapped[str] = mapped_column(String(64))
    provider: Mapped[str] = mapped_column(String(64))
    # Of PKCE (RFC 7636).
    verifier: Mapped[str] = mapped_column(String(128))
    nonce: Mapped[str] = mapped_column(String(64))
    # The user to whom an identity is to be added; None for a login.
    link_user_id: Mapped[Id | None] = mapped_column(
        ForeignKey("users.id", ondelete="CASCADE"), index=True
    )
    expires_at: Mapped[datetime] = mapped_column(UtcDateTime, index=True)
