"""The users, with the roles that they have."""

from collections import defaultdict
from collections.abc import Collection as Container
from collections.abc import Iterable, Sequence
from functools import lru_cache, partial
from typing import Any

from flask import Flask, jsonify, request
from flask.typing import ResponseReturnValue
from marshmallow import fields
from sqlalchemy import ColumnElement, Table, inspect, select
from sqlalchemy.orm import registry

from app import errors
from app.access.policy import principal_types, strong_kinds
from app.access.roles import MAX_ROLE_LENGTH, Role, RoleMapping
from app.access.rules import READ
from app.admin.calls import FILTER_ERRORS, call
from app.database.session import db
from app.fields.base import Schema, Text, Timestamp
from app.ids import Id
from app.rest.collection import Collection, served_collections
from app.rest.requests.parameters import read_parameter
from app.rest.resource import Resource
from app.rest.views.lists import respond_objects
from app.rest.views.serialization import serialize
from app.users.accounts import lookup
from app.users.models import MAX_PRINCIPAL_TYPE, User
from app.users.resource import users_collection
from app.users.sessions.tokens import count_sessions

# The resource of users in admin calls.
LISTED_USERS = "admin.users"
UNKNOWN_USER = errors.ModelNotFound("user", 1)
ROLE = {
    "name": "role",
    "in": "query",
    "description": "Only users who have this role.",
    "schema": {"type": "string", "maxLength": MAX_ROLE_LENGTH},
}

# Properties beside those in lists of users, which the settings may extend.
DETAILED = {
    "type": "object",
    "properties": {
        "factors": {"type": "array", "items": {"type": "string"}},
        "sessions": {"type": "integer", "minimum": 0},
        "isService": {"type": "boolean"},
        "hasPassword": {"type": "boolean"},
    },
    "required": ["id", "email", "disabled", "roles", "factors", "sessions"],
}


def init_app(app: Flask) -> None:
    """Register the resource of users in admin calls, with properties hidden elsewhere."""
    users, has_types = served_collections.of(app)["users"], len(principal_types.of(app)) > 1
    Collection(_resource(users.resource, has_types), app.config).add_to(app)


def _resource(users: Resource, has_types: bool) -> Resource:
    """Return a resource without endpoints for the rows of users of all models."""
    return Resource(
        name=LISTED_USERS,
        singular="user",
        description="A user, with roles.",
        model=_mapped(inspect(users.model).local_table),
        schema=_schema(users.schema, has_types),
        # No rule allows any caller a method of this resource.
        rules=lambda _settings: [],
        is_public=False,
        in_lower_case=users.in_lower_case,
        withheld=users.withheld,
        embedded=users.embedded,
        loaded=users.loaded,
    )


@lru_cache(maxsize=4)
def _mapped(table: Table) -> type[Any]:
    """Return a class mapped to the table of users, shared by all apps because mapping is slow."""
    model = type("ListedUser", (), {})
    registry().map_imperatively(model, table)
    return model


@lru_cache(maxsize=4)
def _schema(base: type[Schema], has_types: bool) -> type[Schema]:
    """Return the schema of users with properties that are hidden elsewhere.

    Apps with the same base share it.
    """
    own: dict[str, fields.Field[Any]] = {
        "disabled": Timestamp(attribute="disabled_at", dump_only=True),
        # Filled in for a whole page, as it is stored in another table.
        "roles": fields.List(fields.String(), dump_only=True, metadata={"examples": [["support"]]}),
    }
    if has_types:
        own["principalType"] = Text(MAX_PRINCIPAL_TYPE, attribute="principal_type", dump_only=True)
    meta = type("Meta", (base.Meta,), {"register": False})
    return type("ListedUserSchema", (base,), {**own, "Meta": meta})


@call(
    "findUsers",
    READ,
    "GET /users",
    query="filter",
    answer="[{}WithRelations]",
    has_pages=True,
    subject=LISTED_USERS,
    parameters=(ROLE,),
    errors=FILTER_ERRORS,
    summary="List the users that a filter selects",
)
def find_users() -> ResponseReturnValue:
    """List the users that a filter selects."""
    collection = served_collections.current[LISTED_USERS]
    filter_ = collection.parse(read_parameter("filter"))
    role = request.args.get("role")
    conditions = [] if role is None else [_has_role(collection, role)]
    page = collection.rows.find(conditions, filter_)
    objects = serialize(collection, page.rows, filter_)
    if filter_.fields is None:
        objects = _with_roles(objects)
    kept = {} if role is None else {"role": role}
    count = partial(collection.rows.count, conditions, filter_)
    return respond_objects(objects, page, count, filter_, kept)


@call(
    "findUserById",
    READ,
    "GET /users/<id>",
    answer=DETAILED,
    errors=(UNKNOWN_USER,),
    summary="Show a user with the login methods and the number of sessions",
)
def find_user(id: str) -> ResponseReturnValue:
    """Show a user with the login methods and the number of sessions."""
    collection = served_collections.current[LISTED_USERS]
    row_id = collection.parse_id(id)
    row = collection.or_404(row_id, collection.rows.get(row_id, []))
    [shown] = _with_roles([collection.serializer.dump(row)])
    return jsonify({**shown, **_credentials(lookup.get_user(row_id))})


def _has_role(collection: Collection, role: str) -> ColumnElement[bool]:
    """Return the condition that users have a role."""
    holders = select(RoleMapping.user_id).join(Role).where(Role.name == role)
    condition: ColumnElement[bool] = collection.rows.key.in_(holders)
    return condition


def _credentials(user: User) -> dict[str, object]:
    return {
        "factors": strong_kinds(user.id),
        "sessions": count_sessions(user.id),
        "isService": user.service_account,
        "hasPassword": user.password_hash is not None,
    }


def _with_roles(objects: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the JSON of users with the names of their roles, queried at once."""
    roles = _roles_of([users_collection().parse_id(str(user["id"])) for user in objects])
    return [{**user, "roles": roles[user_id]} for user, user_id in zip(objects, roles, strict=True)]


def _roles_of(user_ids: Container[Id]) -> dict[Id, list[str]]:
    """Return the names of the roles of each user, in the order of the ids."""
    held = select(RoleMapping.user_id, Role.name).join(Role)
    rows: Iterable[Any] = db.session.execute(held.where(RoleMapping.user_id.in_(user_ids)))
    found = defaultdict[Id, list[str]](list)
    for user_id, name in rows:
        found[user_id].append(name)
    return {user_id: sorted(found[user_id]) for user_id in user_ids}
