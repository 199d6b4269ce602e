"""Create the data sources of the settings."""

from flask import Flask

from app.config import ConfigurationError
from app.connector import ConfigError, DataSource
from app.observability.origin import current_request_id

# In which header calls send the request id, as the service's own answers do.
REQUEST_ID_HEADER = "X-Request-Id"


def create_sources(app: Flask) -> None:
    """Create every data source of DATA_SOURCES; raise ConfigurationError for invalid settings.

    No connection is opened before the first call.
    """
    defaults = {"requestIdHeader": REQUEST_ID_HEADER}
    if compatibility := app.config["COMPATIBILITY"]:
        defaults["compatibility"] = compatibility
    app.extensions["datasources"] = {
        name: _make_source(name, settings, defaults)
        for name, settings in app.config["DATA_SOURCES"].items()
    }


def data_sources(app: Flask) -> dict[str, DataSource]:
    """Return the app's data sources by name; none unless DATA_SOURCES has some."""
    sources: dict[str, DataSource] = app.extensions.get("datasources", {})
    return sources


def _make_source(name: str, settings: object, defaults: dict[str, str]) -> DataSource:
    if not isinstance(settings, dict):
        raise ConfigurationError(f"data source {name!r} must be an object")
    try:
        return DataSource.from_config(
            {**defaults, **settings}, name=name, request_id=current_request_id
        )
    except ConfigError as error:
        raise ConfigurationError(str(error)) from None
