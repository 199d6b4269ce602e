"""Data sources: the connector's settings, commands and endpoints inside the service."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from app.state import AppState

if TYPE_CHECKING:
    # The connector takes time and memory to load; it is only imported if there are data sources.
    from app.connector import DataSource

data_sources: "AppState[Mapping[str, DataSource]]" = AppState("data sources", lambda _app: {})


def data_source(name: str) -> "DataSource":
    """Return the current app's data source with this name; raise LookupError.

    Example::

        data_source("geo").geocode("107 S B St", "San Mateo", "94401")
    """
    sources = data_sources.current
    if name not in sources:
        known = ", ".join(sources) or "none"
        raise LookupError(f"there is no data source {name!r}; there are {known}")
    return sources[name]
