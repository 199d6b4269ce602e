"""Data sources: the connector's settings, commands and endpoints inside the service."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from app.state import AppState

if TYPE_CHECKING:
    # The connector takes time and memory to load; it is imported only if there are data sources.
    from app.connector import DataSource

data_sources: "AppState[Mapping[str, DataSource]]" = AppState("data sources", lambda _app: {})
