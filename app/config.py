"""Reading and checking the layers of the settings."""

import json
import os
import runpy
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from traceback import extract_tb
from typing import Any

from flask import Flask
from flask.config import Config
from marshmallow import ValidationError

from app.environment import FILE, EnvironmentVariableError, read_variable
from app.problems import ConfigurationError, closest, describe_error
from app.settings import SettingsSchema
from app.state import AppState

ENVIRONMENT_PREFIX = "APP_"
# Settings with a file of their own in the project folder.
INSTANCE_FILES = {"DATA_SOURCES": "datasources.json", "PROVIDERS": "providers.json"}
# Settings that name a file or folder of the project; by default this one, if it exists.
PROJECT_FILES = {
    "MODELS_FOLDER": "models",
    "PROJECT_FILE": "project.py",
    "TEMPLATES_FOLDER": "templates",
}
# Environment variables with a name of their own instead of the prefix.
ENVIRONMENT_NAMES = {
    "SQLALCHEMY_DATABASE_URI": "DATABASE_URL",
    "READ_DATABASE_URL": "READ_DATABASE_URL",
    "THREADS": "THREADS",
}
# The variables with the URL of a database.
DATABASES = "SQLALCHEMY_DATABASE_URI", "READ_DATABASE_URL"

SCHEMA = SettingsSchema()

# The sources of settings: files of the project, or the environment. Other settings have their
# defaults.
FILES, ENVIRONMENT = "config", "environment"
setting_sources = AppState[Mapping[str, str]]("sources of settings")


def require_extra(setting: str, extra: str, *libraries: str) -> None:
    """Raise ConfigurationError if a library of an extra that a setting requires is missing."""
    if not all(map(find_spec, libraries)):
        raise ConfigurationError(
            f"{setting} needs the extra {extra}; install it with pip install 'ostiary[{extra}]'"
        )


def instance_path() -> str | None:
    """Return the folder that INSTANCE_PATH names, or None for `instance/` beside the code.

    Raises ConfigurationError for a folder that does not exist, as a new one would be empty.
    """
    named = os.environ.get("INSTANCE_PATH")
    if named and not os.path.isdir(named):
        raise ConfigurationError(f"INSTANCE_PATH is no folder: {named}")
    return os.path.abspath(named) if named else None


def configure(app: Flask, overrides: Mapping[str, object] | None) -> None:
    """Fill `app.config` from the layers; raise ConfigurationError for invalid settings.

    The layers are the defaults, the project's `config.py` and the environment. `overrides`, used by
    tests, replace the latter two.
    """
    given = Config(app.root_path)
    given.update(read_project_files(app.instance_path) if overrides is None else overrides)
    sources = dict.fromkeys(given, FILES)
    if overrides is None:
        _read_environment(given)
        _warn_of_names_without_prefix(app)
        sources |= dict.fromkeys(_names_in_environment(), ENVIRONMENT)
    setting_sources.set(app, sources)
    known = SCHEMA.fields
    _refuse_unknown(app, given, known)
    app.config.update(given)
    app.config.update(_load({name: given[name] for name in given if name in known}))
    app.config["MAX_CONTENT_LENGTH"] = app.config["MAX_BODY_BYTES"]


def read_project_files(folder: str) -> dict[str, Any]:
    """Return the settings in a project's files; raise ConfigurationError."""
    given = {}
    for name, file in INSTANCE_FILES.items():
        if os.path.exists(path := os.path.join(folder, file)):
            given[name] = _read_json(path)
    for name, file in PROJECT_FILES.items():
        if os.path.exists(os.path.join(folder, file)):
            given[name] = file
    given["MIGRATIONS_FOLDER"] = "migrations"
    if os.path.exists(path := os.path.join(folder, "config.py")):
        given.update(_read_python(path))
    return given


def _read_json(path: str) -> object:
    try:
        with open(path, encoding="utf-8-sig") as file:
            return json.load(file)
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"{path} cannot be read: {error}") from None


def _read_python(path: str) -> dict[str, Any]:
    try:
        values = runpy.run_path(path)
    except Exception as error:
        raise ConfigurationError(f"{_place(error, path)}: {describe_error(error)}") from error
    for name in values:
        if name.upper() in SCHEMA.fields and not name.isupper():
            raise ConfigurationError(f"{path}: {name} is not a setting; write {name.upper()}")
    return {name: value for name, value in values.items() if name.isupper()}


def _place(error: Exception, path: str) -> str:
    """Return a file with the line of an error in it."""
    lines = [frame.lineno for frame in extract_tb(error.__traceback__) if frame.filename == path]
    if isinstance(error, SyntaxError) and error.filename == path:
        lines.append(error.lineno)
    return ":".join(map(str, [path, *lines[-1:]]))


