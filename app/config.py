"""The settings: their defaults, and how the layers are read and checked."""

import json
import os
from collections.abc import Mapping
from difflib import get_close_matches
from email.utils import parseaddr
from typing import Any
from urllib.parse import urlsplit

from flask import Flask
from flask.config import Config
from marshmallow import Schema, ValidationError, fields, validate

ENVIRONMENT_PREFIX = "APP_"

DEFAULT_PORTS = {"http": 80, "https": 443}

positive = validate.Range(min=1)
# Seconds; a hundred years is as long as anything lives.
lifetime = validate.Range(min=1, max=100 * 31556926)


class ConfigurationError(Exception):
    """A setting, or something a setting points to, is unusable; says which in one sentence."""


def _is_address(value: str, *schemes: str) -> bool:
    """Tell whether a URL has one of the schemes, a host, and a port that there is, if any."""
    try:
        parts = urlsplit(value)
        return parts.scheme in schemes and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _check_mail_url(value: str) -> None:
    if not _is_address(value, "smtp", "smtps"):
        raise ValidationError("must look like smtp://user:password@host:587?starttls=1")


def _check_database_url(value: str) -> None:
    """Refuse an address whose password would be taken for its host, and shown as such."""
    if not value.startswith("sqlite") and value.count("@") > 1:
        raise ValidationError("an @ in a user name, password or option must be written %40")


def _check_sender(value: str) -> None:
    if not value.isprintable() or "@" not in parseaddr(value)[1]:
        raise ValidationError("must look like Ostiary <no-reply@example.com>")


class PublicUrl(fields.String):
    """An address as browsers write it: host in small letters, no default port (RFC 6454 4)."""

    def _deserialize(self, value: Any, *args: Any, **kwargs: Any) -> str:
        url: str = super()._deserialize(value, *args, **kwargs)
        if not _is_address(url, "http", "https") or url.endswith("/") or not url.isascii():
            raise ValidationError(
                "must be an http or https address without a trailing slash,"
                " an international name in its ASCII form (xn--...)"
            )
        parts = urlsplit(url)
        host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
        port = "" if parts.port in (None, DEFAULT_PORTS[parts.scheme]) else f":{parts.port}"
        return parts._replace(netloc=f"{host}{port}").geturl()


class TokenMiddlewareSchema(Schema):
    """Where else an access token may stand; being set at all switches cookies on."""

    cookies = fields.List(
        fields.String(), load_default=lambda: ["access_token"], validate=validate.Length(min=1)
    )
    headers = fields.List(fields.String(), load_default=list)
    params = fields.List(fields.String(), load_default=list)
    currentUserLiteral = fields.String(load_default=None)  # noqa: N815 the interface's name


class PasswordHashSchema(Schema):
    """Argon2id's cost; the defaults are OWASP's second choice for 2026 (19 MiB, two passes)."""

    time_cost = fields.Integer(strict=True, load_default=2, validate=positive)
    memory_cost = fields.Integer(strict=True, load_default=19456, validate=positive)
    parallelism = fields.Integer(strict=True, load_default=1, validate=positive)


class SettingsSchema(Schema):
    """Every setting of Ostiary, with its type and default."""

    # Base path of the REST API.
    REST_API_ROOT = fields.String(load_default="/api", validate=validate.Regexp(r"(/[\w.~-]+)+$"))
    # What links in mails start with; never taken from a request.
    PUBLIC_URL = PublicUrl(load_default="http://127.0.0.1:3000")
    # Lifetimes in seconds: of a token when login asks for none, at most, and of a reset token.
    TOKEN_TTL = fields.Integer(strict=True, load_default=1209600, validate=lifetime)
    TOKEN_MAX_TTL = fields.Integer(strict=True, load_default=31556926, validate=lifetime)
    RESET_TOKEN_TTL = fields.Integer(strict=True, load_default=900, validate=lifetime)
    # False refuses tokens in the query string.
    TOKEN_IN_QUERY = fields.Boolean(load_default=True)
    # Switches on cookies, the current-user literal and further headers or parameters.
    TOKEN_MIDDLEWARE = fields.Nested(TokenMiddlewareSchema, load_default=None, allow_none=True)
    # True: login needs a realm. A delimiter lets "realm:name" carry it, and needs it as well.
    REALM_REQUIRED = fields.Boolean(load_default=False)
    REALM_DELIMITER = fields.String(
        load_default=None, allow_none=True, validate=validate.Length(min=1)
    )
    # False: addresses are stored and compared in lower case.
    EMAIL_CASE_SENSITIVE = fields.Boolean(load_default=False)
    # Password policy, in characters; the blocklist refuses the commonest passwords.
    PASSWORD_MIN_LENGTH = fields.Integer(strict=True, load_default=8, validate=positive)
    PASSWORD_MAX_LENGTH = fields.Integer(strict=True, load_default=256, validate=positive)
    PASSWORD_BLOCKLIST = fields.Boolean(load_default=True)
    PASSWORD_HASH = fields.Nested(
        PasswordHashSchema, load_default=lambda: PasswordHashSchema().load({})
    )
    # False: only the command line creates users.
    REGISTRATION_OPEN = fields.Boolean(load_default=True)
    # A model's name: the rules that replace its own, in the reference's form.
    ACLS = fields.Dict(keys=fields.String(), load_default=None, allow_none=True)
    # A name: the settings of that data source. By default what instance/datasources.json has.
    DATA_SOURCES = fields.Dict(keys=fields.String(), load_default=dict)
    # What a logged-in caller gets when refused; 401 and 404 suit clients with LoopBack habits.
    ACL_ERROR_STATUS = fields.Integer(
        strict=True, load_default=403, validate=validate.OneOf([401, 403, 404])
    )
    # None: mails are written as files to MAIL_FOLDER, which is in instance/.
    MAIL_URL = fields.String(load_default=None, allow_none=True, validate=_check_mail_url)
    MAIL_FOLDER = fields.String(load_default="mail")
    MAIL_FROM = fields.String(load_default="Ostiary <no-reply@localhost>", validate=_check_sender)
    # How many proxies in front of the service set X-Forwarded-*.
    TRUSTED_PROXIES = fields.Integer(strict=True, load_default=0, validate=validate.Range(min=0))
    # Larger request bodies are refused with 413.
    MAX_BODY_BYTES = fields.Integer(strict=True, load_default=102400, validate=positive)
    # False: no page at /explorer. The OpenAPI document, which is for tools, stays.
    EXPLORER_ENABLED = fields.Boolean(load_default=True)
    # The database; the environment calls it DATABASE_URL. A relative path is in instance/.
    SQLALCHEMY_DATABASE_URI = fields.String(
        load_default="sqlite:///ostiary.sqlite", validate=_check_database_url
    )
    # Passed to SQLAlchemy's create_engine, over our defaults, such as {"pool_size": 10}.
    SQLALCHEMY_ENGINE_OPTIONS = fields.Dict(keys=fields.String(), load_default=dict)
    # Seconds that one database statement may take.
    STATEMENT_TIMEOUT = fields.Float(
        load_default=5.0, validate=validate.Range(min=0, min_inclusive=False)
    )
    # Seconds in which a request must have come whole, and its answer must have been taken. Requests
    # are small; Apache's mod_reqtimeout gives a head and a body 20 seconds each.
    REQUEST_TIMEOUT = fields.Float(
        load_default=10.0, validate=validate.Range(min=0, min_inclusive=False)
    )
    # Requests that one process answers at once, each with a database connection. Set it in the
    # environment, which calls it THREADS: gunicorn reads it there too.
    THREADS = fields.Integer(load_default=8, validate=positive)
    # Calls of public data sources that one process makes at once. None: half of THREADS.
    DATA_SOURCE_CALLS = fields.Integer(
        strict=True, load_default=None, allow_none=True, validate=positive
    )


