"""The service for users: create, find, change and delete them and set their passwords."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import compress
from typing import Any

from flask import current_app
from sqlalchemy import ColumnElement, and_, delete, false, func, select, true, update
from sqlalchemy.exc import IntegrityError

from app import outbox
from app.access.roles import Role, RoleMapping, grant
from app.audit.entries import Action, record, record_all, recording
from app.database.session import affected_rows, after_commit, db, in_transaction, transaction
from app.errors import BLANK, InvalidPassword, ModelNotFound, ValidationError
from app.ids import Id
from app.observability.origin import current_network
from app.signals import account_claimed, email_changed, emit
from app.throttles.throttles import REGISTRATION, count
from app.times import now

from .attempts import check_password, forget_failures
from .credentials import lookup_email, stored_email, username_columns
from .current import user_model, user_properties, with_defaults
from .models import User
from .passwords import hash_password, hashing, validate_password
from .tokens import delete_tokens, lock
from .verification import announce, issue_verifications

# Seconds for which notices are tried, such as that of a new email.
NOTICE_LIFETIME = 86400.0
TAKEN = "already exists"


def create_user(
    email: str,
    password: str,
    username: str | None = None,
    realm: str | None = None,
    roles: Iterable[str] = (),
    email_verified: bool = False,
    **properties: Any,
) -> User:
    """Create a user with these roles, and with values of USER_PROPERTIES by attribute.

    A user whose address is not verified is asked to confirm it, if EMAIL_VERIFICATION is set.
    Raises ValidationError for a weak password, a name that is taken, or a required property
    without a value; values are not checked otherwise.
    """
    names = {"email": email, "username": username, "realm": realm}
    user = {**names, **properties, "password": password, "email_verified": email_verified}
    return create_users([user], roles)[0]


def create_users(items: Sequence[Mapping[str, Any]], roles: Iterable[str] = ()) -> list[User]:
    """Create users in one transaction, from the arguments of `create_user`, each with the roles.

    Raises what `prepare_users` and `insert_users` do.
    """
    return insert_users(prepare_users(items), roles)


def prepare_users(items: Sequence[Mapping[str, Any]]) -> list[User]:
    """Return new users with hashed passwords, from the arguments of `create_user`.

    Raises ValidationError, TooManyRequests for a client that has created too many, TooManyHashes.
    """
    with hashing():
        count(REGISTRATION, current_network(), uses=len(items))
        return [_new_user(**each) for each in items]


def prepare_user_without_password(email: str, realm: str, email_verified: bool) -> User:
    """Return a new user who logs in by an identity provider.

    Raises ValidationError for an invalid email, or a property that is required and has no default,
    and TooManyRequests as `prepare_users` does.
    """
    names = identifying_columns(email, None, realm)
    columns = {**names, **with_defaults({}), "email_verified": email_verified}
    count(REGISTRATION, current_network())
    return user_model()(**columns, password_hash=None)


def insert_users(users: Sequence[User], roles: Iterable[str] = ()) -> list[User]:
    """Store new users, each with the roles; raise ValidationError for a name that is taken."""
    try:
        with transaction():
            for user in users:
                _check_unique(user.realm, vars(user))
                db.session.add(user)
                db.session.flush()
                record(Action.REGISTERED, user.id)
                for role in roles:
                    grant(user.id, role)
            after_commit(partial(announce, issue_verifications(users)))
    except IntegrityError:
        if in_transaction():
            raise
        # A concurrent request created the user first: now the check finds it.
        for user in users:
            _check_unique(user.realm, vars(user))
        raise
    return list(users)


def check_new_user(
    email: str, username: str | None = None, realm: str | None = None, **properties: Any
) -> None:
    """Raise ValidationError for what is invalid, missing or taken, as `create_user` does."""
    names = identifying_columns(email, username, realm)
    _check_unique(names["realm"], {**names, **with_defaults(properties)})


def identifying_columns(email: str, username: str | None, realm: str | None) -> dict[str, Any]:
    """Return the columns that identify a new user; raise ValidationError for an invalid one."""
    if current_app.config["REALM_REQUIRED"] and not realm:
        raise ValidationError({"realm": [BLANK]})
    return {"email": stored_email(email), "realm": realm or "", **username_columns(username)}


def get_user(user_id: Id) -> User:
    """Return a user; raise ModelNotFound."""
    user = db.session.get(user_model(), user_id)
    if user is None:
        raise ModelNotFound("user", user_id)
    return user


def find_user(email: str, realm: str | None = None) -> User | None:
    """Return the user with this email in this realm."""
    model = user_model()
    return db.session.scalar(
        select(model).where(model.email == lookup_email(email), model.realm == (realm or ""))
    )


def find_realms(email: str) -> list[str | None]:
    """Return the realms that have a user with this email; None stands for no realm."""
    realms = select(User.realm).where(User.email == lookup_email(email)).order_by(User.realm)
    return [realm or None for realm in db.session.scalars(realms)]


def find_enabled_user(email: str, realm: str | None = None) -> User | None:
    """Return the user with this email in this realm, unless the user is disabled."""
    user = find_user(email, realm)
    return None if user is None or user.disabled_at else user


def list_users() -> list[User]:
    """Return all users in the order in which they were created."""
    model = user_model()
    return list(db.session.scalars(select(model).order_by(model.created, model.id)))


def list_role_holders() -> list[tuple[str, Id, str, str | None]]:
    """Return who has which role: its name, and the user's id, email and realm."""
    holders = select(Role.name, User.id, User.email, func.nullif(User.realm, ""))
    holders = holders.join_from(Role, RoleMapping).join(User, User.id == RoleMapping.user_id)
    return [tuple(row) for row in db.session.execute(holders.order_by(Role.name, User.id))]


