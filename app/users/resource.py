"""Users as REST endpoints: registration is open, and everybody owns the own record."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement

from app.access.identity import current_identity
from app.access.roles import ADMIN
from app.access.rules import AUTHENTICATED, EVERYONE, OWNER, Rule, allow
from app.errors import ValidationError
from app.rest.resource import Relation, Resource

from .accounts import changes_email, create_users, update_users
from .login import confirm_caller
from .models import User
from .schemas import RegistrationSchema, UserSchema

# What registered users may do with their own record, sessions and to-dos.
OWN = (
    "findById",
    "exists",
    "patchAttributes",
    "replaceById",
    "deleteById",
    "__get__accessTokens",
    "__destroyById__accessTokens",
    "__delete__accessTokens",
    "__get__todos",
    "__create__todos",
    "__count__todos",
    "__findById__todos",
    "__updateById__todos",
    "__destroyById__todos",
)


def rules(settings: Mapping[str, Any]) -> list[Rule]:
    """Say who may do what; registration is everybody's unless REGISTRATION_OPEN is false."""
    registration = [allow(EVERYONE, "create")] if settings["REGISTRATION_OPEN"] else []
    return [
        *registration,
        # These ask for credentials or a token of their own.
        allow(EVERYONE, "login", "logout", "resetPassword", "setPassword"),
        allow(AUTHENTICATED, "changePassword"),
        allow(OWNER, *OWN),
        allow(ADMIN),
    ]


def update(conditions: Iterable[ColumnElement[bool]], values: dict[str, Any]) -> Sequence[User]:
    """Change users; a new email takes the caller's password, and the caller's session outlives it.

    Raises what `update_users` and `confirm_caller` do.
    """
    chosen, identity = list(conditions), current_identity()
    password = values.pop("password", None)
    confirmed = "email" in values and changes_email(chosen, values["email"])
    if confirmed:
        confirm_caller(identity.require_session().digest, password)
    elif password is not None:
        raise ValidationError({"password": ["is taken with a new email only"]})
    keep = identity.session.digest if identity.session else None
    return update_users(chosen, values, keep, confirmed)


users = Resource(
    name="users",
    singular="user",
    model=User,
    schema=UserSchema,
    rules=rules,
    owner=User.id,
    relations={"todos": Relation("todos", foreign_key="owner_id")},
    create_schema=RegistrationSchema,
    insert_with=create_users,
    update_with=update,
    # Each costs a password hash.
    max_create=20,
)
