"""The tables of passkeys, and of pending ceremonies."""

from datetime import datetime

from sqlalchemy import BigInteger, ForeignKey, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from app.database.columns import Json, UtcDateTime
from app.database.session import Model
from app.factors.models import HeldFactor
from app.ids import Id

#: Maximum characters of a passkey's id in base64url; WebAuthn limits it to 1023 bytes (4).
MAX_CREDENTIAL_ID = 1364


class Passkey(HeldFactor):
    """A public key whose private key is in an authenticator of the user (WebAuthn, section 4)."""

    __tablename__ = "passkeys"

    # In base64url, like the key, which is in COSE format.
    credential_id: Mapped[str] = mapped_column(String(MAX_CREDENTIAL_ID), unique=True)
    public_key: Mapped[str] = mapped_column(Text)
    # The signature counter; always 0 for authenticators without one.
    sign_count: Mapped[int] = mapped_column(BigInteger)
    # How browsers reach the authenticator, such as "usb".
    transports: Mapped[list[str]] = mapped_column(Json())
    # Whether the authenticator may copy the private key to other devices, and has done so.
    backup_eligible: Mapped[bool]
    backed_up: Mapped[bool]


class PasskeyChallenge(Model):
    """A one-time challenge, to register a passkey of a user or to log in."""

    __tablename__ = "passkey_challenges"

    digest: Mapped[str] = mapped_column(String(64), primary_key=True)
    # None for a login.
    user_id: Mapped[Id | None] = mapped_column(
        ForeignKey("users.id", ondelete="CASCADE"), index=True
    )
    expires_at: Mapped[datetime] = mapped_column(UtcDateTime, index=True)
