"""Reading settings from a JSON file and from environment variables."""

import json
import os
from pathlib import Path

from app.connector.errors import ConfigError, translate_errors
from app.connector.types import JsonObject, JsonValue
from app.connector.values import EnvText
from app.environment import VariableError, read_variable
from app.problems import Problems, join_path, suggest


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
    if "$env" in value:
        return _from_environment(value, problems, path)
    return {
        key: substitute_environment(item, problems, join_path(path, str(key)))
        for key, item in value.items()
    }


def _from_environment(value: JsonObject, problems: Problems, path: str) -> EnvText:
    name = value["$env"]
    if len(value) > 1 or not isinstance(name, str):
        problems.add(path, 'must be {"$env": "NAME"} without other keys')
        return EnvText()
    # No environment variable can have a lone surrogate in its name.
    printable = name.encode(errors="backslashreplace").decode()
    try:
        text = read_variable(name) if printable == name else None
    except VariableError as error:
        problems.add(path, str(error))
        return EnvText()
    if text is None:
        problems.add(path, f"environment variable {printable} is not set")
    return EnvText(text or "")
