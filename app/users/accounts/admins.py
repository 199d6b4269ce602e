"""Admins: the last one who can log in cannot be removed."""

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import false, select

from app.access.admins import is_admin
from app.access.roles import ADMIN, Role
from app.database.session import db, transaction
from app.errors import LastAdmin
from app.users.models import User


@contextmanager
def keeping_admin() -> Iterator[None]:
    """Run a block that may disable or delete users, or revoke roles, in a transaction.

    Raises LastAdmin, and rolls back the block, if no admin would be left who can log in. Only one
    block runs at a time: of two admins who disable each other, one succeeds. It is a context
    manager.
    """
    with transaction():
        _lock()
        had_admin = has_admin()
        yield
        if had_admin and not has_admin():
            raise LastAdmin()


def has_admin() -> bool:
    """Return True if there is a user with the role ADMIN who can log in."""
    can_log_in = User.disabled_at.is_(None), User.service_account == false()
    admins = select(User.id).where(is_admin(User.id), *can_log_in)
    return db.session.scalar(admins.limit(1)) is not None


def _lock() -> None:
    """Lock the role of admins until the end of the transaction; granting it needs no lock.

    SQLite allows one writer at a time and ignores the lock.
    """
    role = select(Role.id).where(Role.name == ADMIN)
    db.session.scalars(role.with_for_update(key_share=True)).all()
