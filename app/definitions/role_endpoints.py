"""LoopBack 3's endpoints of Role and RoleMapping, where `model-config.json` makes them public.

They are for admins. They cannot grant or revoke the role of admins, because they require no recent
login.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace

from flask import Flask
from marshmallow import validate
from sqlalchemy import select

from app.access.admins import check_role_change
from app.access.roles import ADMIN, Role, add_role, assign, revoke, role_names
from app.access.rules import WRITE, Rule, allow
from app.database.ids import TextId
from app.database.session import db, transaction
from app.errors import AccessDenied, ValidationError
from app.fields.base import Id, Schema, Text
from app.rest.relations import belongs_to, has_many
from app.rest.resource import Resource
from app.rest.rows.repository import Repository
from app.rest.rows.values import Conditions, Row, Values
from app.rest.views.collection import declared_endpoints
from app.rest.views.registration import register_resource
from app.settings import Settings

from .related_models import USERS
from .roles import MappedRole

ROLES, MAPPINGS = "Roles", "RoleMappings"
ELSEWHERE = (
    f"the role {ADMIN} is granted and revoked by /admin/users/{{id}}/roles/{ADMIN} and"
    " `ostiary roles` only"
)


class RoleRows(Repository):
    """Roles, created with valid names only."""

    may_lag = False

    def insert(self, items: Sequence[Values]) -> Sequence[Row]:
        """Create roles; raise ValidationError for names that are taken or not allowed."""
        with transaction():
            for item in items:
                add_role(item["name"])
            names = [item["name"] for item in items]
            rows = db.session.execute(self._all_rows.where(Role.name.in_(names))).all()
        return sorted(rows, key=lambda row: names.index(row.name))


class MappingRows(Repository):
    """Assignments of roles to users, recorded in the audit log."""

    may_lag = False

    def insert(self, items: Sequence[Values]) -> Sequence[Row]:
        """Grant roles to users without them; raise ValidationError for the role of admins."""
        with transaction():
            return [self._grant(item) for item in items]

    def _grant(self, item: Values) -> Row:
        user_id, role_id = item["principal_id"], item["role_id"]
        name = db.session.scalar(select(Role.name).where(Role.id == role_id))
        if name is None or name == ADMIN:
            raise ValidationError({"roleId": [ELSEWHERE]})
        check_role_change(name, [user_id])
        if name not in role_names(user_id):
            assign([(user_id, name)])
        is_granted = (self.column("principal_id") == user_id, self.column("role_id") == role_id)
        return db.session.execute(self._all_rows.where(*is_granted)).one()

    def delete(self, conditions: Conditions) -> int:
        """Revoke roles; raise ValidationError for the role of admins."""
        statement = select(self.column("principal_id"), Role.name)
        statement = statement.join(Role, Role.id == self.column("role_id"))
        with transaction():
            found = db.session.execute(statement.where(*conditions)).all()
            if any(name == ADMIN for _, name in found):
                raise ValidationError({"roleId": [ELSEWHERE]})
            for user_id, name in found:
                check_role_change(name, [user_id])
            return sum(revoke(user_id, name) for user_id, name in found)


class RoleSchema(Schema):
    """A role, as admins see it."""

    id = Id(dump_only=True)
    name = Text(255, required=True)


class RoleMappingSchema(Schema):
    """An assignment of a role to a user, as admins see it."""

    id = Id(TextId, dump_only=True)
    principalType = Text(  # noqa: N815
        255, attribute="principal_type", validate=validate.OneOf(["USER"]), load_default="USER"
    )
    principalId = Id(attribute="principal_id", required=True)  # noqa: N815
    roleId = Id(attribute="role_id", required=True)  # noqa: N815


def _rules(settings: Settings) -> Sequence[Rule]:
    return [allow(ADMIN)]


def _without_changes(resource: Resource, writing: Collection[str]) -> Resource:
    """Return a resource with methods that write switched off, except these."""
    methods = {
        endpoint.method: False
        for endpoint in declared_endpoints(resource)
        if endpoint.access == WRITE and endpoint.method not in writing
    }
    return replace(resource, shared_methods=methods)


# By their names in `model-config.json`.
ENDPOINTS = {
    "Role": _without_changes(
        Resource(
            name=ROLES,
            singular="ManagedRole",
            description="A role.",
            model=Role,
            schema=RoleSchema,
            rules=_rules,
            relations={"principals": has_many(MAPPINGS, "role_id")},
            repository=RoleRows,
        ),
        ("create", "__create__principals", "__destroyById__principals"),
    ),
    "RoleMapping": _without_changes(
        Resource(
            name=MAPPINGS,
            singular="ManagedRoleMapping",
            description="Assigns a role to a user.",
            model=MappedRole,
            schema=RoleMappingSchema,
            rules=_rules,
            relations={
                "role": belongs_to(ROLES, "role_id"),
                "user": belongs_to(USERS, "principal_id"),
            },
            repository=MappingRows,
            errors=dict.fromkeys(
                ("create", "deleteById"),
                (ValidationError({"roleId": [ELSEWHERE]}), AccessDenied()),
            ),
        ),
        ("create", "deleteById"),
    ),
}


def resource_names(public: Collection[str]) -> list[str]:
    """Return the names of the resources served if some of the role models are public."""
    return [resource.name for resource in ENDPOINTS.values()] if public else []


def register_endpoints_of_roles(app: Flask, public: Collection[str]) -> None:
    """Serve Role and RoleMapping if they are public; they may have relations to each other."""
    if public:
        for name, resource in ENDPOINTS.items():
            register_resource(app, replace(resource, is_public=name in public))