def changes_email(conditions: Iterable[ColumnElement[bool]], email: str) -> bool:
    """Tell whether the email of a user selected by the conditions would change."""
    model = user_model()
    other = select(model.id).where(*conditions, model.email != stored_email(email))
    return db.session.scalar(other.limit(1)) is not None


def update_users(
    conditions: Iterable[ColumnElement[bool]],
    changes: Mapping[str, Any],
    keep: str | None = None,
    reauthenticated: bool = True,
) -> Sequence[User]:
    """Change the users selected by the conditions; return the changed users.

    A new email is unverified, revokes all tokens but the one with digest `keep`, and is announced
    by emailChanged, and by verificationRequest if EMAIL_VERIFICATION is set. Unless the caller is
    `reauthenticated`, only users that already have the email are changed. Raises ValidationError
    for a name that is taken.
    """
    chosen, values, model = list(conditions), dict(changes), user_model()
    if "username" in values:
        values |= username_columns(values["username"])
    if "email" in values:
        values["email"] = stored_email(values["email"])
    try:
        with transaction():
            old_emails = _prepare_email(chosen, values, keep, reauthenticated)
            changed = update(model).where(*chosen).values(values).returning(model)
            refreshed = {"populate_existing": True}
            users = db.session.scalars(changed, execution_options=refreshed).all()
            _follow_email_changes([user for user in users if user.id in old_emails], old_emails)
    except IntegrityError:
        if in_transaction():
            raise
        _raise_taken(db.session.scalars(select(model).where(*chosen)).all(), values)
        raise
    return users


def delete_user(user_id: Id) -> int:
    """Delete a user with all tokens and to-dos; return the number of users deleted."""
    return delete_users([user_model().id == user_id])


def delete_users(conditions: Iterable[ColumnElement[bool]]) -> int:
    """Delete the users selected by the conditions with all tokens and to-dos; return their number.

    Their records in the audit log stay.
    """
    model = user_model()
    with recording():
        user_ids = db.session.scalars(delete(model).where(*conditions).returning(model.id)).all()
        record_all(Action.USER_DELETED, ((user_id, {}) for user_id in user_ids))
    return len(user_ids)


