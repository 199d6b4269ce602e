"""Login by OpenID Connect and OAuth 2.0 providers."""

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING

from flask import Flask

from app.config import require_extra
from app.state import AppState

if TYPE_CHECKING:
    # Only imported if there are providers: they require the connector, and libraries of an extra.
    from .client import ProviderClient

# The clients of the app's providers by name.
clients: "AppState[Mapping[str, ProviderClient]]" = AppState(
    "clients of providers", lambda _app: {}
)


def init_app(app: Flask) -> None:
    """Serve the configured providers; raise ConfigurationError if the libraries are missing."""
    require_extra("PROVIDERS", "oidc", "authlib", "joserfc")
    import_module("app.oauth.views").init_app(app)
