"""Reading the settings of a data source, checking them, and finding the secrets in them."""

import json
import os
import re
from pathlib import Path

from marshmallow import Schema, ValidationError

from app.connector.errors import ConfigError, translate_errors
from app.connector.redaction import secrets_by_name
from app.connector.types import JsonObject, JsonValue, Settings
from app.connector.values import EnvText, environment_values
from app.environment import ENVIRONMENT, EnvironmentVariableError, read_variable
from app.problems import Problems, join_path, suggest

from .leniency import adapt
from .options import source_layers
from .schema import DataSourceSettings

_BASE_URL = re.compile(r"https?://[^/?#@\s]+(/[^?#\s]*)?", re.IGNORECASE)
BASE_URL_MESSAGE = "must be http:// or https:// and a host, without credentials, query or fragment"
# A url that does not start with the base url.
_COMPLETE_URL = re.compile(r"\s*([a-z]+://|\{)", re.IGNORECASE)
_NAMES_ONLY = ("functions", "variables", "acls")


def read_settings(path: str | os.PathLike[str], name: str) -> JsonValue:
    """Return the settings of one data source from a JSON file that maps names to settings."""

    def unreadable(error: Exception) -> ConfigError:
        return ConfigError({str(path): [f"cannot be read: {error}"]}, name)

    with translate_errors((OSError, ValueError, RecursionError), unreadable):
        document = json.loads(Path(path).read_text(encoding="utf-8-sig"))
    known: JsonObject = document if isinstance(document, dict) else {}
    if name not in known:
        message = f"has no data source '{name}'{suggest(name, known)}"
        raise ConfigError({str(path): [message]}, name)
    return known[name]


def substitute_environment(value: JsonValue, problems: Problems, path: str = "") -> JsonValue:
    """Return a copy of the settings with each `{"$env": "NAME"}` replaced by its value."""
    if isinstance(value, list):
        return [
            substitute_environment(item, problems, join_path(path, index))
            for index, item in enumerate(value)
        ]
    if not isinstance(value, dict):
        return value
    if ENVIRONMENT in value:
        return _from_environment(value, problems, path)
    return {
        key: substitute_environment(item, problems, join_path(path, str(key)))
        for key, item in value.items()
    }


def _from_environment(value: JsonObject, problems: Problems, path: str) -> EnvText:
    name = value[ENVIRONMENT]
    if len(value) > 1 or not isinstance(name, str):
        problems.add(path, 'must be {"$env": "NAME"} without other keys')
        return EnvText()
    # No environment variable can have a lone surrogate in its name.
    printable = name.encode(errors="backslashreplace").decode()
    try:
        text = read_variable(name) if printable == name else None
    except EnvironmentVariableError as error:
        problems.add(path, str(error))
        return EnvText()
    if text is None:
        problems.add(path, f"environment variable {printable} is not set")
    return EnvText(text or "")


def load(schema: Schema, data: JsonValue, path: str, problems: Problems) -> JsonObject | None:
    """Return the valid entries of an object of settings; None if it is not an object.

    Problems of the others are collected, so that all are reported at once.
    """
    try:
        loaded: JsonObject = schema.load(adapt(schema, data, path, problems))
    except ValidationError as error:
        _note(error.messages, path, problems)
        if not isinstance(data, dict):
            return None
        valid = error.valid_data if isinstance(error.valid_data, dict) else {}
        return {key: value for key, value in valid.items() if key not in error.messages_dict}
    return loaded


def _note(messages: JsonValue, path: str, problems: Problems) -> None:
    """Add the messages of a ValidationError, which are nested as the settings are."""
    if isinstance(messages, dict):
        for key, below in messages.items():
            _note(below, path if key == "_schema" else join_path(path, key), problems)
        return
    for message in messages:
        problems.add(path, message)


def check_settings(filled: JsonValue, problems: Problems) -> JsonObject:
    """Return the valid settings of a data source, and report the problems of the others."""
    loaded = load(DataSourceSettings(), filled, "", problems) or {}
    needs_base = _needs_base(loaded)
    for path, layer in source_layers(loaded).items():
        if is_base_url(layer):
            continue
        if needs_base:
            problems.add(join_path(path, "baseURL"), BASE_URL_MESSAGE)
        else:
            problems.warn(join_path(path, "baseURL"), f"ignored: {BASE_URL_MESSAGE}")
            del layer["baseURL"]
    return loaded


def is_base_url(layer: Settings) -> bool:
    """Return True if `baseURL` among options is valid or missing."""
    return _BASE_URL.fullmatch(layer.get("baseURL", "http://unset")) is not None


def _needs_base(loaded: Settings) -> bool:
    """Return True if there are resources or relative urls."""
    operations = loaded.get("operations")
    return not operations or loaded.get("crud", False) or any(map(_is_relative, operations))


def _is_relative(operation: object) -> bool:
    template = operation.get("template") if isinstance(operation, dict) else None
    url = template.get("url") if isinstance(template, dict) else None
    return isinstance(url, str) and not _COMPLETE_URL.match(url)


def secrets_in_settings(settings: JsonValue) -> list[str]:
    """Return the settings' secrets: values from the environment, and those named like secrets."""
    return [*environment_values(settings), *secrets_by_name(_without_names(settings))]


def _without_names(settings: JsonValue) -> JsonValue:
    if isinstance(settings, list):
        return [_without_names(item) for item in settings]
    if not isinstance(settings, dict):
        return settings
    return {key: _without_names(item) for key, item in settings.items() if key not in _NAMES_ONLY}
