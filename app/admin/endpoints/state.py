"""The state of the service."""

from collections.abc import Mapping
from importlib.metadata import version

from flask import current_app
from sqlalchemy import func, select

from app.access.rules import READ
from app.admin.calls import call
from app.admin.schemas import StateSchema
from app.database.session import connection, db
from app.errors import NotReady
from app.migrate.chains import PRODUCT, Chain, project_chain
from app.observability import health
from app.outbox import maintenance
from app.throttles.throttles import count_locks
from app.users.models import User


@call("state", READ, "GET /state", answer=StateSchema)
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