def disable_user(user_id: Id) -> bool:
    """Bar a user from logging in, and delete all tokens; return False if that was done before.

    A concurrent login either fails or leaves a token that is deleted here (`login.open_session`).
    """
    model = user_model()
    enabled = model.id == user_id, model.disabled_at.is_(None)
    with transaction():
        changed = affected_rows(update(model).where(*enabled).values(disabled_at=now()))
        delete_tokens([user_id])
        if changed:
            record(Action.USER_DISABLED, user_id)
    return bool(changed)


def enable_user(user_id: Id) -> bool:
    """Let a disabled user log in again; return False for a user who is not disabled.

    Tokens that were issued before the user was disabled, or meanwhile, stay invalid.
    """
    model = user_model()
    disabled = model.id == user_id, model.disabled_at.is_not(None)
    with transaction():
        changed = affected_rows(update(model).where(*disabled).values(disabled_at=None))
        if changed:
            delete_tokens([user_id])
            record(Action.USER_ENABLED, user_id)
    return bool(changed)


def change_password(
    user_id: Id, old_password: str, new_password: str, keep: str | None = None
) -> None:
    """Change a user's password; revokes all tokens but the one with digest `keep`.

    Raises ValidationError for a weak new password, and what `check_password` does for the old one.
    """
    user = get_user(user_id)
    with hashing():
        check_password(user.id, user.password_hash, old_password)
        validate_password(new_password, user.email, user.username, field="newPassword")
        new_hash = hash_password(new_password)
    with transaction():
        if not replace_hash(user, new_hash):
            raise InvalidPassword()
        delete_tokens([user_id], keep)
        record(Action.PASSWORD_CHANGED, user_id)


def set_password(user: User, new_password: str) -> None:
    """Set a user's password without the old one; revokes all tokens."""
    validate_password(new_password, user.email, user.username)
    new_hash = hash_password(new_password)
    with transaction():
        store_password(user.id, new_hash)
        record(Action.PASSWORD_CHANGED, user.id)
    forget_failures(user)


def store_password(user_id: Id, password_hash: str) -> None:
    """Replace a user's password hash and revoke all tokens."""
    model = user_model()
    with transaction():
        affected_rows(update(model).where(model.id == user_id).values(password_hash=password_hash))
        delete_tokens([user_id])


def record_email_change(
    user_id: Id, old_email: str, email: str, actor_id: Id | None = None
) -> None:
    """Record the new email of a user in the open transaction: for a mail, and who did it."""
    record(Action.EMAIL_CHANGED, user_id, actor_id, oldEmail=old_email, newEmail=email)
    data = {"user_id": user_id, "old_email": old_email}
    outbox.record(email_changed.name, data, NOTICE_LIFETIME)


def claim_account(user: User, label: str, **details: object) -> bool:
    """Give a user whose address was never verified to who has proven to have this address.

    Whoever registered it may be somebody else: the password and all tokens are deleted, and who had
    a password is told by accountClaimed. `label` is the identity provider's, and `details` are
    those of the record in the audit log. Returns False if the user has another address meanwhile,
    or has been verified, disabled or deleted. Call it in a transaction.
    """
    lock(User.id == user.id)
    model, had_password = user_model(), user.password_hash is not None
    same = model.id == user.id, model.email == user.email
    unverified = *same, model.email_verified == false(), model.disabled_at.is_(None)
    new = {"email_verified": True, "password_hash": None}
    claimed = affected_rows(update(model).where(*unverified).values(new))
    if claimed:
        delete_tokens([user.id])
        record(Action.ACCOUNT_CLAIMED, user.id, user.id, **details)
    if claimed and had_password:
        info = {"provider": label, "email": user.email}
        outbox.record(account_claimed.name, {**info, "user_id": user.id}, NOTICE_LIFETIME)
        after_commit(partial(emit, account_claimed, info={**info, "user": user}))
    return bool(claimed)


def mark_verified(user_id: Id) -> int:
    """Mark a user's address as verified; return 0 if it was verified before."""
    model = user_model()
    unverified = model.id == user_id, model.email_verified == false()
    with recording():
        changed = affected_rows(update(model).where(*unverified).values(email_verified=True))
        if changed:
            record(Action.EMAIL_VERIFIED, user_id, user_id)
    return changed


