"""Verification of addresses: mailed requests to users to confirm them."""

from collections.abc import Iterable

from flask import current_app
from sqlalchemy import false, select

from app.database.session import db
from app.ids import Id
from app.observability.origin import current_network
from app.settings import Settings, is_compatible
from app.signals import verification_request
from app.throttles.throttles import VERIFICATION_ADDRESS, VERIFICATION_USER, allows, count
from app.users.models import VERIFY_SCOPE, User, user_model

from .tokens import mail_token


def is_enabled(settings: Settings) -> bool:
    """Return True if users are asked to confirm their address."""
    return settings["EMAIL_VERIFICATION"] is not None


def is_served(settings: Settings) -> bool:
    """Return True if the endpoints for it are served, as always in LoopBack 3."""
    return is_enabled(settings) or is_compatible(settings)


def request_verification(user_id: Id | None) -> None:
    """Ask a user to confirm the address, by verificationRequest.

    Does nothing, in the same time, if the user does not exist, has a verified address or is
    disabled; None is the id of no user. Does nothing at all without EMAIL_VERIFICATION, or after
    too many requests for the id, which anybody may make. Raises TooManyRequests for a client with
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
    mail_token(verification_request, VERIFY_SCOPE, user, user.email if user else "")


def count_change(user_id: Id | None) -> None:
    """Count a change of a user's address that must be confirmed; raise TooManyRequests.

    The key differs from that of `request_verification`, whose budget anybody can use up.
    """
    count(VERIFICATION_ADDRESS, current_network())
    count(VERIFICATION_USER, "change", user_id)


def verify_new_addresses(users: Iterable[User]) -> None:
    """Ask users with a new address to confirm it, by verificationRequest.

    Call it in the transaction that stores the address. Does nothing without EMAIL_VERIFICATION, or
    for an address that is verified.
    """
    if is_enabled(current_app.config):
        for user in users:
            if not user.email_verified:
                mail_token(verification_request, VERIFY_SCOPE, user, user.email)
