"""Tables of users and their access tokens, and facts about one row."""

import hashlib
import re
import secrets
import string
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, ForeignKey, Index, ScalarSelect, String, and_
from sqlalchemy.orm import Mapped, mapped_column

from app.extensions import Model, RowId, UtcDateTime, now

# As long as the reference's tokens; 62 ** 64 possibilities are 381 bits.
TOKEN_LENGTH = 64
TOKEN_ALPHABET = string.ascii_letters + string.digits
# What names a token towards its user, made of 8 random bytes.
HANDLE = re.compile(r"[0-9a-f]{16}", re.ASCII)
# The one scope there is: a token that opens the password reset and nothing else.
RESET_SCOPE = "reset-password"


def new_token() -> str:
    """Make a token value that nobody can guess (OWASP ASVS 7.2.3 asks for 128 bits)."""
    return "".join(secrets.choice(TOKEN_ALPHABET) for _ in range(TOKEN_LENGTH))


def token_digest(value: str) -> str:
    """Return what the database keeps instead of a token value.

    A plain hash is enough for a value of this entropy (OWASP ASVS 6.5.2).
    """
    return hashlib.sha256(value.encode("utf-8", "surrogatepass")).hexdigest()


def has_expired(expires_at: datetime) -> bool:
    """Tell whether a token that lives until then can be used no more."""
    return expires_at <= now()


class User(Model):
    """Somebody who can log in; email and username are unique within the realm."""

    __tablename__ = "users"
    __table_args__ = (
        Index("uq_users_realm_email", "realm", "email", unique=True),
        Index("uq_users_realm_username_key", "realm", "username_key", unique=True),
        # The id of a deleted user is never given to another.
        {"sqlite_autoincrement": True},
    )

    id: Mapped[int] = mapped_column(RowId, primary_key=True)
    # Empty for users outside any realm: NULLs would not be compared by the unique indexes.
    realm: Mapped[str] = mapped_column(String(255), default="", info={"null": ""})
    email: Mapped[str] = mapped_column(String(320))
    username: Mapped[str | None] = mapped_column(String(255))
    # The username in the form in which names are compared.
    username_key: Mapped[str | None] = mapped_column(String(255))
    # Sorts by code point on every database, so that the index finds hashes by how they begin.
    password_hash: Mapped[str] = mapped_column(
        String(255).with_variant(String(255, collation="C"), "postgresql"), index=True
    )
    email_verified: Mapped[bool] = mapped_column(default=False)
    created: Mapped[datetime] = mapped_column(UtcDateTime, default=now)


class AccessToken(Model):
    """A token that was issued, known by the digest of its value."""

    __tablename__ = "access_tokens"

    digest: Mapped[str] = mapped_column(String(64), primary_key=True)
    # Names the token towards its user, who may list and revoke it.
    handle: Mapped[str] = mapped_column(String(16), default=lambda: secrets.token_hex(8))
    user_id: Mapped[int] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    ttl: Mapped[float]
    # None is an ordinary login; anything else opens only what asks for that scope.
    scope: Mapped[str | None] = mapped_column(String(32))
    created: Mapped[datetime] = mapped_column(UtcDateTime, default=now)
    expires_at: Mapped[datetime] = mapped_column(UtcDateTime, index=True)

    @classmethod
    def is_live(cls, scope: str | None = None) -> ColumnElement[bool]:
        """Return the condition of a token of this scope, or of a login, that can be used."""
        return and_(cls.scope.is_not_distinct_from(scope), cls.expires_at > now())

    @classmethod
    def issue(
        cls, value: str, user_id: int | ScalarSelect[Any], ttl: float, scope: str | None
    ) -> "AccessToken":
        """Return the row for a fresh token value that lives for `ttl` seconds."""
        created = now()
        return cls(
            digest=token_digest(value),
            user_id=user_id,
            ttl=ttl,
            scope=scope,
            created=created,
            expires_at=created + timedelta(seconds=ttl),
        )
