"""Creating the data sources of the settings."""

from flask import Flask

from app.config import ConfigurationError
from app.connector import ConfigError, DataSource
from app.observability.origin import current_request_id

from . import data_sources

# The header in which calls send the request id, as in the service's own responses.
REQUEST_ID_HEADER = "X-Request-Id"


def create_sources(app: Flask) -> None:
    """Create every data source of DATA_SOURCES; raise ConfigurationError for invalid settings.

    No connection is opened before the first call.
    """
    defaults = {"requestIdHeader": REQUEST_ID_HEADER}
    if compatibility := app.config["COMPATIBILITY"]:
        defaults["compatibility"] = compatibility
    sources = {
        name: _make_source(name, settings, defaults)
        for name, settings in app.config["DATA_SOURCES"].items()
    }
    data_sources.set(app, sources)


def _make_source(name: str, settings: object, defaults: dict[str, str]) -> DataSource:
    if not isinstance(settings, dict):
        raise ConfigurationError(f"data source {name!r} must be an object")
    try:
        return DataSource.from_config(
            {**defaults, **settings}, name=name, request_id=current_request_id
        )
    except ConfigError as error:
        raise ConfigurationError(str(error)) from None
