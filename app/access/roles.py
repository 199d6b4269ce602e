"""Roles and who holds them; read anew by every request, so that a change acts at once."""

from sqlalchemy import ForeignKey, String, delete, select
from sqlalchemy.orm import Mapped, mapped_column

from app.extensions import Model, RowId, db, transaction

# The role that may do everything on users and to-dos.
ADMIN = "admin"


class Role(Model):
    """A name that rules can speak of."""

    __tablename__ = "roles"

    id: Mapped[int] = mapped_column(RowId, primary_key=True)
    name: Mapped[str] = mapped_column(String(255), unique=True)


class RoleMapping(Model):
    """One user holds one role."""

    __tablename__ = "role_mappings"

    user_id: Mapped[int] = mapped_column(
        ForeignKey("users.id", ondelete="CASCADE"), primary_key=True
    )
    role_id: Mapped[int] = mapped_column(
        ForeignKey("roles.id", ondelete="CASCADE"), primary_key=True, index=True
    )


def roles_of(user_id: int) -> set[str]:
    """Return the names of the roles that a user holds."""
    held = select(Role.name).join(RoleMapping).where(RoleMapping.user_id == user_id)
    return set(db.session.scalars(held))


def grant(user_id: int, name: str) -> bool:
    """Give a user a role, which comes into being with its first holder; False if it had it."""
    if name in roles_of(user_id):
        return False
    with transaction():
        role = db.session.scalar(select(Role).where(Role.name == name)) or Role(name=name)
        db.session.add(role)
        db.session.flush()
        db.session.add(RoleMapping(user_id=user_id, role_id=role.id))
    return True


def revoke(user_id: int, name: str) -> bool:
    """Take a role from a user; False if it had none of that name."""
    if name not in roles_of(user_id):
        return False
    role = select(Role.id).where(Role.name == name).scalar_subquery()
    db.session.execute(
        delete(RoleMapping).where(RoleMapping.user_id == user_id, RoleMapping.role_id == role)
    )
    return True


def holders() -> list[tuple[str, int]]:
    """Return every role with the id of each of its holders."""
    pairs = select(Role.name, RoleMapping.user_id).join(RoleMapping)
    return [(name, user_id) for name, user_id in db.session.execute(pairs.order_by(Role.name))]