def replace_hash(user: User, new_hash: str) -> int:
    """Replace a user's hash if it is unchanged since the user was read; else return 0."""
    seen = User.password_hash == user.password_hash
    return affected_rows(
        update(User)
        .where(User.id == user.id, seen)
        .values(password_hash=new_hash)
        .execution_options(synchronize_session=False)
    )


def _new_user(
    email: str,
    password: str,
    username: str | None = None,
    realm: str | None = None,
    email_verified: bool = False,
    **properties: Any,
) -> User:
    names = identifying_columns(email, username, realm)
    columns = {**names, **with_defaults(properties), "email_verified": email_verified}
    validate_password(password, names["email"], username)
    return user_model()(**columns, password_hash=hash_password(password))


def _prepare_email(
    chosen: list[ColumnElement[bool]],
    values: dict[str, Any],
    keep: str | None,
    reauthenticated: bool,
) -> dict[Id, str]:
    """Complete the conditions and values of a change that has a new email, and revoke tokens.

    Returns the old emails of the users, which are locked, that have another one.
    """
    if "email" not in values:
        return {}
    model = user_model()
    is_same = model.email == values["email"]
    values["email_verified"] = and_(is_same, model.email_verified)
    if not reauthenticated:
        # Part of the statement: a concurrent request may have changed the email.
        chosen.append(is_same)
    return _revoke_tokens_of_other_email(chosen, values["email"], keep)


def _revoke_tokens_of_other_email(
    chosen: Iterable[ColumnElement[bool]], email: str, keep: str | None
) -> dict[Id, str]:
    """Lock the users that have another email and revoke their tokens; return their old emails."""
    model = user_model()
    others = [*chosen, model.email != email]
    lock(*others, model=model)
    rows = db.session.execute(select(model.id, model.email).where(*others))
    old_emails = {row.id: row.email for row in rows}
    delete_tokens(list(old_emails), keep)
    return old_emails


def _follow_email_changes(users: Sequence[User], old_emails: Mapping[Id, str]) -> None:
    """Record the new email of these users in the open transaction, and emit its events after it."""
    for user in users:
        record_email_change(user.id, old_emails[user.id], user.email)
        info = {"oldEmail": old_emails[user.id], "user": user}
        after_commit(partial(emit, email_changed, info=info))
    after_commit(partial(announce, issue_verifications(users)))


def _check_unique(realm: str, values: Mapping[str, Any], except_id: Id | None = None) -> None:
    """Raise ValidationError for values by attribute that must be unique and another user has."""
    if not (same := _same(realm, values)):
        return
    model = user_model()
    is_other = true() if except_id is None else model.id != except_id
    other = select(model.id).where(is_other)
    found = select(*(other.where(condition).exists() for condition in same.values()))
    taken = compress(same, db.session.execute(found).one())
    if messages := {name: [TAKEN] for name in taken}:
        raise ValidationError(messages)


def _raise_taken(users: Sequence[User], values: Mapping[str, Any]) -> None:
    """Raise ValidationError for what these users cannot be given because it must be unique."""
    for user in users:
        _check_unique(user.realm, values, user.id)
    if len(users) > 1 and (same := _same(users[0].realm, values)):
        raise ValidationError({name: [TAKEN] for name in same})


def _same(realm: str, values: Mapping[str, Any]) -> dict[str, ColumnElement[bool]]:
    """Return the condition that a user has the same value, for each that must be unique."""
    model, in_realm = user_model(), user_model().realm == realm
    same = {}
    if (email := values.get("email")) is not None:
        same["email"] = and_(in_realm, model.email == email)
    if (username_key := values.get("username_key")) is not None:
        same["username"] = and_(in_realm, model.username_key == username_key)
    for each in user_properties():
        if each.unique and values.get(each.column_name) is not None:
            same[each.name] = getattr(model, each.column_name) == values[each.column_name]
    return same
