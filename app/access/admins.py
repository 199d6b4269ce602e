"""Restrictions of changes to admins, regardless of rules."""

from collections.abc import Iterable

from flask import has_request_context
from sqlalchemy import ColumnElement, SQLColumnExpression, exists, select

from app.database.session import db
from app.errors import AccessDenied
from app.ids import Id

from .identity import current_identity
from .roles import ADMIN, Role, RoleMapping, find_role, role_names

_ADMINS = select(RoleMapping.user_id).join(Role).where(Role.name == ADMIN)
ONLY_ADMINS = "Only admins do this to an admin."
ONLY_OWN_ROLES = "Only admins grant and revoke roles that they do not have."


def is_admin(user_id: SQLColumnExpression[Id]) -> ColumnElement[bool]:
    """Return the condition that a user has the role ADMIN."""
    return user_id.in_(_ADMINS)


def check_role_change(name: str, user_ids: Iterable[Id]) -> None:
    """Raise AccessDenied unless the caller may grant these users a role, and revoke it.

    An admin may. Another caller may if it has the role itself and none of the users is an admin: no
    rule lets callers grant more than they have. Commands may.
    """
    if may_everything():
        return
    if name == ADMIN or name not in current_identity().roles:
        raise AccessDenied(ONLY_OWN_ROLES)
    if any(ADMIN in role_names(user_id) for user_id in user_ids):
        raise AccessDenied(ONLY_ADMINS)


def check_role_deletion(name: str) -> None:
    """Raise AccessDenied unless the caller may revoke a role from all of its members.

    Raises ModelNotFound for a role that does not exist.
    """
    check_role_change(name, ())
    with_role = RoleMapping.role_id == find_role(name), RoleMapping.user_id.in_(_ADMINS)
    if not may_everything() and db.session.scalar(select(exists().where(*with_role))):
        raise AccessDenied(ONLY_ADMINS)


def may_everything() -> bool:
    """Return True if the caller is an admin or a command."""
    return not has_request_context() or ADMIN in current_identity().roles
