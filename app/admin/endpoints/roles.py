"""The roles and their members."""

from collections.abc import Mapping, Sequence

from flask import request

from app import errors
from app.access import roles as access_roles
from app.access.admins import check_role_change, check_role_deletion
from app.access.identity import current_identity
from app.access.rules import READ, WRITE
from app.admin.calls import call
from app.admin.schemas import MemberSchema, NewRoleSchema, RoleNameSchema, RoleSchema
from app.rest.filters.parser import parse_filter
from app.rest.filters.tree import MAX_LIMIT
from app.rest.requests.bodies import Body
from app.users.accounts import lookup
from app.users.accounts.removal import keeping_admin
from app.users.models import User
from app.users.resource import users_collection
from app.users.sessions.assurance import NOT_RECENT, require_recent

UNKNOWN_USER = errors.ModelNotFound("user", 1)
UNKNOWN_ROLE = errors.ModelNotFound("role", "support")
WHOLE_NUMBER = {"type": "integer", "minimum": 0}
PAGE = (
    {"name": "limit", "in": "query", "schema": {**WHOLE_NUMBER, "default": MAX_LIMIT}},
    {"name": "skip", "in": "query", "schema": {**WHOLE_NUMBER, "default": 0}},
)


@call(
    "findRoles",
    READ,
    "GET /roles",
    answer=[RoleSchema],
    summary="List the roles, each with the number of its members",
)
def find_roles() -> Sequence[Mapping[str, object]]:
    """List the roles, each with the number of its members."""
    return [{"name": name, "members": members} for name, members in access_roles.list_roles()]


@call(
    "createRole",
    WRITE,
    "POST /roles",
    body=NewRoleSchema,
    answer=RoleSchema,
    errors=(errors.ValidationError({"name": [errors.TAKEN]}),),
    summary="Create a role without members",
)
def create_role(body: Body) -> Mapping[str, object]:
    """Create a role without members."""
    access_roles.add_role(body["name"])
    return {"name": body["name"], "members": 0}


@call(
    "deleteRole",
    WRITE,
    "DELETE /roles/<name>",
    errors=(
        NOT_RECENT,
        UNKNOWN_ROLE,
        errors.ValidationError({"name": [access_roles.ADMIN_STAYS]}),
    ),
    summary="Delete a role and revoke it from its members; requires a recent login",
)
def delete_role(name: str) -> None:
    """Delete a role and revoke it from its members; requires a recent login."""
    check_role_deletion(name)
    require_recent(current_identity().require_session())
    access_roles.delete_role(name)


@call(
    "findMembers",
    READ,
    "GET /roles/<name>/members",
    answer=[MemberSchema],
    parameters=PAGE,
    errors=(UNKNOWN_ROLE, errors.InvalidFilter("limit must be a whole number.")),
    summary="List the members of a role by their ids",
)
def find_members(name: str) -> Sequence[Mapping[str, object]]:
    """List the members of a role by their ids."""
    given = {key: request.args[key] for key in ("limit", "skip") if key in request.args}
    page = parse_filter(given, {})
    members = lookup.list_members(access_roles.find_role(name), page.limit, page.skip)
    shown = users_collection().schema.dump_fields
    return [{key: member[key] for key in member if key in shown} for member in members]


@call(
    "findUserRoles",
    READ,
    "GET /users/<id>/roles",
    answer=[RoleNameSchema],
    errors=(UNKNOWN_USER,),
    summary="List the roles of a user",
)
def find_user_roles(id: str) -> Sequence[Mapping[str, str]]:
    """List the roles of a user."""
    return [{"name": name} for name in sorted(access_roles.role_names(_find_user(id).id))]


@call(
    "grantRole",
    WRITE,
    "PUT /users/<id>/roles/<role>",
    errors=(NOT_RECENT, UNKNOWN_USER, errors.ValidationError({"role": ["is too long"]})),
    summary="Assign a role, created if it does not exist, to a user; requires a recent login",
)
def grant_role(id: str, role: str) -> None:
    """Assign a role, created if it does not exist, to a user; requires a recent login."""
    user = _find_user(id)
    check_role_change(role, [user.id])
    require_recent(current_identity().require_session())
    access_roles.grant(user.id, role)


@call(
    "revokeRole",
    WRITE,
    "DELETE /users/<id>/roles/<role>",
    errors=(NOT_RECENT, errors.LastAdmin(), UNKNOWN_USER),
    summary="Revoke a role from a user; requires a recent login",
)
def revoke_role(id: str, role: str) -> None:
    """Revoke a role from a user; requires a recent login."""
    user = _find_user(id)
    check_role_change(role, [user.id])
    require_recent(current_identity().require_session())
    with keeping_admin():
        if not access_roles.revoke(user.id, role):
            raise errors.ModelNotFound("role", role)


def _find_user(text: str) -> User:
    return lookup.get_user(users_collection().parse_id(text))
