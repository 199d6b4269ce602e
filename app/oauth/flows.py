"""Pending logins: each is begun by one browser, and ended at most once, by the same browser."""

import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import delete, insert, select
from sqlalchemy.exc import IntegrityError

from app.database.purging import delete_batch
from app.database.session import connection, db
from app.ids import Id
from app.times import now
from app.users.models import token_digest

from .models import LoginFlow

#: Seconds for a login by a provider, and lifetime of its cookie.
FLOW_LIFETIME = 600
# Random bytes; RFC 7636 (7.1) and RFC 6749 (10.10) require at least 32 and 16.
RANDOM_BYTES = 32


@dataclass(frozen=True)
class Flow:
    """A pending login: the parameters of the provider's URL, and the values to check."""

    state: str
    nonce: str
    verifier: str
    # The user to whom an identity is to be added; None for a login.
    link_user_id: Id | None


def new_browser_token() -> str:
    """Return a random value for the cookie of a browser."""
    return secrets.token_urlsafe(RANDOM_BYTES)


def begin(provider: str, browser_token: str, link_user_id: Id | None = None) -> Flow:
    """Store a new flow of the browser with this cookie."""
    state, nonce, verifier = (secrets.token_urlsafe(RANDOM_BYTES) for _ in range(3))
    flow = Flow(state, nonce, verifier, link_user_id)
    _store(
        state_digest=token_digest(state),
        browser_digest=token_digest(browser_token),
        provider=provider,
        verifier=verifier,
        nonce=nonce,
        link_user_id=link_user_id,
        expires_at=now() + timedelta(seconds=FLOW_LIFETIME),
    )
    return flow


def consume(provider: str, browser_token: str, state: str, is_link: bool) -> Flow | None:
    """Delete a flow and return it; None if this browser did not begin it, or it has expired.

    A single statement, so that only one of concurrent callbacks gets the flow.
    """
    rows = LoginFlow
    has_user = rows.link_user_id.is_not(None) if is_link else rows.link_user_id.is_(None)
    own = delete(LoginFlow).where(
        rows.state_digest == token_digest(state),
        rows.browser_digest == token_digest(browser_token),
        rows.provider == provider,
        rows.expires_at > now(),
        has_user,
    )
    found = db.session.execute(own.returning(rows.nonce, rows.verifier, rows.link_user_id)).first()
    return None if found is None else Flow(state, found.nonce, found.verifier, found.link_user_id)


def use_once(provider: str, token: str, expires_at: datetime) -> bool:
    """Record until it expires that a token was used; return False if it was used before."""
    try:
        _store(
            state_digest=token_digest(token),
            browser_digest="",
            provider=provider,
            verifier="",
            nonce="",
            expires_at=expires_at,
        )
    except IntegrityError:
        return False
    return True


def _store(**values: object) -> None:
    with connection() as connected:
        connected.execute(insert(LoginFlow).values(**values))


def purge_batch() -> int:
    """Delete expired flows and used tokens, at most PURGE_BATCH; return their number."""
    return delete_batch(select(LoginFlow.state_digest).where(LoginFlow.expires_at <= now()))
