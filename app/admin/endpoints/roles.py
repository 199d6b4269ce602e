"""The roles, and who has them."""

from collections.abc import Mapping, Sequence

from flask import request

from app import errors
from app.access import roles as access_roles
from app.access.admins import check_role_deletion
from app.access.identity import current_identity
from app.access.rules import READ, WRITE
from app.admin.calls import NOT_RECENT, call
from app.admin.schemas import MemberSchema, NewRoleSchema, RoleSchema
from app.rest.filters.parser import parse_filter
from app.rest.filters.tree import MAX_LIMIT
from app.rest.requests.bodies import Body
from app.users.accounts import lookup
from app.users.sessions.assurance import require_recent

UNKNOWN_ROLE = errors.ModelNotFound("role", "support")
WHOLE_NUMBER = {"type": "integer", "minimum": 0}
PAGE = (
    {"name": "limit", "in": "query", "schema": {**WHOLE_NUMBER, "default": MAX_LIMIT}},
    {"name": "skip", "in": "query", "schema": {**WHOLE_NUMBER, "default": 0}},
)


@call("findRoles", READ, "GET /roles", answer=[RoleSchema])
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
)
def create_role(body: Body) -> Mapping[str, object]:
    """Create a role, which nobody has yet."""
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
)
def delete_role(name: str) -> None:
    """Delete a role, after a recent login; it is taken from all who have it."""
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
)
def find_members(name: str) -> Sequence[Mapping[str, object]]:
    """List the users who have a role, by their ids."""
    given = {key: request.args[key] for key in ("limit", "skip") if key in request.args}
    page = parse_filter(given, {})
    return lookup.list_members(access_roles.find_role(name), page.limit, page.skip)
