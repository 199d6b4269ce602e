"""The REST resource of users: open registration, and access to one's own record."""

from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, ClassVar, cast

from flask import Flask
from sqlalchemy import ColumnElement

from app.access.identity import LiveToken, current_identity
from app.access.policy import principal_types
from app.access.roles import ADMIN
from app.access.rules import EVERYONE, OWNER, Rule, allow
from app.errors import (
    EmailProofRequired,
    InvalidPassword,
    LastAdmin,
    TooManyRequests,
    ValidationError,
)
from app.rest.collection import Collection, served_collections
from app.rest.resource import Resource
from app.rest.rows.repository import Repository
from app.rest.rows.values import Conditions, Row, Values
from app.rest.served_relations import with_added_relations
from app.settings import Settings
from app.state import AppState
from app.throttles import CREDENTIAL, count

from .accounts import confirmation
from .accounts.changes import changes_email, update_users
from .accounts.registration import identifying_columns, insert_users, prepare_users
from .accounts.removal import delete_users, keeping_admin
from .models import User
from .schemas import RegistrationSchema, UserSchema
from .sessions.assurance import require_recent_or_password
from .user_models import FIRST, settings_of, user_models

if TYPE_CHECKING:
    from .extension import UsersExtension

# The methods of all resources that users may call on their own record.
OWNER_METHODS = "findById", "exists", "patchAttributes", "replaceById", "deleteById"
# The methods that may change an email, which requires the password.
UPDATING_METHODS = (
    "patchAttributes",
    "replaceById",
    "updateAll",
    "patchOrCreate",
    "replaceOrCreate",
    "upsertWithWhere",
)

# The resource of users as declared by a model with `base: "User"`; None without such a model. Set
# before users are registered.
declared_users = AppState[Resource | None]("declared users", factory=lambda _app: None)
# The resources of further models of users.
further_users = AppState[list[Resource]]("further models of users", factory=lambda _app: [])


def rules(settings: Settings) -> list[Rule]:
    """Return the access rules; anyone may register unless REGISTRATION_OPEN is false.

    The own endpoints of users, and those that features add, permit callers themselves. These rules
    and theirs precede those of a model in JSON that extends LoopBack 3's User, as that model's
    built-in rules do.
    """
    registration = [allow(EVERYONE, "create")] if settings["REGISTRATION_OPEN"] else []
    return [
        # Such a model's rule for everyone and every method does not make users public.
        Rule(EVERYONE, allow=False),
        *registration,
        allow(OWNER, *OWNER_METHODS),
        allow(ADMIN),
    ]


class UserChange(dict[str, object]):
    """The values of a change of users."""

    # Whether `prepare_update` permitted a new email, for a password or a recent login.
    reauthenticated = False


class UserRows(Repository):
    """Rows of users: passwords are hashed, and changes of users are recorded and announced."""

    hashed = "password"
    irreversible = frozenset({"email"})
    # The model of new users.
    principal_type: ClassVar[str] = FIRST

    def prepare_insert(self, items: Sequence[Values]) -> Sequence[User]:
        """Return new users with hashed passwords; raise the errors of `prepare_users`."""
        of_model = {"principal_type": self.principal_type}
        return prepare_users([{**item, **of_model} for item in items])

    def insert(self, items: Sequence[User]) -> Sequence[Row]:
        """Store new users, whose names hooks may change; raise the errors of `insert_users`."""
        for user in items:
            names = user.email, user.username, user.realm, self.principal_type
            for name, value in identifying_columns(*names).items():
                setattr(user, name, value)
        return self.from_entities(insert_users(items))

    def prepare_update(self, conditions: Sequence[ColumnElement[bool]], values: Values) -> Values:
        """Require the password if the email changes, and only then.

        If EMAIL_CHANGE is "confirmed", a new email is refused, because it is only stored after
        confirmation. Raises TooManyRequests, and the errors of `require_recent_or_password`.
        """
        changes = dict(values)
        password = changes.pop("password", None)
        chosen = [*conditions, *self.restriction]
        changed = "email" in values and changes_email(chosen, values["email"])
        if changed:
            _allow_new_email(password, settings_of(self.principal_type))
        elif password is not None:
            raise ValidationError({"password": ["is taken with a new email only"]})
        change = UserChange(changes)
        change.reauthenticated = changed
        return change

    def update(self, conditions: Conditions, values: Values) -> Sequence[Row]:
        """Change users; keep the caller's session if the email changes."""
        reauthenticated = isinstance(values, UserChange) and values.reauthenticated
        session = current_identity().session
        keep, caller = (session.digest, session.user_id) if session else (None, None)
        chosen = [*conditions, *self.restriction]
        return self.from_entities(update_users(chosen, values, keep, reauthenticated, caller))

    def delete(self, conditions: Conditions) -> int:
        """Delete users and record it; raise LastAdmin."""
        with keeping_admin():
            return delete_users([*conditions, *self.restriction])


