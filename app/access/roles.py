"""Roles and their users; queried by every request, so that a change takes effect at once."""

from collections.abc import Sequence

from sqlalchemy import ForeignKey, String, delete, func, insert, select
from sqlalchemy.orm import Mapped, mapped_column

from app.audit.entries import Action, record, record_all, recording
from app.database.ids import RowId
from app.database.session import Model, affected_rows, db, transaction
from app.errors import TAKEN, ModelNotFound, ValidationError, quote
from app.ids import Id

# The role that may call every method of users, and of other models whose rules say so.
ADMIN = "admin"
#: Characters of a role's name, the length of its column.
MAX_ROLE_LENGTH = 255
# The message for an attempt to delete it.
ADMIN_STAYS = "is that of admins, which stays"
#: Maximum number of roles in one response.
MAX_ROLES = 1000
# Prefix of the roles that are computed for each request, such as $owner.
COMPUTED = "$"
# Separates the roles of a user in a file.
ROLE_SEPARATOR = ";"


class Role(Model):
    """A role, to which access rules refer by name."""

    __tablename__ = "roles"

    id: Mapped[Id] = mapped_column(RowId, primary_key=True)
    name: Mapped[str] = mapped_column(String(MAX_ROLE_LENGTH), unique=True)


class RoleMapping(Model):
    """The assignment of a role to a user."""

    __tablename__ = "role_mappings"

    user_id: Mapped[Id] = mapped_column(
        ForeignKey("users.id", ondelete="CASCADE"), primary_key=True
    )
    role_id: Mapped[Id] = mapped_column(
        ForeignKey("roles.id", ondelete="CASCADE"), primary_key=True, index=True
    )


def role_names(user_id: Id) -> set[str]:
    """Return the names of a user's roles."""
    held = select(Role.name).join(RoleMapping).where(RoleMapping.user_id == user_id)
    return set(db.session.scalars(held))


def check_role(name: str) -> None:
    """Raise ValidationError for an invalid role name."""
    if name.startswith(COMPUTED):
        problem = f"{quote(name)} cannot be granted: it is computed for each request"
    elif not name.strip() or not name.isprintable() or ROLE_SEPARATOR in name:
        problem = f"must be printable, not blank and without {ROLE_SEPARATOR!r}"
    elif len(name) > MAX_ROLE_LENGTH:
        problem = f"is too long (maximum is {MAX_ROLE_LENGTH} characters)"
    else:
        return
    raise ValidationError({"role": [problem]})


def create_role(name: str) -> bool:
    """Create a role; return False if it exists. Within a transaction.

    Raises ValidationError for an invalid role name.
    """
    check_role(name)
    if db.session.scalar(select(Role.id).where(Role.name == name)) is not None:
        return False
    _role_id(name)
    return True


def add_role(name: str) -> None:
    """Create a role and record it in the audit log.

    Raises ValidationError for an invalid name, or one that is taken.
    """
    with transaction():
        try:
            is_new = create_role(name)
        except ValidationError as error:
            raise ValidationError({"name": error.details["messages"]["role"]}) from None
        if not is_new:
            raise ValidationError({"name": [TAKEN]})
        record(Action.ROLE_CREATED, role=name)


def delete_role(name: str) -> None:
    """Delete a role, and revoke it from all of its members.

    Raises ModelNotFound, or ValidationError for the role of admins.
    """
    if name == ADMIN:
        raise ValidationError({"name": [ADMIN_STAYS]})
    with transaction():
        role_id = find_role(name)
        of_role = RoleMapping.role_id == role_id
        members = db.session.scalar(select(func.count()).select_from(RoleMapping).where(of_role))
        # A concurrent request has deleted and recorded it.
        if affected_rows(delete(Role).where(Role.id == role_id)):
            record(Action.ROLE_DELETED, role=name, members=members)


def find_role(name: str) -> Id:
    """Return the id of the role with this name; raise ModelNotFound."""
    role_id = db.session.scalar(select(Role.id).where(Role.name == name))
    if role_id is None:
        raise ModelNotFound("role", name)
    return role_id


def list_roles() -> list[tuple[str, int]]:
    """Return the roles in alphabetical order, each with its number of members.

    At most MAX_ROLES.
    """
    members = func.count(RoleMapping.user_id)
    rows = select(Role.name, members).outerjoin(RoleMapping, RoleMapping.role_id == Role.id)
    ordered = rows.group_by(Role.id, Role.name).order_by(Role.name).limit(MAX_ROLES)
    return [(name, number) for name, number in db.session.execute(ordered)]


def grant(user_id: Id, name: str) -> bool:
    """Assign a role to a user, created if it does not exist; return False if the user has it.

    Raises ValidationError for an invalid role name, such as one that begins with `$`.
    """
    check_role(name)
    if name in role_names(user_id):
        return False
    with transaction():
        assign([(user_id, name)])
    return True


def assign(pairs: Sequence[tuple[Id, str]]) -> None:
    """Assign roles to users that do not have them, given as pairs of user id and name.

    Within a transaction.
    """
    ids = {name: _role_id(name) for name in {name for _, name in pairs}}
    rows = [{"user_id": user_id, "role_id": ids[name]} for user_id, name in pairs]
    if rows:
        db.session.execute(insert(RoleMapping), rows)
    record_all(Action.ROLE_GRANTED, ((user_id, {"role": name}) for user_id, name in pairs))


def revoke(user_id: Id, name: str) -> bool:
    """Remove a role from a user; return False if the user does not have it."""
    if name not in role_names(user_id):
        return False
    role = select(Role.id).where(Role.name == name).scalar_subquery()
    with recording():
        db.session.execute(
            delete(RoleMapping).where(RoleMapping.user_id == user_id, RoleMapping.role_id == role)
        )
        record(Action.ROLE_REVOKED, user_id, role=name)
    return True


def _role_id(name: str) -> Id:
    role = db.session.scalar(select(Role).where(Role.name == name)) or Role(name=name)
    db.session.add(role)
    db.session.flush()
    return role.id
