"""What can be done with users and their tokens, with plain arguments and no request."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, cast

from email_validator import EmailNotValidError
from flask import Flask, current_app
from sqlalchemy import ColumnElement, CursorResult, and_, delete, func, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.sql.dml import Delete, Update

from app import errors
from app.extensions import db, now
from app.signals import email_changed, emit, reset_password_request

from . import credentials as meaning
from .models import HANDLE, RESET_SCOPE, AccessToken, User, new_token, token_digest
from .names import normal_email
from .passwords import check_password, hash_password, needs_rehash, verify_login, verify_password
from .schemes import stored_schemes

# Rows that one statement of a purge removes, so that it never locks for long.
PURGE_BATCH = 1000
# Seconds for which a login counts as the password just given.
RECENT_SESSION = 300


@dataclass(frozen=True)
class IssuedToken:
    """A fresh access token; the only place where its value, `id`, exists."""

    id: str = field(repr=False)
    ttl: float
    created: datetime
    user_id: int
    user: User | None = None


def create_user(
    email: str, password: str, username: str | None = None, realm: str | None = None
) -> User:
    """Store a new user; raise ValidationError for a bad password or a name that is taken."""
    user = {"email": email, "password": password, "username": username, "realm": realm}
    return create_users([user])[0]


def create_users(items: Sequence[Mapping[str, Any]]) -> list[User]:
    """Store new users, all or none, described as for `create_user`."""
    users = [_new_user(**each) for each in items]
    try:
        for user in users:
            _refuse_taken(user.realm, user.email, user.username_key)
            db.session.add(user)
        db.session.commit()
    except IntegrityError:
        # Somebody was faster; the look above says who has the name now.
        db.session.rollback()
        for user in users:
            _refuse_taken(user.realm, user.email, user.username_key)
        raise
    return users


def get_user(user_id: int) -> User:
    """Return a user; raise ModelNotFound."""
    user = db.session.get(User, user_id)
    if user is None:
        raise errors.ModelNotFound("user", user_id)
    return user


def find_user(email: str, realm: str | None = None) -> User | None:
    """Return the user with this email in this realm."""
    return db.session.scalar(
        select(User).where(User.email == meaning.lookup_email(email), User.realm == (realm or ""))
    )


def list_users() -> list[User]:
    """Return all users in the order in which they came."""
    return list(db.session.scalars(select(User).order_by(User.id)))


def changes_email(conditions: Iterable[ColumnElement[bool]], email: str) -> bool:
    """Tell whether a user that fulfils the conditions has another email."""
    other = select(User.id).where(*conditions, User.email != meaning.stored_email(email))
    found = db.session.scalar(other.limit(1)) is not None
    db.session.commit()
    return found


def confirm_caller(digest: str, password: str | None) -> None:
    """Make sure that the session with this digest is its user's: by its age or the password.

    A stolen token must not be enough to take an account over. Raises ValidationError for a
    missing password, InvalidPassword for a wrong one.
    """
    session = select(AccessToken.created, User.password_hash).join(User)
    row = db.session.execute(session.where(AccessToken.digest == digest)).first()
    db.session.commit()
    if row is not None and row.created > now() - timedelta(seconds=RECENT_SESSION):
        return
    if password is None:
        raise errors.ValidationError({"password": ["is needed for a new email"]})
    if row is None or not verify_password(row.password_hash, password):
        raise errors.InvalidPassword()


def update_users(
    conditions: Iterable[ColumnElement[bool]],
    changes: Mapping[str, Any],
    keep: str | None = None,
    confirmed: bool = True,
) -> Sequence[User]:
    """Change the users that fulfil the conditions; return them as they now are.

    A new email is not verified, ends all tokens but the one with digest `keep`, and is told to
    the old one. Unless the caller is `confirmed`, only users that have the email already are
    changed. Raises ValidationError for a name that is taken.
    """
    chosen, values = list(conditions), dict(changes)
    moved: dict[int, str] = {}
    if "email" in values:
        email = values["email"] = meaning.stored_email(values["email"])
        values["email_verified"] = and_(User.email == email, User.email_verified)
        if not confirmed:
            # Part of the statement, since the email may have been changed a moment ago.
            chosen.append(User.email == email)
        _lock(*chosen, User.email != email)
        moved = _old_emails(chosen, email)
        _delete_tokens(list(moved), keep)
    if "username" in values:
        values |= meaning.stored_username(values["username"])
    changed = update(User).where(*chosen).values(values).returning(User)
    try:
        users = db.session.scalars(changed, execution_options={"populate_existing": True}).all()
        db.session.commit()
    except IntegrityError:
        db.session.rollback()
        for user in db.session.scalars(select(User).where(*chosen)).all():
            _refuse_taken(user.realm, values.get("email"), values.get("username_key"), user.id)
        raise
    for user in users:
        if user.id in moved:
            emit(email_changed, _app(), info={"oldEmail": moved[user.id], "user": user})
    return users


def delete_user(user_id: int) -> int:
    """Delete a user with all tokens and to-dos; return how many users that were."""
    count = _run(delete(User).where(User.id == user_id))
    db.session.commit()
    return count


def login(
    credentials: Mapping[str, Any], include: str | Iterable[str] | None = None
) -> IssuedToken:
    """Check credentials and issue an access token, with `user` when `include` names it.

    Raises LoginFailed for whatever does not match, and an error of its own for each kind of
    credentials that cannot be meant.
    """
    realm, name, value = meaning.identity(credentials)
    ttl = meaning.ttl(credentials.get("ttl"))
    user = db.session.scalar(
        select(User).where(getattr(User, name) == value, User.realm == realm),
        execution_options={"populate_existing": True},
    )
    schemes = stored_schemes()
    # Nothing is held in the database while the hash is computed.
    db.session.commit()
    password = credentials.get("password")
    if not verify_login(user.password_hash if user else None, password, schemes) or user is None:
        raise errors.LoginFailed()
    token = _open_session(user, ttl)
    if needs_rehash(user.password_hash):
        _rehash(user, str(password))
    names = [include] if isinstance(include, str) else include or []
    wanted = {str(each).lower() for each in names}
    return replace(token, user=user) if "user" in wanted else token


def logout(token: str) -> None:
    """End this access token; raise AccessTokenRequired when it opens nothing anyway."""
    end_session(token_digest(token))


def end_session(digest: str) -> None:
    """End the access token with this digest; raise AccessTokenRequired when there is none."""
    live = AccessToken.scope.is_(None), AccessToken.expires_at > now()
    count = _run(delete(AccessToken).where(AccessToken.digest == digest, *live))
    db.session.commit()
    if not count:
        raise errors.AccessTokenRequired()


def list_sessions(user_id: int) -> list[AccessToken]:
    """Return the user's live login tokens, the newest first."""
    return list(
        db.session.scalars(
            select(AccessToken)
            .where(
                AccessToken.user_id == user_id,
                AccessToken.scope.is_(None),
                AccessToken.expires_at > now(),
            )
            .order_by(AccessToken.created.desc(), AccessToken.handle)
        )
    )


