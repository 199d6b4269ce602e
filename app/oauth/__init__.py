"""Login by OpenID Connect and OAuth 2.0 providers."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from app.state import AppState

if TYPE_CHECKING:
    # Only imported if there are providers: they require the connector, and libraries of an extra.
    from .client import ProviderClient

# The clients of the app's providers by name.
clients: "AppState[Mapping[str, ProviderClient]]" = AppState(
    "clients of providers", lambda _app: {}
)
