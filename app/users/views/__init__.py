"""The endpoints of users and access tokens, in addition to those of every collection."""

from flask import Flask

from app.database.purging import purger
from app.rest.views.registration import register_resource
from app.users.models import AccessToken
from app.users.resource import further_users, users_of
from app.users.sessions.tokens import purge_batch

from . import accounts, pages, sessions

__all__ = [
    "accounts",
    "init_app",
    "pages",
    "sessions",
]


def init_app(app: Flask) -> None:
    """Serve the resource of users, with its own endpoints and pages."""
    for resource in (users_of(app), *further_users.of(app)):
        register_resource(app, resource)
    accounts.init_app(app)
    pages.init_app(app)
    purger.of(app).add(AccessToken.__tablename__, purge_batch)
