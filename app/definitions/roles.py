"""LoopBack 3's Role and RoleMapping, to which relations of models in JSON may lead.

They are read-only: roles are granted by `ostiary roles grant`.
"""

from collections.abc import Iterable, Mapping, Sequence

from sqlalchemy import Column, String, text
from sqlalchemy.orm import registry

from app.access.roles import ADMIN, Role
from app.access.rules import AUTHENTICATED, OWNER, READ, WRITE, Rule, allow
from app.database.ids import RowId, TextId
from app.fields.base import Id, Schema, Text
from app.rest.endpoint import Endpoint
from app.rest.resource import Resource

# The name of the schemas in the OpenAPI document.
MappedRole = type("RoleMapping", (), {})
_rows = (
    text(
        "SELECT CAST(user_id AS VARCHAR(40)) || '.' || CAST(role_id AS VARCHAR(40)) AS id,"
        " 'USER' AS principal_type, user_id AS principal_id, role_id FROM role_mappings"
    )
    .columns(
        Column("id", TextId, nullable=False),
        Column("principal_type", String, nullable=False),
        Column("principal_id", RowId, nullable=False),
        Column("role_id", RowId, nullable=False),
    )
    .subquery("mapped_roles")
)
registry().map_imperatively(MappedRole, _rows, primary_key=[_rows.c.id])


class RoleSchema(Schema):
    """A role."""

    id = Id(dump_only=True)
    name = Text(255, dump_only=True)


class RoleMappingSchema(Schema):
    """An assignment of a role to a user."""

    id = Id(TextId, dump_only=True)
    principalType = Text(255, attribute="principal_type", dump_only=True)  # noqa: N815
    principalId = Id(attribute="principal_id", dump_only=True)  # noqa: N815
    roleId = Id(attribute="role_id", dump_only=True)  # noqa: N815


def _role_rules(settings: Mapping[str, object]) -> Sequence[Rule]:
    """Let logged-in users read roles through any relation that they may call."""
    return [allow(AUTHENTICATED, access=READ)]


def _mapping_rules(settings: Mapping[str, object]) -> Sequence[Rule]:
    return [allow(OWNER, access=READ), allow(ADMIN, access=READ)]


roles = Resource(
    name="Role",
    singular="Role",
    description="A role.",
    model=Role,
    schema=RoleSchema,
    rules=_role_rules,
    is_public=False,
)
role_mappings = Resource(
    name="RoleMapping",
    singular="RoleMapping",
    description="Assigns a role to a user.",
    model=MappedRole,
    schema=RoleMappingSchema,
    rules=_mapping_rules,
    owner=MappedRole.principal_id,  # type: ignore[attr-defined]
    is_public=False,
)
RESOURCES = {resource.name: resource for resource in (roles, role_mappings)}


def writing_methods(endpoints: Iterable[Endpoint]) -> dict[str, bool]:
    """Return the methods that would write or grant roles, all switched off."""
    return {
        endpoint.method: False
        for endpoint in endpoints
        if endpoint.subject in RESOURCES and endpoint.access == WRITE
    }
