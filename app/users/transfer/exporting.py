"""Export of users to a CSV file."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, TextIO, cast

from sqlalchemy import ColumnElement, select, true

from app.access.roles import ROLE_SEPARATOR, Role, RoleMapping
from app.database.session import db
from app.ids import Id
from app.times import iso_time
from app.users.models import User, user_model
from app.users.user_models import FIRST, properties_of

from .csv_files import HASH_COLUMN, to_text, write_rows

if TYPE_CHECKING:
    from app.properties.properties import Property

# Exported columns; password hashes only on request.
COLUMNS = ("id", "email", "username", "realm", "emailVerified", "created", "disabledAt", "roles")


# Users per query.
PAGE = 500


def export_users(file: TextIO, with_hashes: bool = False, principal_type: str = FIRST) -> int:
    """Write all users of a model to a file, without password hashes unless asked; return how many.

    Service accounts are left out: they are useless without their tokens, which cannot be moved.
    """
    model, properties = user_model(), properties_of(principal_type)
    names = [*COLUMNS, *(declared.name for declared in properties)]
    write_rows(file, [[*names, HASH_COLUMN] if with_hashes else names])
    count, after = 0, cast("ColumnElement[bool]", true())
    while users := db.session.scalars(
        select(model)
        .where(after, ~model.service_account, model.principal_type == principal_type)
        .order_by(model.id)
        .limit(PAGE)
    ).all():
        roles = _roles_of([user.id for user in users])
        cells = (_cells(user, roles.get(user.id, []), properties, with_hashes) for user in users)
        write_rows(file, cells)
        count, after = count + len(users), model.id > users[-1].id
    return count


def _roles_of(user_ids: Sequence[Id]) -> dict[Id, list[str]]:
    """Return the roles of users by user id."""
    held = select(RoleMapping.user_id, Role.name).join(Role).order_by(Role.name)
    roles: dict[Id, list[str]] = {}
    for user_id, name in db.session.execute(held.where(RoleMapping.user_id.in_(user_ids))):
        roles.setdefault(user_id, []).append(name)
    return roles


def _cells(
    user: User, roles: Iterable[str], properties: "Iterable[Property]", with_hash: bool
) -> list[str]:
    """Return the cells of COLUMNS, of these properties, and of HASH_COLUMN if requested."""
    verified = "true" if user.email_verified else "false"
    names = [user.email, user.username or "", user.realm, verified, iso_time(user.created)]
    disabled = iso_time(user.disabled_at) if user.disabled_at else ""
    own = [to_text(declared, user) for declared in properties]
    cells = [str(user.id), *names, disabled, ROLE_SEPARATOR.join(roles), *own]
    return [*cells, user.password_hash or ""] if with_hash else cells
