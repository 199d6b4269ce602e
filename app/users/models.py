"""The tables of users and access tokens, and the model of users of the current app."""

import hashlib
import re
import secrets
import string
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    ForeignKey,
    Index,
    String,
    Text,
    and_,
    false,
    text,
    true,
)
from sqlalchemy.orm import Mapped, mapped_column

from app.database.columns import UtcDateTime
from app.database.dialects import IDS_GIVEN_ONCE, text_type
from app.database.ids import RowId
from app.database.session import Model
from app.ids import Id
from app.observability.origin import MAX_ADDRESS, MAX_USER_AGENT
from app.state import AppState
from app.times import now

from .user_models import FIRST

# The same length as LoopBack 3's tokens; 62 ** 64 possible values are 381 bits.
TOKEN_LENGTH = 64
TOKEN_ALPHABET = string.ascii_letters + string.digits
# The character for each random byte; the last bytes are left out, because they would make the first
# characters more likely.
CHARACTERS = bytes(ord(TOKEN_ALPHABET[byte % len(TOKEN_ALPHABET)]) for byte in range(256))
LEFT_OUT = bytes(range(256 - 256 % len(TOKEN_ALPHABET), 256))
# Letters and digits of codes that people type, with 5 bits each (RFC 4648, section 6).
CODE_ALPHABET = string.ascii_lowercase + "234567"
# Hexadecimal digits of a token's public id.
HANDLE_LENGTH = 16
HANDLE = re.compile(rf"[0-9a-f]{{{HANDLE_LENGTH}}}", re.ASCII)
#: Maximum characters of the name of a model of users.
MAX_PRINCIPAL_TYPE = 63
#: Maximum characters of a personal token's name.
MAX_TOKEN_NAME = 100
#: Maximum characters of the names of a session's authentication methods.
MAX_METHODS = 64
# The scopes of mailed tokens, each of which is valid for one purpose.
RESET_SCOPE = "reset-password"
VERIFY_SCOPE = "verify-email"
CHANGE_SCOPE = "change-email"
# The scope of a code that proves an address, its user's or a new one.
CODE_SCOPE = "email-code"
# The scope of a note that the user has proved a new address; nobody has its value.
PROVED_SCOPE = "proved-email"
# The scope of a ticket for a login's second step; never accepted as an access token.
TICKET_SCOPE = "login-ticket"
# The scope of personal tokens; the calls that each may make are in its column `scopes`.
PERSONAL_SCOPE = "personal"
# The settings with the lifetimes of mailed tokens in seconds.
TTL_SETTINGS = {
    RESET_SCOPE: "RESET_TOKEN_TTL",
    VERIFY_SCOPE: "VERIFY_TOKEN_TTL",
    CHANGE_SCOPE: "VERIFY_TOKEN_TTL",
}


def new_token() -> str:
    """Return a random token value (OWASP ASVS 7.2.3 requires 128 bits of entropy)."""
    characters = b""
    while len(characters) < TOKEN_LENGTH:
        characters += secrets.token_bytes(TOKEN_LENGTH).translate(CHARACTERS, LEFT_OUT)
    return characters[:TOKEN_LENGTH].decode()


def new_code(length: int) -> str:
    """Return a random code of `length` characters, for people to type."""
    return "".join(secrets.choice(CODE_ALPHABET) for _ in range(length))


def grouped(code: str, size: int) -> str:
    """Return a code with a dash between groups of `size` characters, for people to read."""
    return "-".join(code[at : at + size] for at in range(0, len(code), size))


def typed(code: str) -> str:
    """Return a typed code in its original form, without regard to case, dashes and spaces."""
    return code.replace("-", "").replace(" ", "").lower()


def token_digest(value: str) -> str:
    """Return the digest of a token value, which is stored in its place.

    A fast hash is sufficient for a value of this entropy (OWASP ASVS 6.5.2).
    """
    return hashlib.sha256(value.encode("utf-8", "surrogatepass")).hexdigest()


