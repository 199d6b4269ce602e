"""Checking the settings of a data source, and finding the secrets in them."""

import re
from collections.abc import Mapping
from typing import Any

from app.connector.redaction import secrets_by_name
from app.connector.values import environment_values
from app.problems import Problems, join_path, type_name

from .fields import load
from .options import source_layers
from .schema import DataSourceSettings

_BASE_URL = re.compile(r"https?://[^/?#@\s]+(/[^?#\s]*)?", re.IGNORECASE)
BASE_URL_MESSAGE = "must be http:// or https:// and a host, without credentials, query or fragment"
# A url that does not start with the base url.
_COMPLETE_URL = re.compile(r"\s*([a-z]+://|\{)", re.IGNORECASE)
_NAMES_ONLY = ("functions", "variables", "acls")


def check_settings(filled: Any, problems: Problems) -> dict[str, Any]:
    """Return the valid settings and report what is wrong with the others."""
    if not isinstance(filled, Mapping):
        problems.add("", f"the settings must be an object, got {type_name(filled)}")
        return {}
    loaded = load(DataSourceSettings(), filled, "", problems) or {}
    needs_base = _needs_base(loaded)
    for path, layer in source_layers(loaded).items():
        if not is_base_url(layer) and needs_base:
            problems.add(join_path(path, "baseURL"), BASE_URL_MESSAGE)
        elif not is_base_url(layer):
            problems.warn(join_path(path, "baseURL"), f"ignored: {BASE_URL_MESSAGE}")
            del layer["baseURL"]
    return loaded


def is_base_url(layer: Mapping[str, Any]) -> bool:
    """Tell whether `baseURL` among options is one, or missing."""
    return _BASE_URL.fullmatch(layer.get("baseURL", "http://unset")) is not None


def _needs_base(loaded: Mapping[str, Any]) -> bool:
    """Tell whether there are resources or relative urls."""
    operations = loaded.get("operations")
    return not operations or loaded.get("crud", False) or any(map(_is_relative, operations))


def _is_relative(operation: Any) -> bool:
    template = operation.get("template") if isinstance(operation, dict) else None
    url = template.get("url") if isinstance(template, dict) else None
    return isinstance(url, str) and not _COMPLETE_URL.match(url)


def secrets_in_settings(settings: Any) -> list[str]:
    """Return the secrets of the settings: what is from the environment, or named like a secret."""
    return [*environment_values(settings), *secrets_by_name(_without_names(settings))]


def _without_names(settings: Any) -> Any:
    if isinstance(settings, list):
        return [_without_names(item) for item in settings]
    if not isinstance(settings, dict):
        return settings
    return {key: _without_names(item) for key, item in settings.items() if key not in _NAMES_ONLY}
