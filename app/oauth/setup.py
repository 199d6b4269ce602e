"""Setup of logins by identity providers, whose libraries are an extra."""

from importlib import import_module

from flask import Flask

from app.config import require_extra


def init_app(app: Flask) -> None:
    """Serve the configured providers; raise ConfigurationError if the libraries are missing."""
    require_extra("PROVIDERS", "oidc", "authlib", "joserfc")
    import_module("app.oauth.views").init_app(app)
