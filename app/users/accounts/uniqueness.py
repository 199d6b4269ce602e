"""Values that must be unique: emails, usernames and unique properties."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import compress

from sqlalchemy import ColumnElement, and_, select, true
from sqlalchemy.exc import IntegrityError

from app.database.session import db, in_transaction, transaction
from app.errors import TAKEN, ValidationError
from app.ids import Id
from app.users.models import User, user_model, user_properties


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


def check_unique(realm: str, values: Mapping[str, object], except_id: Id | None = None) -> None:
    """Raise ValidationError for values by attribute that must be unique and are taken."""
    if not (same := _same(realm, values)):
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
        check_unique(user.realm, values, user.id)
    if len(users) > 1 and (same := _same(users[0].realm, values)):
        raise ValidationError({name: [TAKEN] for name in same})


def _same(realm: str, values: Mapping[str, object]) -> dict[str, ColumnElement[bool]]:
    """Return conditions on users with the same value, by the name of the unique value."""
    model, in_realm = user_model(), user_model().realm == realm
    same = {}
    if (email := values.get("email")) is not None:
        same["email"] = and_(in_realm, model.email == email)
    if (username_key := values.get("username_key")) is not None:
        same["username"] = and_(in_realm, model.username_key == username_key)
    for declared in user_properties.current:
        name = declared.column_name
        if declared.unique and values.get(name) is not None:
            same[declared.name] = getattr(model, name) == values[name]
    return same
