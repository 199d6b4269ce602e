"""The tables of identities and pending logins."""

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

#: Maximum characters of an issuer; OpenID Connect only limits subjects.
MAX_ISSUER = 255
#: Maximum characters of a subject (OpenID Connect Core, 2).
MAX_SUBJECT = 255


class ExternalIdentity(Model):
    """A user at a provider, identified by the issuer and its subject, never by the email."""

    __tablename__ = "identities"
    __table_args__ = (
        Index("uq_identities_issuer_subject", "issuer", "subject", unique=True),
        IDS_GIVEN_ONCE,
    )

    id: Mapped[int] = mapped_column(IntegerId, primary_key=True)
    user_id: Mapped[Id] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    # The provider's name at the last use of the identity.
    provider: Mapped[str] = mapped_column(String(64))
    issuer: Mapped[str] = mapped_column(String(MAX_ISSUER))
    subject: Mapped[str] = mapped_column(String(MAX_SUBJECT))
    # The user's claims at the last login.
    profile: Mapped[dict[str, Any]] = mapped_column(Json())
    created: Mapped[datetime] = mapped_column(UtcDateTime, default=now)
    last_used: Mapped[datetime] = mapped_column(UtcDateTime, default=now)
    # The verified address of the user when the identity was added, or kept by the owner. If the
    # user now has another one, somebody else may have added the identity.
    proven_email: Mapped[str | None] = mapped_column(String(320))


class LoginFlow(Model):
    """A login begun by a browser, or a used ID token that must not be accepted again."""

    __tablename__ = "login_flows"

    # The digest of the parameter `state`.
    state_digest: Mapped[str] = mapped_column(String(64), primary_key=True)
    # The digest of the browser's cookie.
    browser_digest: Mapped[str] = mapped_column(String(64))
    provider: Mapped[str] = mapped_column(String(64))
    # The code verifier of PKCE (RFC 7636).
    verifier: Mapped[str] = mapped_column(String(128))
    nonce: Mapped[str] = mapped_column(String(64))
    # The user to whom an identity is to be added; None for a login.
    link_user_id: Mapped[Id | None] = mapped_column(
        ForeignKey("users.id", ondelete="CASCADE"), index=True
    )
    expires_at: Mapped[datetime] = mapped_column(UtcDateTime, index=True)
