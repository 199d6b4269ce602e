"""Endpoints of a user's identities; without a provider they are declared but not served."""

from collections.abc import Sequence

from flask import Flask

from app import errors, ids
from app.access.rules import OWNER, READ, WRITE
from app.settings import Settings
from app.users.models import User
from app.users.resource import users
from app.users.sessions import login_methods

from . import linking
from .models import ExternalIdentity
from .schemas import IdentitySchema


def init_app(app: Flask) -> None:
    """Ask owners of accounts about the identities that were added before their proof."""
    login_methods.register(app, linking)


def _is_served(settings: Settings) -> bool:
    return bool(settings["PROVIDERS"])


@users.endpoint(
    "__get__identities",
    READ,
    "GET /<id>/identities",
    permits=OWNER,
    answer=[IdentitySchema],
    is_served=_is_served,
    summary="List a user's identities at providers",
)
def identities(user: User) -> Sequence[ExternalIdentity]:
    """List a user's identities at providers."""
    return linking.list_identities(user.id)


@users.endpoint(
    "__destroyById__identities",
    WRITE,
    "DELETE /<id>/identities/<fk>",
    permits=OWNER,
    errors=(errors.LastCredential(), errors.ModelNotFound("identity", 1)),
    is_served=_is_served,
    summary="Remove one of a user's identities, but not the last way to log in",
)
def unlink(user: User, fk: str) -> None:
    """Remove one of a user's identities, but not the last way to log in."""
    linking.unlink(user.id, ids.INTEGER.parse(fk), fk)
