"""The settings with masked secrets."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from flask import current_app
from sqlalchemy import make_url

from app.config import DATABASES, SCHEMA, setting_sources
from app.settings import SECRET

DEFAULT = "default"
# Types that JSON has.
PLAIN = (str, int, float, bool, type(None))


def list_settings() -> list[Mapping[str, object]]:
    """Return all settings: value, default, description, source, and whether one is secret."""
    # Imported on first use: the connector takes time and memory to load.
    masking = Masking(import_module("app.connector.redaction"))
    sources, defaults = setting_sources.current, SCHEMA.load({})
    return [
        {
            "name": name,
            **masking.mask(name, current_app.config[name]),
            "default": as_json(defaults[name]),
            "description": field.metadata["description"],
            "source": sources.get(name, DEFAULT),
        }
        for name, field in SCHEMA.fields.items()
    ]


def as_json(value: object) -> object:
    """Return a setting's value as JSON, or the name of its type if JSON cannot express it."""
    if isinstance(value, Mapping):
        return {str(key): as_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [*map(as_json, value)]
    return value if isinstance(value, PLAIN) else type(value).__name__


class Masking:
    """Masks secrets as data sources do: entries with a secret's name, credentials in URLs."""

    def __init__(self, redaction: Any) -> None:
        """Mask by the functions of this module."""
        self._redaction = redaction

    def mask(self, name: str, value: object) -> dict[str, object]:
        """Return the value of a setting with its secrets masked, and whether it had any."""
        shown = as_json(value)
        if SCHEMA.fields[name].metadata.get(SECRET):
            masked: object = self._redaction.MASK if value else shown
        elif name in DATABASES and value:
            # SQLAlchemy parses database URLs by rules of its own, so it finds the password.
            hidden = make_url(str(value)).render_as_string(hide_password=True)
            masked = self._redaction.masked_url(hidden)
        else:
            secrets = self._redaction.secrets_by_name(shown)
            masked = self._masked(self._redaction.Redactor(secrets).structure(shown))
        return {"value": masked, "is_secret": masked != shown}

    def _masked(self, value: object) -> object:
        """Mask the credentials in all URLs of a structure."""
        if isinstance(value, dict):
            return {key: self._masked(item) for key, item in value.items()}
        if isinstance(value, list):
            return [*map(self._masked, value)]
        return self._redaction.masked_url(value) if isinstance(value, str) else value
