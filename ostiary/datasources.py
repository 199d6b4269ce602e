"""The data sources of the settings."""

from app.datasources import data_source

__all__ = ["data_source"]
