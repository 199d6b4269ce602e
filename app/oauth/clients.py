"""The clients of an app's providers."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from sqlalchemy import func, select

from app.database.session import db
from app.state import AppState

from .models import ExternalIdentity

if TYPE_CHECKING:
    # Requires libraries of an extra, and is only imported if there are providers.
    from .client import ProviderClient

clients: "AppState[Mapping[str, ProviderClient]]" = AppState(
    "clients of providers", lambda _app: {}
)


def count_users(issuer: str) -> int:
    """Return the number of users who can log in by the provider with this issuer."""
    users = select(func.count(ExternalIdentity.user_id.distinct()))
    return db.session.scalar(users.where(ExternalIdentity.issuer == issuer)) or 0
