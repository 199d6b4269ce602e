"""Setup of logins by providers, whose libraries are an extra."""

from importlib import import_module

from flask import Flask

from app.config import require_extra
from app.database.purging import purger

from .flows import purge_batch
from .models import LoginFlow


def init_app(app: Flask) -> None:
    """Serve the configured providers; raise ConfigurationError if the libraries are missing."""
    require_extra("PROVIDERS", "oidc", "authlib", "joserfc")
    import_module("app.oauth.views").init_app(app)
    purger.of(app).add(LoginFlow.__tablename__, purge_batch)
