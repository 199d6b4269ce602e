"""The clients of the providers that an app has."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from app.state import AppState

if TYPE_CHECKING:
    # It needs libraries that are an extra, and is imported only if there are providers.
    from .client import ProviderClient

clients: "AppState[Mapping[str, ProviderClient]]" = AppState(
    "clients of providers", lambda _app: {}
)