def configure(app: Flask, overrides: Mapping[str, Any] | None) -> None:
    """Fill `app.config` from the layers; raise ConfigurationError for what does not fit.

    The layers are the defaults, `instance/config.py` and the environment. `overrides`, which tests
    give, takes the place of the latter two.
    """
    given = Config(app.root_path)
    if overrides is None:
        _read_data_sources(app, given)
        _read_instance_file(app, given)
        _read_environment(given)
    else:
        given.update(overrides)
    known = SettingsSchema().fields
    _refuse_unknown(app, given, known)
    app.config.update(given)
    app.config.update(_load({name: given[name] for name in given if name in known}))
    app.config["MAX_CONTENT_LENGTH"] = app.config["MAX_BODY_BYTES"]


def _read_instance_file(app: Flask, given: Config) -> None:
    path = os.path.join(app.instance_path, "config.py")
    try:
        given.from_pyfile(path, silent=True)
    except Exception as error:
        raise ConfigurationError(f"{path} cannot be read: {error!r}") from error


def _read_data_sources(app: Flask, given: Config) -> None:
    path = os.path.join(app.instance_path, "datasources.json")
    try:
        with open(path, encoding="utf-8") as file:
            given["DATA_SOURCES"] = json.load(file)
    except FileNotFoundError:
        return
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"{path} cannot be read: {error}") from None


def _read_environment(given: Config) -> None:
    try:
        given.from_prefixed_env(ENVIRONMENT_PREFIX.rstrip("_"))
    except (TypeError, AttributeError) as error:
        raise ConfigurationError(
            "the APP_* environment sets a value and, with __, something inside it"
        ) from error
    if threads := os.environ.get("THREADS"):
        given["THREADS"] = threads
    if url := os.environ.get("DATABASE_URL"):
        scheme, separator, rest = url.partition("://")
        if scheme in {"postgres", "postgresql"}:
            scheme = "postgresql+psycopg"
        given["SQLALCHEMY_DATABASE_URI"] = f"{scheme}{separator}{rest}"


def _refuse_unknown(app: Flask, given: Config, known: Mapping[str, Any]) -> None:
    for name in given:
        if name in known or name in app.config:
            continue
        hint = get_close_matches(name, known, 1)
        meant = f"; did you mean {_label(hint[0], like=name)}?" if hint else ""
        raise ConfigurationError(f"{_label(name)} is not a setting{meant}")


def _load(given: dict[str, Any]) -> dict[str, Any]:
    try:
        return dict(SettingsSchema().load(given))
    except ValidationError as error:
        name, problem = next(iter(error.messages_dict.items()))
        raise ConfigurationError(f"{_label(name)} cannot be used: {_flatten(problem)}") from None


def _flatten(problem: Any) -> str:
    while isinstance(problem, dict):
        key, inner = next(iter(problem.items()))
        problem = [f"{key}: {_flatten(inner)}"]
    return str(problem[0])


def _label(name: str, like: str | None = None) -> str:
    """Name a setting the way its reader wrote it: with APP_ when it came from the environment."""
    start = ENVIRONMENT_PREFIX + (like or name)
    if any(key == start or key.startswith(f"{start}__") for key in os.environ):
        return ENVIRONMENT_PREFIX + name
    return name
