"""Login with a password or by another method, and the second step that may follow."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

from sqlalchemy import ColumnElement, false, select
from sqlalchemy.exc import IntegrityError

from app import errors
from app.access.identity import LiveToken
from app.audit.entries import UNVERIFIED_EMAIL, Action, record, record_attempt
from app.database.session import db, transaction
from app.ids import Id
from app.observability.origin import current_origin
from app.settings import Settings
from app.state import AppState
from app.throttles import key_digest
from app.users.models import User, user_model
from app.users.names import lookup_email, username_key
from app.users.passwords.hashing import (
    hash_password,
    login_attempt,
    needs_rehash,
    normal_form,
    replace_hash,
    verify_login,
)
from app.users.user_models import FIRST, key_prefix, settings_of

from .tokens import ABSENT, IssuedToken, issue, parse_ttl

# The conditions on every user for whom a session is opened, by any method.
MAY_LOG_IN = User.disabled_at.is_(None), User.service_account == false()
# The method of a login with a password (RFC 8176).
PASSWORD = ("pwd",)
# The message for a kind of second factors that a login does not take.
UNKNOWN_KIND = {"kind": ["is not one of this login"]}


@dataclass(frozen=True)
class FirstStep:
    """A login after its first step: the user, and the requested session.

    `methods` are those of the first step, `details` are for the audit log, and `includes_user` is
    True if the response contains the user.
    """

    user_id: Id
    ttl: float
    remember_me: bool
    methods: tuple[str, ...]
    includes_user: bool = False
    details: Mapping[str, object] = field(default_factory=dict)


class SecondStep(Protocol):
    """Decides whether a login takes a second step, and handles it."""

    def is_due(self, user_id: Id, methods: Collection[str]) -> bool:
        """Return True if a user identified by these methods takes a second step."""
        ...

    def take(
        self, first: FirstStep, proof: Mapping[str, object], *conditions: ColumnElement[bool]
    ) -> IssuedToken:
        """Finish a login with a second factor sent with the first step.

        Raises SecondFactorRequired without one, SecondFactorFailed for a wrong one, and LoginFailed
        if the user does not meet the conditions.
        """
        ...

    def reauthenticate(self, session: LiveToken, proof: Mapping[str, object]) -> None:
        """Record that the user of a session has just proved a second factor.

        Raises SecondFactorFailed for a wrong one, TooManyRequests after too many of them, and
        ValidationError for an unknown kind.
        """
        ...


second_step = AppState[SecondStep | None]("second step", factory=lambda _app: None)


def login(
    credentials: Mapping[str, object],
    include: str | Iterable[object] | None = None,
    principal_type: str = FIRST,
) -> IssuedToken:
    """Check credentials and issue an access token, with `user` if `include` names it.

    The credentials are those of the endpoint: `email` or `username`, `password`, and optionally
    `realm`, `ttl` in seconds, `rememberMe`, and `code` and `kind` of a second factor. They are
    those of a user of the model `principal_type`, by default the first one. Raises LoginFailed if
    they do not match, EmailNotVerified if EMAIL_VERIFICATION is "required" and the address is not
    verified, the errors of `SecondStep.take`, UsernameOrEmailRequired, RealmRequired, InvalidEmail,
    InvalidUsername, InvalidRealm or InvalidTtl for malformed ones, TooManyRequests and
    TooManyHashes.

    Example::

        token = login({"email": "ada@example.com", "password": "a quiet harbour"})
        token.id, token.ttl
    """
    remember_me = parse_remember_me(credentials.get("rememberMe"))
    includes_user = _names_user(include)
    settings = settings_of(principal_type)
    realm, name, value = parse_credentials(credentials, settings)
    ttl = parse_ttl(credentials.get("ttl"), settings)
    identity = {"identity": key_digest(*key_prefix(principal_type), realm, name, value)}
    with login_attempt(principal_type, realm, name, value):
        found = _find(principal_type, realm, name, value)
        # Read before a rollback: a concurrent request may delete the user.
        user_id = found.id if found else None
        try:
            user, stored, form = _check(found, credentials.get("password"))
            first = FirstStep(user.id, ttl, remember_me, PASSWORD, includes_user)
            may_log_in = user.email_verified or _may_log_in_unverified(settings)
            takes_second = may_log_in and takes_second_step(user.id, PASSWORD)
            if may_log_in and not takes_second:
                token = _open_session(first, stored, form)
        except errors.LoginFailed:
            record_attempt(Action.LOGIN_FAILED, user_id, **identity)
            raise
    # These are not failed guesses either: the password is right.
    if not may_log_in:
        record_attempt(Action.LOGIN_FAILED, user.id, **identity, reason=UNVERIFIED_EMAIL)
        raise errors.EmailNotVerified(user.id)
    if takes_second:
        stored = _renew_hash(user.id, stored, form)
        return _take_second_step(first, credentials, User.password_hash == stored)
    return replace(token, user=user) if first.includes_user else token


def login_identified(
    user_id: Id,
    *conditions: ColumnElement[bool],
    methods: Iterable[str],
    **details: object,
) -> IssuedToken:
    """Issue a login token for a user identified by other means than the password.

    `methods` and `details` are passed to `open_session`. Raises EmailNotVerified as `login` does,
    and the errors of `SecondStep.take` and `open_session`.
    """
    columns = select(User.email_verified, User.principal_type)
    row = db.session.execute(columns.where(User.id == user_id, *MAY_LOG_IN)).first()
    if row is None:
        raise errors.LoginFailed()
    settings = settings_of(row.principal_type)
    if not (row.email_verified or _may_log_in_unverified(settings)):
        raise errors.EmailNotVerified(user_id)
    first = FirstStep(user_id, parse_ttl(None, settings), True, tuple(methods), details=details)
    if takes_second_step(user_id, first.methods):
        return _take_second_step(first, {}, *conditions)
    return open_session(user_id, first.ttl, True, *conditions, methods=first.methods, **details)


def open_session(
    user_id: Id,
    ttl: float,
    remember_me: bool = True,
    *conditions: ColumnElement[bool],
    methods: Iterable[str] = (),
    **details: object,
) -> IssuedToken:
    """Issue a login token for an identified user; `remember_me`: its cookie is persistent.

    `methods` are the names (RFC 8176) of the authentication methods, `email` for a mailed code and
    `fed` for an identity provider; `mfa` makes the session strong. `details` are added to the
    record in the audit log. Raises LoginFailed for a user who does not exist, is disabled, is a
    service account, or does not meet the conditions.
    """
    origin, used = current_origin(), list(methods)
    columns = {
        "user_agent": origin.user_agent,
        "address": origin.address,
        "methods": ",".join(used) or None,
    }
    try:
        with transaction():
            value, row = issue(user_id, ttl, remember_me=remember_me, **columns)
            require_user(User.id == user_id, *MAY_LOG_IN, *conditions)
            record(Action.LOGIN, user_id, user_id, session=row.handle, methods=used, **details)
    except IntegrityError:
        raise errors.LoginFailed() from None
    return IssuedToken(value, ttl, row.created, user_id, remember_me=remember_me)


def require_user(*conditions: ColumnElement[bool]) -> None:
    """Raise LoginFailed if no user meets the conditions; lock the user against changes.

    Called when the token is inserted: a concurrent change that deletes the user's tokens either
    deletes this one too, or is detected here.
    """
    chosen = select(User.id).where(*conditions).with_for_update(read=True)
    if db.session.scalar(chosen) is None:
        raise errors.LoginFailed()


def issue_token(user_id: Id, ttl: float | None = None, methods: Iterable[str] = ()) -> IssuedToken:
    """Open a session for a user identified by the application; return its access token.

    `ttl` are seconds, by default TOKEN_TTL and at most TOKEN_MAX_TTL. `methods` are the names of
    RFC 8176 for how the user was authenticated; with `mfa` the session is strong. Raises
    LoginFailed if the user does not exist or is disabled, and InvalidTtl.
    """
    settings = settings_of(type_of_user(user_id))
    return open_session(user_id, parse_ttl(ttl, settings), methods=methods)


def type_of_user(user_id: Id | None) -> str:
    """Return the model of a user, the first one if there is no such user."""
    return db.session.scalar(select(User.principal_type).where(User.id == user_id)) or FIRST


def takes_second_step(user_id: Id, methods: Collection[str]) -> bool:
    """Return True if a user identified by these methods takes a second step."""
    step = second_step.current
    return step is not None and step.is_due(user_id, methods)


def parse_credentials(
    credentials: Mapping[str, object], settings: Settings
) -> tuple[str, str, str]:
    """Return the realm, and the name and value of the column that identifies the user.

    `email` precedes `username`; with REALM_DELIMITER, "realm:name" precedes `realm`. Raises
    RealmRequired before any other error, and an error for a field that is not a string.
    """
    name = "username" if credentials.get("email") in ABSENT else "email"
    delimiter = settings["REALM_DELIMITER"]
    given, value = _split_realm(delimiter, credentials.get("realm"), credentials.get(name))
    realm = _check_realm(given, is_required=bool(settings["REALM_REQUIRED"] or delimiter))
    if value in ABSENT:
        raise errors.UsernameOrEmailRequired()
    if not isinstance(value, str):
        raise errors.InvalidEmail() if name == "email" else errors.InvalidUsername()
    if name == "email":
        return realm, "email", lookup_email(value)
    return realm, "username_key", username_key(value)


def parse_remember_me(asked: object) -> bool:
    """Return whether the session's cookie outlives the browser's session, by default True."""
    return not (asked is False or (isinstance(asked, str) and asked.lower() == "false"))


def _split_realm(delimiter: str | None, realm: object, name: object) -> tuple[object, object]:
    if delimiter and isinstance(name, str) and delimiter in name:
        realm, _, name = name.partition(delimiter)
    return realm, name


def _check_realm(realm: object, is_required: bool) -> str:
    """Return a realm in its stored form; raise RealmRequired or InvalidRealm."""
    if realm in (None, "") and is_required:
        raise errors.RealmRequired()
    if realm is not None and not isinstance(realm, str):
        raise errors.InvalidRealm()
    return realm or ""


def _names_user(include: str | Iterable[object] | None) -> bool:
    names = [include] if isinstance(include, str) else include or []
    return "user" in {str(name).lower() for name in names}


def _find(principal_type: str, realm: str, name: str, value: str) -> User | None:
    """Return the user of a model and a realm by the value of this column."""
    model = user_model()
    within = model.realm == realm, model.principal_type == principal_type
    named = select(model).where(getattr(model, name) == value, *within)
    return db.session.scalar(named, execution_options={"populate_existing": True})


def _check(user: User | None, password: object) -> tuple[User, str, str]:
    """Return the user, the hash, and the form of the password that matches it.

    Raises LoginFailed, after the same work, unless it is the password of an enabled user.
    """
    stored = user.password_hash if user else None
    form = verify_login(stored, password)
    if form is None or user is None or user.disabled_at is not None or stored is None:
        raise errors.LoginFailed()
    return user, stored, form


def _open_session(first: FirstStep, stored: str, form: str) -> IssuedToken:
    """Open a session for the user with this password, and replace an outdated hash."""
    # The verified hash: a concurrent reset either deletes the token or is detected by it.
    is_current = User.password_hash == stored
    token = open_session(
        first.user_id, first.ttl, first.remember_me, is_current, methods=first.methods
    )
    _renew_hash(first.user_id, stored, form)
    return token


def _renew_hash(user_id: Id, stored: str, form: str) -> str:
    """Replace the hash of a password if it is outdated; return the stored one."""
    if form == normal_form(form) and not needs_rehash(stored):
        return stored
    new = hash_password(form)
    return new if replace_hash(user_id, stored, new) else stored


def _may_log_in_unverified(settings: Settings) -> bool:
    return bool(settings["EMAIL_VERIFICATION"] != "required")


def _take_second_step(
    first: FirstStep, proof: Mapping[str, object], *conditions: ColumnElement[bool]
) -> IssuedToken:
    """Finish a login that takes a second step, or raise the errors of SecondStep.take."""
    step = second_step.current
    if step is None:
        raise RuntimeError("no second step is due")
    return step.take(first, proof, *conditions)