def revoke_session(user_id: int, handle: str) -> None:
    """End one of the user's tokens by its handle; raise ModelNotFound."""
    named = AccessToken.user_id == user_id, AccessToken.handle == handle
    count = HANDLE.fullmatch(handle) and _run(delete(AccessToken).where(*named))
    db.session.commit()
    if not count:
        raise errors.ModelNotFound("accessToken", handle)


def destroy_all_tokens(user_id: int) -> int:
    """End every token of a user; return how many those were."""
    count = _delete_tokens([user_id])
    db.session.commit()
    return count


def purge_tokens() -> int:
    """Delete the expired tokens, in batches; return how many those were."""
    expired = select(AccessToken.digest).where(AccessToken.expires_at <= now()).limit(PURGE_BATCH)
    total = 0
    while count := _run(delete(AccessToken).where(AccessToken.digest.in_(expired))):
        db.session.commit()
        total += count
    return total


def request_password_reset(email: object, realm: object = None) -> None:
    """Issue a reset token and emit resetPasswordRequest, if the email is a user's.

    Says nothing either way. Raises EmailRequired, InvalidEmail or InvalidRealm for what is none.
    """
    if not isinstance(email, str) or not email:
        raise errors.EmailRequired()
    if realm is not None and not isinstance(realm, str):
        raise errors.InvalidRealm()
    try:
        normal_email(email, case_sensitive=True)
    except EmailNotValidError:
        raise errors.InvalidEmail() from None
    user = find_user(email, realm)
    token = _issue_reset(user)
    if user is not None and token is not None:
        info = {"accessToken": token, "email": user.email, "user": user}
        emit(reset_password_request, _app(), info=info)


def check_reset_token(digest: str) -> User:
    """Return the user whose password this reset token may set; raise InvalidToken."""
    user = db.session.scalar(
        select(User).join(AccessToken).where(AccessToken.digest == digest, *_live_reset())
    )
    if user is None:
        raise errors.InvalidToken()
    return user


def reset_password(digest: str, new_password: str) -> None:
    """Set a new password with a reset token, which that uses up; all the user's tokens end.

    Raises ValidationError, which leaves the token usable, or InvalidToken.
    """
    user = check_reset_token(digest)
    db.session.commit()
    check_password(new_password, user.email, user.username, field="newPassword")
    new_hash = hash_password(new_password)
    _lock(User.id == user.id)
    # The one statement that decides who of several callers at once may go on.
    if not _run(delete(AccessToken).where(AccessToken.digest == digest, *_live_reset())):
        raise errors.InvalidToken()
    _run(update(User).where(User.id == user.id).values(password_hash=new_hash))
    _delete_tokens([user.id])
    db.session.commit()


def change_password(
    user_id: int, old_password: str, new_password: str, keep: str | None = None
) -> None:
    """Replace a password by its owner; all tokens end but the one with digest `keep`.

    Raises InvalidPassword for a wrong old one, ValidationError for a bad new one.
    """
    user = get_user(user_id)
    db.session.commit()
    if not verify_password(user.password_hash, old_password):
        raise errors.InvalidPassword()
    check_password(new_password, user.email, user.username, field="newPassword")
    new_hash = hash_password(new_password)
    if not _replace_hash(user, new_hash):
        raise errors.InvalidPassword()
    _delete_tokens([user_id], keep)
    db.session.commit()


