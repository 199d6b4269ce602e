"""Registration: new users, checked, stored and recorded; and values that must be unique."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import compress

from sqlalchemy import ColumnElement, and_, select, true
from sqlalchemy.exc import IntegrityError

from app.access.admins import may_everything
from app.access.roles import grant
from app.audit.entries import Action, record
from app.database.session import db, in_transaction, transaction
from app.errors import BLANK, TAKEN, ValidationError
from app.ids import Id
from app.observability.origin import current_network
from app.rest.rows.values import Values
from app.throttles import REGISTRATION, count
from app.users.models import User, user_model
from app.users.names import stored_email, username_columns
from app.users.passwords.hashing import hash_password, hashing
from app.users.passwords.policy import validate_password
from app.users.user_models import FIRST, properties_of, settings_of

from .confirmation import verify_new_addresses


def create_user(
    email: str,
    password: str,
    username: str | None = None,
    realm: str | None = None,
    roles: Iterable[str] = (),
    email_verified: bool = False,
    principal_type: str = FIRST,
    **properties: object,
) -> User:
    """Create a user with these roles, and with values of USER_PROPERTIES by attribute.

    `principal_type` is the name of the model, unless it is the first one. With EMAIL_VERIFICATION,
    a user whose address is not verified is asked to confirm it. Raises ValidationError for a weak
    password, a name that is taken, or a missing required property; other values are not checked.

    Example::

        ada = create_user("ada@example.com", "a quiet harbour", roles=["clerk"])
    """
    names = {"email": email, "username": username, "realm": realm}
    names["principal_type"] = principal_type
    user = {**names, **properties, "password": password, "email_verified": email_verified}
    return insert_users(prepare_users([user]), roles)[0]


def prepare_users(items: Sequence[Values]) -> list[User]:
    """Return new users with hashed passwords, from the arguments of `create_user`.

    Raises ValidationError, TooManyRequests for a client that has created too many, except for
    admins, or TooManyHashes.
    """
    with hashing():
        if not may_everything():
            count(REGISTRATION, current_network(), uses=len(items))
        return [_new_user(**item) for item in items]


def prepare_user_without_password(email: str, realm: str, email_verified: bool) -> User:
    """Return a new user who logs in by an identity provider.

    Raises ValidationError for an invalid email, or a required property without default, and
    TooManyRequests as `prepare_users` does.
    """
    columns = _columns(email, None, realm, FIRST, {})
    count(REGISTRATION, current_network())
    return user_model()(**columns, email_verified=email_verified, password_hash=None)


def create_service_account(
    email: str,
    username: str | None = None,
    realm: str | None = None,
    roles: Iterable[str] = (),
    principal_type: str = FIRST,
    **properties: object,
) -> User:
    """Create a service account with these roles; mails about it are sent to the address.

    It has no password and cannot get one. Raises the ValidationErrors of `create_user`.
    """
    columns = _columns(email, username, realm, principal_type, properties)
    account = user_model()(**columns, email_verified=True, service_account=True)
    return insert_users([account], roles)[0]


def insert_users(users: Sequence[User], roles: Iterable[str] = ()) -> list[User]:
    """Store new users, each with the roles; raise ValidationError for a name that is taken."""
    with unique_transaction(lambda: _check_all(users)):
        for user in users:
            check_unique(user.realm, user.principal_type, vars(user))
            db.session.add(user)
            db.session.flush()
            record(Action.REGISTERED, user.id)
            for role in roles:
                grant(user.id, role)
        verify_new_addresses(users)
    return list(users)


def check_new_user(
    email: str,
    username: str | None = None,
    realm: str | None = None,
    principal_type: str = FIRST,
    **properties: object,
) -> None:
    """Raise ValidationError for invalid, missing or taken values, as `create_user` does."""
    columns = _columns(email, username, realm, principal_type, properties)
    check_unique(columns["realm"], principal_type, columns)


def identifying_columns(
    email: str, username: str | None, realm: str | None, principal_type: str
) -> Values:
    """Return the columns that identify a new user; raise ValidationError for an invalid one."""
    if settings_of(principal_type)["REALM_REQUIRED"] and not realm:
        raise ValidationError({"realm": [BLANK]})
    names = {"email": stored_email(email), "realm": realm or "", **username_columns(username)}
    return {**names, "principal_type": principal_type}


@contextmanager
def unique_transaction(check: Callable[[], None]) -> Iterator[None]:
    """Run a block in a transaction; if it violates a unique index, `check` reports the value.

    A concurrent request has stored the value. Within an outer transaction, which has failed with
    the block, the database cannot be queried.
    """
    try:
        with transaction():
            yield
    except IntegrityError:
        if not in_transaction():
            check()
        raise


def check_unique(
    realm: str, principal_type: str, values: Mapping[str, object], except_id: Id | None = None
) -> None:
    """Raise ValidationError for values by attribute that must be unique and are taken."""
    if not (same := _same_values(realm, principal_type, values)):
        return
    model = user_model()
    is_other = true() if except_id is None else model.id != except_id
    other = select(model.id).where(is_other)
    found = select(*(other.where(condition).exists() for condition in same.values()))
    taken = compress(same, db.session.execute(found).one())
    if messages := {name: [TAKEN] for name in taken}:
        raise ValidationError(messages)


def raise_taken(users: Sequence[User], values: Mapping[str, object]) -> None:
    """Raise ValidationError for values that are taken, or shared by these users."""
    for user in users:
        check_unique(user.realm, user.principal_type, values, user.id)
    if len(users) > 1 and (same := _same_values(users[0].realm, users[0].principal_type, values)):
        raise ValidationError({name: [TAKEN] for name in same})


def _new_user(
    email: str,
    password: str,
    username: str | None = None,
    realm: str | None = None,
    email_verified: bool = False,
    principal_type: str = FIRST,
    **properties: object,
) -> User:
    columns = _columns(email, username, realm, principal_type, properties)
    validate_password(password, columns["email"], username)
    hashed = {"password_hash": hash_password(password)}
    return user_model()(**columns, **hashed, email_verified=email_verified)


def _columns(
    email: str, username: str | None, realm: str | None, principal_type: str, properties: Values
) -> Values:
    """Return the columns of a new user; raise ValidationError for invalid or missing values."""
    names = identifying_columns(email, username, realm, principal_type)
    return {**names, **_with_defaults(principal_type, properties)}


def _with_defaults(principal_type: str, values: Values) -> Values:
    """Return a new user's values by attribute, completed by defaults.

    Raises ValidationError for required properties without a value.
    """
    own = properties_of(principal_type)
    defaults = {
        declared.column_name: declared.default() if declared.default else None for declared in own
    }
    complete = defaults | values
    missing = {
        declared.name: [BLANK]
        for declared in own
        if declared.required and complete[declared.column_name] is None
    }
    if missing:
        raise ValidationError(missing)
    return complete


def _check_all(users: Iterable[User]) -> None:
    for user in users:
        check_unique(user.realm, user.principal_type, vars(user))


def _same_values(
    realm: str, principal_type: str, values: Mapping[str, object]
) -> dict[str, ColumnElement[bool]]:
    """Return conditions on users with the same value, by the name of the unique value."""
    model = user_model()
    in_realm = and_(model.realm == realm, model.principal_type == principal_type)
    same = {}
    if (email := values.get("email")) is not None:
        same["email"] = and_(in_realm, model.email == email)
    if (username_key := values.get("username_key")) is not None:
        same["username"] = and_(in_realm, model.username_key == username_key)
    for declared in properties_of(principal_type):
        name = declared.column_name
        if declared.unique and values.get(name) is not None:
            same[declared.name] = getattr(model, name) == values[name]
    return same