def rows_of(principal_type: str) -> type[UserRows]:
    """Return the repository for the users of one of several models."""
    common = {"principal_type": principal_type}
    return type("UserRows", (UserRows,), {"principal_type": principal_type, "common": common})


def _allow_new_email(password: str | None, settings: Settings) -> None:
    """Raise an error unless the caller may change the email, with this password if required."""
    if confirmation.confirms_changes(settings):
        path = settings["USERS_PATH"]
        raise ValidationError({"email": [f"is changed by POST /{path}/change-email"]})
    identity = current_identity()
    session = identity.require_session()
    require_recent_or_password(session, password)
    # Admins may change those of many users.
    if ADMIN not in identity.roles:
        count(CREDENTIAL, session.user_id)
    if confirmation.asks_for_verification(settings):
        confirmation.count_change(identity.user_id)


# The resource of users: for hooks, `lock` and own endpoints.
users = Resource(
    name="users",
    singular="user",
    description="A user. `email` and `username` are unique within the `realm`, which is chosen at"
    " the registration.",
    model=User,
    schema=UserSchema,
    rules=rules,
    owner=User.id,
    holds_users=True,
    create_schema=RegistrationSchema,
    repository=UserRows,
    # Each new user needs a password hash.
    max_create=20,
    # They log in, change credentials, or concern sessions.
    session_only=True,
    errors={"create": (TooManyRequests(60),), "deleteById": (LastAdmin(),)}
    | dict.fromkeys(
        UPDATING_METHODS,
        (InvalidPassword(), EmailProofRequired("renamed@example.com"), TooManyRequests(60)),
    ),
)


def principal_type_of(collection: Collection) -> str:
    """Return the model of users whose rows a collection has."""
    return cast("UserRows", collection.rows).principal_type


def session_of(collection: Collection) -> LiveToken:
    """Return the session of a user of a collection's model; raise AuthorizationRequired."""
    identity = current_identity()
    session = identity.require_session()
    if identity.principal_type != principal_type_of(collection):
        raise identity.unauthorized()
    return session


def users_collection(principal_type: str = FIRST) -> Collection:
    """Return the users of a model served by the current app."""
    return served_collections.current[user_models.current[principal_type].resource]


def users_of(app: Flask) -> Resource:
    """Return the resource of users for an app's settings and models."""
    return declared_users.of(app) or extended_users(app)


def lower_case_names(app: Flask) -> frozenset[str]:
    """Return the properties of users that are stored in lower case."""
    return frozenset(() if app.config["EMAIL_CASE_SENSITIVE"] else ("email",))


def extended_users(app: Flask, extension: "UsersExtension | None" = None) -> Resource:
    """Return the resource of users with additional properties and an extension."""
    resource = replace(
        with_added_relations(app, users),
        path=app.config["USERS_PATH"],
        in_lower_case=lower_case_names(app),
    )
    if len(principal_types.of(app)) > 1:
        resource = replace(resource, repository=rows_of(FIRST))
    if not app.config["USER_PROPERTIES"] and extension is None:
        return resource
    # Only imported if users have additional properties, because it takes time to load.
    extend = import_module("app.users.extension").extend
    extended: Resource = extend(app, resource, extension)
    return extended