def new_handle() -> str:
    """Return a random public handle of a token."""
    return secrets.token_hex(HANDLE_LENGTH // 2)


class User(Model):
    """A user; `email` and `username` are unique within the `realm`.

    If there are several models of users, they are unique among those of one.

    `id`, `email_verified`, `created`, `disabled_at` and `service_account` are further attributes,
    and so are the columns of the app's USER_PROPERTIES.
    """

    __tablename__ = "users"
    __table_args__ = (
        # Finds an email in any realm; the index of usernames finds the users of a realm.
        Index("uq_users_email_realm_type", "email", "realm", "principal_type", unique=True),
        Index(
            "uq_users_realm_username_key_type",
            *("realm", "username_key", "principal_type"),
            unique=True,
        ),
        IDS_GIVEN_ONCE,
    )

    id: Mapped[Id] = mapped_column(RowId, primary_key=True)
    # Empty for users without a realm, because unique indexes do not compare NULLs.
    realm: Mapped[str] = mapped_column(String(255), default="", info={"null": ""})
    email: Mapped[str] = mapped_column(String(320))
    username: Mapped[str | None] = mapped_column(String(255), index=True)
    # The normalized username, which comparisons and the unique index use.
    username_key: Mapped[str | None] = mapped_column(String(255))
    # None for a user who only logs in by an identity provider. Sorts by code point on every
    # database, so that the index finds hashes by their prefix.
    password_hash: Mapped[str | None] = mapped_column(text_type(255), index=True)
    email_verified: Mapped[bool] = mapped_column(default=False)
    created: Mapped[datetime] = mapped_column(UtcDateTime, default=now)
    # None for users who may log in.
    disabled_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    # Whether it is a service account: it has no sessions, and admins create its personal tokens.
    service_account: Mapped[bool] = mapped_column(default=False, server_default=false())
    # The model of users, LoopBack 3's `principalType`; empty for the first one.
    principal_type: Mapped[str] = mapped_column(
        String(MAX_PRINCIPAL_TYPE), default=FIRST, server_default=text("''"), info={"null": ""}
    )


class AccessToken(Model):
    """An issued token, identified by the digest of its value."""

    __tablename__ = "access_tokens"

    digest: Mapped[str] = mapped_column(String(64), primary_key=True)
    # The public id by which users list and revoke sessions.
    handle: Mapped[str] = mapped_column(String(HANDLE_LENGTH), default=new_handle)
    user_id: Mapped[Id] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    ttl: Mapped[float]
    # None for a login; a mailed token is only valid for endpoints that require its scope.
    scope: Mapped[str | None] = mapped_column(String(32))
    # The address that a mailed token proves; None for a login.
    email: Mapped[str | None] = mapped_column(String(320))
    created: Mapped[datetime] = mapped_column(UtcDateTime, default=now)
    expires_at: Mapped[datetime] = mapped_column(UtcDateTime, index=True)
    # The last time a use prolonged it, or a personal token was used; None before. For logins only
    # with TOKEN_SLIDING.
    last_used: Mapped[datetime | None] = mapped_column(UtcDateTime)
    # Whether its cookie persists after the browser is closed: `rememberMe` of the login.
    remember_me: Mapped[bool] = mapped_column(default=True, server_default=true())
    # Where it was issued; for a personal token, the address of the last use.
    user_agent: Mapped[str | None] = mapped_column(String(MAX_USER_AGENT))
    address: Mapped[str | None] = mapped_column(String(MAX_ADDRESS))
    # How the session was authenticated: names of RFC 8176, `email` and `fed`, joined by commas.
    # None for older tokens without this information, and for mailed tokens.
    methods: Mapped[str | None] = mapped_column(String(MAX_METHODS))
    # When its user last authenticated in this session; None: when it was created.
    authenticated_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    # A personal token's name, and its scopes as JSON; None for other tokens.
    name: Mapped[str | None] = mapped_column(String(MAX_TOKEN_NAME))
    scopes: Mapped[str | None] = mapped_column(Text)
    # The log position that PostgreSQL's standbys must have reached to answer this caller's reads.
    write_position: Mapped[int | None] = mapped_column(BigInteger)

    @classmethod
    def is_live(cls, scope: str | None = None) -> ColumnElement[bool]:
        """Return the condition that a token has this scope (None: a login) and has not expired."""
        return and_(cls.scope.is_not_distinct_from(scope), cls.expires_at > now())


# The class of all users; a subclass of User if they have additional properties.
app_user_model = AppState[type[User]]("class of users", factory=lambda _app: User)


def user_model() -> type[User]:
    """Return the class of all users: `User`, or a subclass with their additional properties."""
    return app_user_model.current


def new_token_values(value: str, ttl: float, **columns: object) -> dict[str, Any]:
    """Return a new token's columns except `user_id`; it lives for `ttl` seconds.

    `columns` are those that differ from a login's.
    """
    created = now()
    return {
        "digest": token_digest(value),
        "handle": new_handle(),
        "ttl": ttl,
        "scope": None,
        "email": None,
        "created": created,
        "expires_at": created + timedelta(seconds=ttl),
        "last_used": None,
        "remember_me": True,
        "user_agent": None,
        "address": None,
        "methods": None,
        "authenticated_at": None,
        "name": None,
        "scopes": None,
        "write_position": None,
        **columns,
    }
