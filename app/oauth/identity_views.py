"""The endpoints of a user's identities; without a provider they are declared and not served."""

from collections.abc import Mapping, Sequence
from typing import Any

from flask import Flask

from app import errors, ids
from app.access.rules import READ, WRITE
from app.users.resource import users
from app.users.sessions import login_methods

from . import linking
from .models import ExternalIdentity
from .schemas import IdentitySchema


def init_app(app: Flask) -> None:
    """Ask the owners of accounts about the identities that were added before they came."""
    login_methods.register(app, linking)


def _is_served(settings: Mapping[str, Any]) -> bool:
    return bool(settings["PROVIDERS"])


@users.endpoint(
    "__get__identities",
    READ,
    "GET /<id>/identities",
    answer=[IdentitySchema],
    is_served=_is_served,
)
def identities(user: Any) -> Sequence[ExternalIdentity]:
    """List a user's identities at providers."""
    return linking.list_identities(user.id)


@users.endpoint(
    "__destroyById__identities",
    WRITE,
    "DELETE /<id>/identities/<fk>",
    errors=(errors.LastCredential(), errors.ModelNotFound("identity", 1)),
    is_served=_is_served,
)
def unlink(user: Any, fk: str) -> None:
    """Remove one of a user's identities, but not the last way to log in."""
    linking.unlink(user.id, ids.INTEGER.parse(fk), fk)
