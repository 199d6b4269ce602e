"""Registration: new users, checked, stored and recorded."""

from collections.abc import Iterable, Sequence

from flask import current_app

from app.access.roles import grant
from app.audit.entries import Action, record
from app.database.session import db
from app.errors import BLANK, ValidationError
from app.observability.origin import current_network
from app.rest.rows.values import Values
from app.throttles.throttles import REGISTRATION, count
from app.users.accounts.confirmation import verify_new_addresses
from app.users.models import User, user_model, user_properties
from app.users.names import stored_email, username_columns
from app.users.passwords.hashing import hash_password, hashing
from app.users.passwords.policy import validate_password

from .uniqueness import check_unique, unique_transaction


def create_user(
    email: str,
    password: str,
    username: str | None = None,
    realm: str | None = None,
    roles: Iterable[str] = (),
    email_verified: bool = False,
    **properties: object,
) -> User:
    """Create a user with these roles, and with values of USER_PROPERTIES by attribute.

    With EMAIL_VERIFICATION, a user whose address is not verified is asked to confirm it. Raises
    ValidationError for a weak password, a name that is taken, or a missing required property; other
    values are not checked.

    Example::

        ada = create_user("ada@example.com", "a quiet harbour", roles=["clerk"])
    """
    names = {"email": email, "username": username, "realm": realm}
    user = {**names, **properties, "password": password, "email_verified": email_verified}
    return insert_users(prepare_users([user]), roles)[0]


def prepare_users(items: Sequence[Values]) -> list[User]:
    """Return new users with hashed passwords, from the arguments of `create_user`.

    Raises ValidationError, TooManyRequests for a client that has created too many, or
    TooManyHashes.
    """
    with hashing():
        count(REGISTRATION, current_network(), uses=len(items))
        return [_new_user(**item) for item in items]


def prepare_user_without_password(email: str, realm: str, email_verified: bool) -> User:
    """Return a new user who logs in by an identity provider.

    Raises ValidationError for an invalid email, or a required property without default, and
    TooManyRequests as `prepare_users` does.
    """
    columns = _columns(email, None, realm, {})
    count(REGISTRATION, current_network())
    return user_model()(**columns, email_verified=email_verified, password_hash=None)


def create_service_account(
    email: str,
    username: str | None = None,
    realm: str | None = None,
    roles: Iterable[str] = (),
    **properties: object,
) -> User:
    """Create a service account with these roles; mails about it are sent to the address.

    It has no password and cannot get one. Raises the ValidationErrors of `create_user`.
    """
    columns = _columns(email, username, realm, properties)
    account = user_model()(**columns, email_verified=True, service_account=True)
    return insert_users([account], roles)[0]


def insert_users(users: Sequence[User], roles: Iterable[str] = ()) -> list[User]:
    """Store new users, each with the roles; raise ValidationError for a name that is taken."""
    with unique_transaction(lambda: _check_all(users)):
        for user in users:
            check_unique(user.realm, vars(user))
            db.session.add(user)
            db.session.flush()
            record(Action.REGISTERED, user.id)
            for role in roles:
                grant(user.id, role)
        verify_new_addresses(users)
    return list(users)


def check_new_user(
    email: str, username: str | None = None, realm: str | None = None, **properties: object
) -> None:
    """Raise ValidationError for invalid, missing or taken values, as `create_user` does."""
    columns = _columns(email, username, realm, properties)
    check_unique(columns["realm"], columns)


def identifying_columns(email: str, username: str | None, realm: str | None) -> Values:
    """Return the columns that identify a new user; raise ValidationError for an invalid one."""
    if current_app.config["REALM_REQUIRED"] and not realm:
        raise ValidationError({"realm": [BLANK]})
    return {"email": stored_email(email), "realm": realm or "", **username_columns(username)}


def _new_user(
    email: str,
    password: str,
    username: str | None = None,
    realm: str | None = None,
    email_verified: bool = False,
    **properties: object,
) -> User:
    columns = _columns(email, username, realm, properties)
    validate_password(password, columns["email"], username)
    hashed = {"password_hash": hash_password(password)}
    return user_model()(**columns, **hashed, email_verified=email_verified)


def _columns(email: str, username: str | None, realm: str | None, properties: Values) -> Values:
    """Return the columns of a new user; raise ValidationError for invalid or missing values."""
    return {**identifying_columns(email, username, realm), **_with_defaults(properties)}


def _with_defaults(values: Values) -> Values:
    """Return a new user's values by attribute, completed by defaults.

    Raises ValidationError for required properties without a value.
    """
    defaults = {
        declared.column_name: declared.default() if declared.default else None
        for declared in user_properties.current
    }
    complete = defaults | values
    missing = {
        declared.name: [BLANK]
        for declared in user_properties.current
        if declared.required and complete[declared.column_name] is None
    }
    if missing:
        raise ValidationError(missing)
    return complete


def _check_all(users: Iterable[User]) -> None:
    for user in users:
        check_unique(user.realm, vars(user))
