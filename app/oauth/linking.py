"""Users' identities at providers, and linking them."""

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from flask import current_app
from sqlalchemy import ColumnElement, func, select, true, update
from sqlalchemy.exc import IntegrityError

from app import errors
from app.audit.entries import Action, record, record_all
from app.database.session import db, transaction
from app.ids import Id
from app.signals import emit_after_commit, identity_linked, identity_unlinked
from app.times import now
from app.users.accounts.credentials import announce_verified, claim_account
from app.users.accounts.lookup import find_user, get_user
from app.users.accounts.registration import insert_users, prepare_user_without_password
from app.users.models import TICKET_SCOPE, AccessToken, User
from app.users.sessions import login_methods
from app.users.sessions.login_methods import LoginMethod
from app.users.sessions.tokens import delete_scoped, lock

from . import clients
from .errors import LoginError
from .models import ExternalIdentity
from .profiles import Profile

if TYPE_CHECKING:
    # Only imported if there are providers: they require the connector, and libraries of an extra.
    from .configuration import Provider

#: Maximum number of a user's identities.
MAX_IDENTITIES = 50
# Retries of a login after a conflict with a concurrent one of the same identity or email.
ATTEMPTS = 3


def find_or_join(provider: "Provider", profile: Profile) -> ExternalIdentity:
    """Return the identity of a profile; a new one is added to a new or existing user.

    Raises LoginError if the identity must not be added to the user with this email, or no user may
    be registered, and TooManyRequests as `prepare_user_without_password` does.
    """
    for _ in range(ATTEMPTS):
        if (identity := _find_and_touch(provider.provider, profile)) is not None:
            return identity
        try:
            return _join(provider, profile)
        except IntegrityError:
            # A concurrent request came first: now the identity or the user exists.
            continue
        except LoginError:
            # A concurrent login of the same identity may have registered the user.
            if (identity := _find_and_touch(provider.provider, profile)) is None:
                raise
            return identity
    raise LoginError("too many logins of the user at once")


def link(provider: str, profile: Profile, user_id: Id, session: str) -> ExternalIdentity:
    """Add an identity to the user of the session with this digest.

    Raises LoginError if another user has it, or if the session has ended meanwhile.
    """
    identity = _find_and_touch(provider, profile)
    if identity is None:
        try:
            with transaction():
                lock(User.id == user_id)
                _require_session(user_id, session)
                identity = _add(provider, profile, user_id)
        except IntegrityError:
            identity = _find_and_touch(provider, profile)
    if identity is None or identity.user_id != user_id:
        raise LoginError("another user has the identity", errors.AccountExists, user_id)
    return identity


def list_identities(user_id: Id) -> Sequence[ExternalIdentity]:
    """Return a user's identities in the order in which they were added."""
    own = (
        select(ExternalIdentity)
        .where(ExternalIdentity.user_id == user_id)
        .order_by(ExternalIdentity.id)
    )
    return db.session.scalars(own.limit(MAX_IDENTITIES)).all()


def unlink(user_id: Id, identity_id: Id | None, name: object) -> None:
    """Remove an identity from a user; `name` is its requested id.

    Raises ModelNotFound, or LastCredential for the last way to log in.
    """
    own = ExternalIdentity.user_id == user_id, ExternalIdentity.id == identity_id
    with transaction():
        lock(User.id == user_id)
        user = get_user(user_id)
        identity = db.session.scalar(select(ExternalIdentity).where(*own))
        if identity is None:
            raise errors.ModelNotFound("identity", name)
        if not login_methods.has_other(user, _key(identity)):
            raise errors.LastCredential()
        _remove(user, [identity])
        # A concurrent login by it must not succeed.
        delete_scoped(user_id, TICKET_SCOPE)


def count_users(issuer: str) -> int:
    """Return the number of users who can log in by the provider with this issuer."""
    users = select(func.count(ExternalIdentity.user_id.distinct()))
    return db.session.scalar(users.where(ExternalIdentity.issuer == issuer)) or 0


def logs_in(user_id: Id, without: str) -> bool:
    """Return True if a user has another identity whose provider can still be used to log in."""
    providers = [client.provider for client in clients.current.values()]
    configured = {provider.provider for provider in providers if provider.login}
    return any(
        identity.provider in configured and _key(identity) != without
        for identity in list_identities(user_id)
    )


def find_unproven(user: User, email: str) -> list[LoginMethod]:
    """Return the identities that were added before the owner of this address proved it."""
    chosen = (
        select(ExternalIdentity).where(*_is_unproven(user, email)).order_by(ExternalIdentity.id)
    )
    return [
        LoginMethod(_key(identity), identity.provider, _name(identity), identity.created)
        for identity in db.session.scalars(chosen)
    ]


def remove_unproven(user: User, email: str, kept: Collection[str]) -> int:
    """Remove the identities added before this address was proved, except the kept ones.

    The kept ones become the owner's. Call it in the transaction of the proof; returns the number of
    removed identities.
    """
    unproven = db.session.scalars(select(ExternalIdentity).where(*_is_unproven(user, email))).all()
    for identity in unproven:
        if _key(identity) in kept:
            identity.proven_email = email
    removed = [identity for identity in unproven if _key(identity) not in kept]
    _remove(user, removed, user.id)
    return len(removed)


