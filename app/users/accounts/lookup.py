"""Looking up users."""

from collections.abc import Mapping

from sqlalchemy import func, select

from app.access.roles import Role, RoleMapping
from app.database.session import db
from app.errors import ModelNotFound
from app.ids import Id
from app.users.models import User, user_model
from app.users.names import lookup_email
from app.users.user_models import FIRST

#: Maximum service accounts in one response.
MAX_LISTED = 1000


def get_user(user_id: Id) -> User:
    """Return the user with this id; raise ModelNotFound."""
    user = db.session.get(user_model(), user_id)
    if user is None:
        raise ModelNotFound("user", user_id)
    return user


def find_user(email: str, realm: str | None = None, principal_type: str = FIRST) -> User | None:
    """Return the user of a model with this email in this realm, or None."""
    model = user_model()
    named = model.email == lookup_email(email), model.principal_type == principal_type
    return db.session.scalar(select(model).where(*named, model.realm == (realm or "")))


def find_realms(email: str, principal_type: str = FIRST) -> list[str | None]:
    """Return the realms that have a user of a model with this email; None stands for no realm."""
    named = User.email == lookup_email(email), User.principal_type == principal_type
    realms = select(User.realm).where(*named).order_by(User.realm)
    return [realm or None for realm in db.session.scalars(realms)]


def list_service_accounts() -> list[User]:
    """Return all service accounts in the order of creation, at most 1000."""
    model = user_model()
    found = select(model).where(model.service_account).order_by(model.created, model.id)
    return list(db.session.scalars(found.limit(MAX_LISTED)))


def list_members(role_id: Id, limit: int, skip: int) -> list[Mapping[str, object]]:
    """Return the users with a role, by id: id, email, username and realm."""
    members = select(RoleMapping.user_id).where(RoleMapping.role_id == role_id)
    # Only the users of the page are read.
    page = members.order_by(RoleMapping.user_id).limit(limit).offset(skip)
    columns = User.id, User.email, User.username, func.nullif(User.realm, "").label("realm")
    users = select(*columns).where(User.id.in_(page.scalar_subquery())).order_by(User.id)
    return [row._asdict() for row in db.session.execute(users)]


def list_users(principal_type: str | None = None) -> list[User]:
    """Return the users of a model, by default all, in the order of creation."""
    model = user_model()
    found = select(model).order_by(model.created, model.id)
    if principal_type is not None:
        found = found.where(model.principal_type == principal_type)
    return list(db.session.scalars(found))


def list_role_holders() -> list[tuple[str, Id, str, str | None, str]]:
    """Return the holders of roles: the role's name, and the user's id, email, realm and model."""
    realm = func.nullif(User.realm, "")
    holders = select(Role.name, User.id, User.email, realm, User.principal_type)
    holders = holders.join_from(Role, RoleMapping).join(User, User.id == RoleMapping.user_id)
    return [tuple(row) for row in db.session.execute(holders.order_by(Role.name, User.id))]
