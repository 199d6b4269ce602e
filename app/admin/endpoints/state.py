"""The settings, with masked secrets, and the state of the service."""

from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.metadata import version
from typing import Any

from flask import current_app
from sqlalchemy import func, make_url, select

from app.access.rules import READ
from app.admin.calls import call
from app.admin.schemas import SettingSchema, StateSchema
from app.config import DATABASES, SCHEMA, setting_sources
from app.database.session import connection, db
from app.errors import NotReady
from app.migrate.chains import PRODUCT, Chain, project_chain
from app.observability import health
from app.outbox import maintenance
from app.settings import SECRET
from app.throttles import count_locks
from app.users.models import User

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


@call(
    "findSettings",
    READ,
    "GET /settings",
    answer=[SettingSchema],
    summary="List the settings with their values, secrets masked, and the source of each",
)
def find_settings() -> Sequence[Mapping[str, object]]:
    """List the settings with their values, secrets masked, and the source of each."""
    return list_settings()


@call(
    "state",
    READ,
    "GET /state",
    answer=StateSchema,
    summary="Return the version, migrations, health and pending deliveries",
)
def state() -> Mapping[str, object]:
    """Return the version, migrations, health and pending deliveries."""
    pending = db.session.execute(maintenance.PENDING_DELIVERIES).one()
    project = project_chain(current_app)
    return {
        "version": version("ostiary"),
        **health.read_uptime(),
        "database": _database(),
        "migrations": {"product": _newest(PRODUCT), "project": project and _newest(project)},
        "health": _health(),
        "outbox": {
            "pending": pending.number,
            "failed": maintenance.count_failed(),
            "oldest": pending.created,
        },
        "locks": count_locks(),
        "users": db.session.scalar(select(func.count()).select_from(User)),
    }


def _database() -> Mapping[str, str]:
    dialect = db.engine.dialect
    return {
        "dialect": dialect.name,
        "version": ".".join(map(str, dialect.server_version_info or ())),
    }


def _newest(chain: Chain) -> Mapping[str, str]:
    """Return the newest migrations that were applied, and the newest ones of a chain."""
    with connection() as database:
        current = chain.applied(database)
    _, heads = health.revisions(chain)
    return {"current": ", ".join(sorted(current)), "head": ", ".join(sorted(heads))}


def _health() -> str:
    """Return `ok`, or the reason why the process cannot serve."""
    try:
        health.check_ready()
    except NotReady as error:
        return str(error.description)
    return "ok"
