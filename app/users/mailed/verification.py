"""Verification of the address of a user: asking by mail to confirm it."""

from collections.abc import Iterable, Mapping
from typing import Any

from flask import current_app
from sqlalchemy import false, select

from app.database.session import db
from app.ids import Id
from app.observability.origin import current_network
from app.settings import is_compatible
from app.signals import emit, verification_request
from app.throttles.throttles import VERIFICATION_ADDRESS, VERIFICATION_USER, allows, count
from app.users.app_model import user_model
from app.users.models import VERIFY_SCOPE, User

from .tokens import issue_for_mail


def is_enabled(settings: Mapping[str, Any]) -> bool:
    """Tell whether users are asked to confirm their address."""
    return settings["EMAIL_VERIFICATION"] is not None


def is_served(settings: Mapping[str, Any]) -> bool:
    """Tell whether there are the endpoints for it, which LoopBack 3 always has."""
    return is_enabled(settings) or is_compatible(settings)


def request_verification(user_id: Id | None) -> None:
    """Ask a user to confirm the address, by verificationRequest.

    Does nothing, in the same time, if there is no such user, the address is verified or the user
    is disabled; None is the id of no user. Does nothing at all without EMAIL_VERIFICATION, or if
    too many were requested for the id: anybody may do so. Raises TooManyRequests for a client with
    too many requests.
    """
    count(VERIFICATION_ADDRESS, current_network())
    if not is_enabled(current_app.config) or not allows(VERIFICATION_USER, user_id or 0):
        return
    model = user_model()
    unverified = model.email_verified == false(), model.disabled_at.is_(None)
    user = db.session.scalar(
        select(model).where(model.id == user_id, *unverified),
        execution_options={"populate_existing": True},
    )
    announce(_issue(user))


def count_change(user_id: Id | None) -> None:
    """Count a change of a user's address, which is to be confirmed; raise TooManyRequests.

    Not by the key of `request_verification`, by which anybody could use up what is left.
    """
    count(VERIFICATION_ADDRESS, current_network())
    count(VERIFICATION_USER, "change", user_id)


def issue_verifications(users: Iterable[User]) -> list[dict[str, Any]]:
    """Issue tokens for users with a new address; return the payloads for `announce`.

    Call it in the transaction that stores the address. Without EMAIL_VERIFICATION, and for an
    address that is verified, there is nothing to announce.
    """
    if not is_enabled(current_app.config):
        return []
    return [info for user in users if not user.email_verified for info in _issue(user)]


def announce(requests: Iterable[dict[str, Any]]) -> None:
    """Emit verificationRequest for each payload; call it after the commit."""
    for info in requests:
        emit(verification_request, info=info)


def _issue(user: User | None) -> list[dict[str, Any]]:
    """Issue a token for a user; return the payload, none without a user."""
    email, ttl = user.email if user else "", current_app.config["VERIFY_TOKEN_TTL"]
    token = issue_for_mail(verification_request.name, user, email, ttl, VERIFY_SCOPE)
    if user is None or token is None:
        return []
    return [{"accessToken": token, "email": email, "user": user}]