def set_password(user: User, new_password: str) -> None:
    """Give a user a password by the operator's hand; all tokens end."""
    check_password(new_password, user.email, user.username)
    _run(update(User).where(User.id == user.id).values(password_hash=hash_password(new_password)))
    _delete_tokens([user.id])
    db.session.commit()


def _new_user(
    email: str, password: str, username: str | None = None, realm: str | None = None
) -> User:
    if current_app.config["REALM_REQUIRED"] and not realm:
        raise errors.ValidationError({"realm": ["can't be blank"]})
    email, realm = meaning.stored_email(email), realm or ""
    names = meaning.stored_username(username)
    check_password(password, email, username)
    return User(email=email, realm=realm, password_hash=hash_password(password), **names)


def _issue(user_id: int, ttl: float, scope: str | None) -> IssuedToken:
    value = new_token()
    row = AccessToken.issue(value, user_id, ttl, scope)
    db.session.add(row)
    return IssuedToken(value, row.ttl, row.created, user_id)


def _issue_reset(user: User | None) -> IssuedToken | None:
    """Store a reset token; for nobody, store one of no use and take it back, which costs the same.

    Else the time of the answer tells which addresses are known.
    """
    value, ttl = new_token(), current_app.config["RESET_TOKEN_TTL"]
    anybody = select(func.min(User.id)).scalar_subquery()
    row = AccessToken.issue(value, user.id if user else anybody, ttl, RESET_SCOPE)
    db.session.add(row)
    try:
        db.session.flush()
    except IntegrityError:
        # The user was deleted meanwhile, or there are no users at all.
        db.session.rollback()
        return None
    _run(delete(AccessToken).where(AccessToken.digest == ("" if user else row.digest)))
    db.session.commit()
    return IssuedToken(value, ttl, row.created, user.id) if user else None


def _open_session(user: User, ttl: float) -> IssuedToken:
    """Store a token for a user whose password was just verified, if it is still that password.

    Insert first, look second: a reset that runs at the same time either sees this token and
    deletes it, or is seen here.
    """
    token = _issue(user.id, ttl, scope=None)
    try:
        db.session.flush()
    except IntegrityError:
        raise errors.LoginFailed() from None
    unchanged = select(User.id).where(User.id == user.id, User.password_hash == user.password_hash)
    if db.session.scalar(unchanged.with_for_update(read=True)) is None:
        raise errors.LoginFailed()
    db.session.commit()
    return token


def _rehash(user: User, password: str) -> None:
    """Store today's hash of a password that an older one verified."""
    _replace_hash(user, hash_password(password))
    db.session.commit()


def _replace_hash(user: User, new_hash: str) -> int:
    """Replace the hash that was read with the user, unless somebody else did so meanwhile."""
    seen = User.password_hash == user.password_hash
    return _run(
        update(User)
        .where(User.id == user.id, seen)
        .values(password_hash=new_hash)
        .execution_options(synchronize_session=False)
    )


def _old_emails(chosen: Iterable[ColumnElement[bool]], email: str) -> dict[int, str]:
    """Return the ids and emails of the chosen users that have another email."""
    others = select(User.id, User.email).where(*chosen, User.email != email)
    return {row.id: row.email for row in db.session.execute(others)}


def _app() -> Flask:
    return cast("Flask", current_app._get_current_object())  # type: ignore[attr-defined]


def _live_reset() -> tuple[Any, ...]:
    return AccessToken.scope == RESET_SCOPE, AccessToken.expires_at > now()


def _lock(*conditions: ColumnElement[bool]) -> Sequence[int]:
    """Lock users until the commit, and return their ids.

    Whoever ends tokens of a user locks the user first, so that two of them cannot wait for each
    other. SQLite, which lets one write at a time, needs and knows no such lock.
    """
    chosen = select(User.id).where(*conditions).order_by(User.id)
    return db.session.scalars(chosen.with_for_update(key_share=True)).all()


def _delete_tokens(user_ids: Sequence[int], keep: str | None = None) -> int:
    others = AccessToken.digest != (keep or "")
    return _run(delete(AccessToken).where(AccessToken.user_id.in_(user_ids), others))


def _refuse_taken(
    realm: str, email: str | None, username_key: str | None, but: int | None = None
) -> None:
    """Raise ValidationError naming what another user of the realm already has."""
    others = select(User.email, User.username_key).where(
        User.realm == realm,
        (User.email == email) | (User.username_key == username_key),
        User.id != (but or 0),
    )
    rows = db.session.execute(others).all()
    found = {
        "email": any(row.email == email for row in rows),
        "username": username_key is not None
        and any(row.username_key == username_key for row in rows),
    }
    if taken := {name: ["already exists"] for name, is_taken in found.items() if is_taken}:
        raise errors.ValidationError(taken)


def _run(statement: Delete | Update) -> int:
    """Execute a statement and return how many rows it touched."""
    return cast("CursorResult[Any]", db.session.execute(statement)).rowcount
