"""Registration of the admin page, its calls, and the lists that they read."""

from flask import Flask

from app.rest.endpoint import Endpoints, register_endpoints

from . import page
from .calls import MODEL, RULES, calls
from .endpoints import deliveries, users

__all__ = ["calls", "init_app"]


def init_app(app: Flask) -> None:
    """Serve the page and the calls; ACLS may allow others single calls, and deny admins none."""
    page.init_app(app)
    users.init_app(app)
    deliveries.init_app(app)
    register_endpoints(app, Endpoints(MODEL, calls, (), kept=RULES))
