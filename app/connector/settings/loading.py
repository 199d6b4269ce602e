"""Checking the settings of a data source, and finding the secrets in them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from app.connector.problems import ErrorCollector, type_name
from app.connector.redaction import secrets_by_name
from app.connector.values import environment_values

from .fields import load, unknown_key
from .schema import DATA_SOURCE_KEYS, DataSourceSettings

_BASE_URL = re.compile(r"https?://[^/?#@\s]+(/[^?#\s]*)?", re.IGNORECASE)
_BASE_MESSAGE = "must be http:// or https:// and a host, without credentials, query or fragment"
_NAMES_ONLY = ("functions", "variables", "acls")


def check_settings(filled: Any, errors: ErrorCollector) -> dict[str, Any]:
    """Return the valid settings and report what is wrong with the others."""
    if not isinstance(filled, Mapping):
        errors.add("", f"the settings must be an object, got {type_name(filled)}")
        return {}
    known = {key: value for key, value in filled.items() if key in DATA_SOURCE_KEYS}
    for key in filled.keys() - known.keys():
        errors.warn(str(key), unknown_key(str(key), dict.fromkeys(DATA_SOURCE_KEYS)))
    loaded = load(DataSourceSettings(), known, "", errors) or {}
    for key in ("baseURL", "restPath"):
        if not _BASE_URL.fullmatch(loaded.get(key, "http://unset")):
            errors.add(key, _BASE_MESSAGE)
    return loaded


def secrets_in_settings(settings: Any) -> list[str]:
    """Return the secrets of the settings: what is from the environment, or named like a secret."""
    return [*environment_values(settings), *secrets_by_name(_without_names(settings))]


def _without_names(settings: Any) -> Any:
    if isinstance(settings, list):
        return [_without_names(item) for item in settings]
    if not isinstance(settings, dict):
        return settings
    return {key: _without_names(item) for key, item in settings.items() if key not in _NAMES_ONLY}