def _is_unproven(user: User, email: str) -> tuple[ColumnElement[bool], ...]:
    return ExternalIdentity.user_id == user.id, ExternalIdentity.proven_email.is_distinct_from(
        email
    )


def _key(identity: ExternalIdentity) -> str:
    return f"identity-{identity.id}"


def _name(identity: ExternalIdentity) -> str | None:
    """Return the user's name at the provider."""
    named = (identity.profile.get(claim) for claim in ("email", "login", "name"))
    return next(filter(None, named), None)


def _remove(user: User, identities: Sequence[ExternalIdentity], actor_id: Id | None = None) -> None:
    """Remove identities of a user in the open transaction, with a record and an event of each."""
    for identity in identities:
        db.session.delete(identity)
        info = {"identity": identity, "user": user}
        emit_after_commit(identity_unlinked, info=info)
    db.session.flush()
    named = [{"provider": removed.provider, "identity": removed.id} for removed in identities]
    record_all(Action.IDENTITY_UNLINKED, [(user.id, details) for details in named], actor_id)


def _find_and_touch(provider: str, profile: Profile) -> ExternalIdentity | None:
    """Return the identity of a profile, and update its claims."""
    known = ExternalIdentity.issuer == profile.issuer, ExternalIdentity.subject == profile.subject
    new = {"profile": dict(profile.claims), "provider": provider, "last_used": now()}
    changed = update(ExternalIdentity).where(*known).values(new).returning(ExternalIdentity)
    return db.session.scalar(changed, execution_options={"populate_existing": True})


def _join(provider: "Provider", profile: Profile) -> ExternalIdentity:
    """Add a new identity to the user with its email, or to a new user."""
    if profile.email is None:
        raise LoginError("the profile has no valid email address")
    user = find_user(profile.email, provider.realm)
    if user is None:
        return _register(provider, profile)
    _check_proven(user, profile, provider.trust_email)
    with transaction():
        lock(User.id == user.id)
        if not user.email_verified:
            _claim(provider, user)
        elif _proven_email(user.id) != user.email:
            raise LoginError("the user was changed meanwhile", user_id=user.id)
        return _add(provider.provider, profile, user.id)


def _check_proven(user: User, profile: Profile, trust_email: bool) -> None:
    """Raise LoginError if the identity must not be added to the user with this email."""
    if user.disabled_at is not None:
        raise LoginError("the user is disabled", user_id=user.id)
    if not profile.email_verified:
        reason = "a user has the email, and the provider does not call it verified"
        raise LoginError(reason, errors.AccountExists, user.id)
    if user.email_verified and not trust_email:
        reason = "a user has verified the email, and trustEmail is not set"
        raise LoginError(reason, errors.AccountExists, user.id)


def _register(provider: "Provider", profile: Profile) -> ExternalIdentity:
    if not current_app.config["REGISTRATION_OPEN"]:
        raise LoginError("no user has the email, and REGISTRATION_OPEN is false")
    try:
        user = prepare_user_without_password(
            profile.email or "", provider.realm, profile.email_verified
        )
    except errors.ValidationError as error:
        raise LoginError(f"the user cannot be registered: {error.sentences}") from None
    with transaction():
        try:
            insert_users([user])
        except errors.ValidationError:
            raise LoginError("another request registered the email", errors.AccountExists) from None
        return _add(provider.provider, profile, user.id)


def _claim(provider: "Provider", user: User) -> None:
    """Take an account whose address was never verified away from whoever registered it."""
    if not claim_account(user, provider.label, provider=provider.provider):
        raise LoginError("the user was changed meanwhile", user_id=user.id)
    all_identities = select(ExternalIdentity).where(ExternalIdentity.user_id == user.id)
    _remove(user, db.session.scalars(all_identities).all(), user.id)
    announce_verified(user)


def _require_session(user_id: Id, digest: str) -> None:
    own = AccessToken.digest == digest, AccessToken.user_id == user_id, AccessToken.is_live()
    if db.session.scalar(select(AccessToken.digest).where(*own)) is None:
        raise LoginError("the session has ended meanwhile", errors.InvalidToken, user_id)


def _add(provider: str, profile: Profile, user_id: Id) -> ExternalIdentity:
    """Add a new identity in the open transaction; raise IntegrityError if it exists.

    Raises LoginError for a user with too many identities.
    """
    if _count(user_id) >= MAX_IDENTITIES:
        raise LoginError(f"the user has {MAX_IDENTITIES} identities already", user_id=user_id)
    identity = ExternalIdentity(
        user_id=user_id,
        provider=provider,
        issuer=profile.issuer,
        subject=profile.subject,
        profile=dict(profile.claims),
        proven_email=_proven_email(user_id),
    )
    db.session.add(identity)
    db.session.flush()
    record(Action.IDENTITY_LINKED, user_id, user_id, provider=provider, identity=identity.id)
    info = {"identity": identity, "user": get_user(user_id)}
    emit_after_commit(identity_linked, info=info)
    return identity


def _proven_email(user_id: Id) -> str | None:
    """Return a user's current address, if it is verified and the user is not disabled."""
    enabled = User.id == user_id, User.disabled_at.is_(None)
    return db.session.scalar(select(User.email).where(*enabled, User.email_verified == true()))


def _count(user_id: Id) -> int:
    own = (
        select(func.count())
        .select_from(ExternalIdentity)
        .where(ExternalIdentity.user_id == user_id)
    )
    return db.session.scalar(own) or 0