def _read_environment(given: Config) -> None:
    _refuse_lower_case()
    try:
        given.from_prefixed_env(ENVIRONMENT_PREFIX.rstrip("_"))
    except (TypeError, AttributeError) as error:
        raise ConfigurationError(
            "the APP_* environment sets a value and, with __, something inside it"
        ) from error
    try:
        _read_files(given)
        urls = {name: read_variable(ENVIRONMENT_NAMES[name]) for name in DATABASES}
    except EnvironmentVariableError as error:
        raise ConfigurationError(str(error)) from None
    if threads := os.environ.get("THREADS"):
        given["THREADS"] = threads
    for name, url in urls.items():
        if url:
            scheme, separator, rest = url.partition("://")
            if scheme in {"postgres", "postgresql"}:
                scheme = "postgresql+psycopg"
            given[name] = f"{scheme}{separator}{rest}"


def _names_in_environment() -> Iterator[str]:
    """Yield the names of settings that are set, completely or partly, by the environment."""
    for name in os.environ:
        key, *_ = name.removeprefix(ENVIRONMENT_PREFIX).split("__")
        if name.startswith(ENVIRONMENT_PREFIX):
            yield key if key in SCHEMA.fields else key.removesuffix(FILE)
    for setting, name in ENVIRONMENT_NAMES.items():
        if os.environ.get(name) or os.environ.get(name + FILE):
            yield setting


def _read_files(given: Config) -> None:
    """Replace the path in a variable such as APP_MAIL_URL_FILE by the file's content."""
    for name in filter(_names_file, os.environ):
        *outside, key = name.removeprefix(ENVIRONMENT_PREFIX).split("__")
        entries: dict[str, Any] = given
        for outer in outside:
            entries = entries[outer]
        meant = name.removesuffix(FILE)
        if inside := next((other for other in os.environ if other.startswith(f"{meant}__")), None):
            raise EnvironmentVariableError(f"{name} and {inside} are both set")
        del entries[key]
        entries[key.removesuffix(FILE)] = _parse(read_variable(meant) or "")


def _names_file(variable: str) -> bool:
    """Return True if a variable has the path of a file whose content is meant."""
    is_file = variable.startswith(ENVIRONMENT_PREFIX) and variable.endswith(FILE)
    return is_file and variable.removeprefix(ENVIRONMENT_PREFIX) not in SCHEMA.fields


def _parse(text: str) -> object:
    """Return the value of a JSON text; other texts unchanged, as Flask does."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _refuse_lower_case() -> None:
    """Raise ConfigurationError for a known setting that is not in capitals."""
    known = SCHEMA.fields
    for name in os.environ:
        prefix, _, rest = name.partition("_")
        setting, *inside = rest.split("__")
        names = {setting.upper(), setting.upper().removesuffix(FILE)}
        if f"{prefix}_".upper() != ENVIRONMENT_PREFIX or names.isdisjoint(known):
            continue
        meant = "__".join([ENVIRONMENT_PREFIX + setting.upper(), *inside])
        if name != meant:
            raise ConfigurationError(f"{name} in the environment is not a setting; write {meant}")


def _warn_of_names_without_prefix(app: Flask) -> None:
    """Warn of variables named like settings; other programs may use them, so this is no error.

    Valid names without the prefix are those in ENVIRONMENT_NAMES.
    """
    for name in os.environ:
        setting = name.upper()
        if setting not in SCHEMA.fields or name in ENVIRONMENT_NAMES.values():
            continue
        meant = ENVIRONMENT_NAMES.get(setting, ENVIRONMENT_PREFIX + setting)
        app.logger.warning("%s in the environment is not read; the setting is %s", name, meant)


def _refuse_unknown(app: Flask, given: Config, known: Mapping[str, object]) -> None:
    for name in given:
        if name in known or name in app.config:
            continue
        similar = closest(name, known)
        meant = f"; did you mean {_label(similar, like=name)}?" if similar else ""
        raise ConfigurationError(f"{_label(name)} is not a setting{meant}")


def _load(given: dict[str, object]) -> dict[str, Any]:
    try:
        return dict(SCHEMA.load(given))
    except ValidationError as error:
        name, problem = next(iter(error.messages_dict.items()))
        raise ConfigurationError(f"{_label(name)} cannot be used: {_flatten(problem)}") from None


def _flatten(problem: Any) -> str:
    while isinstance(problem, dict):
        key, inner = next(iter(problem.items()))
        problem = [f"{key}: {_flatten(inner)}"]
    return str(problem[0])


def _label(name: str, like: str | None = None) -> str:
    """Return a setting's name as its author wrote it: with APP_ if it is from the environment."""
    start = ENVIRONMENT_PREFIX + (like or name)
    if any(key in (start, f"{start}{FILE}") or key.startswith(f"{start}__") for key in os.environ):
        return ENVIRONMENT_PREFIX + name
    return name
