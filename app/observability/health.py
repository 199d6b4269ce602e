"""Health checks: whether the process answers, and whether it can serve."""

import time
from collections.abc import Callable
from datetime import datetime
from functools import cache

from flask import Blueprint, Flask, current_app, jsonify
from flask.typing import ResponseReturnValue
from sqlalchemy import Connection
from sqlalchemy.exc import SQLAlchemyError

from app.database.session import connection
from app.errors import NotReady
from app.migrate.chains import Chain, MigrationError, all_chains, newest
from app.state import AppState
from app.times import iso_time, now

bp = Blueprint("health", __name__)
status_bp = Blueprint("status", __name__)

# When the app was created: the time, and the monotonic clock.
started = AppState[tuple[datetime, float]]("time of its start")
# Returns False when the process is stopping; `/ready` then answers 503.
is_serving = AppState[Callable[[], bool]]("sign of stopping", factory=lambda _app: lambda: True)


def init_app(app: Flask) -> None:
    """Serve the health checks at the root, and the status at the root and the base path.

    With a front end, the root has its page instead of the status.
    """
    started.set(app, (now(), time.monotonic()))
    app.register_blueprint(bp)
    if not app.config["STATIC_FOLDER"]:
        app.register_blueprint(status_bp)
    app.register_blueprint(status_bp, name="api_status", url_prefix=app.config["REST_API_ROOT"])


@bp.get("/health")
def health() -> ResponseReturnValue:
    """Return that the process is alive; nothing else is checked."""
    return jsonify({"status": "ok"})


@bp.get("/ready")
def ready() -> ResponseReturnValue:
    """Return True if the process can serve; raise NotReady.

    A database migrated by a newer release is accepted: that release is being rolled out, process by
    process.
    """
    check_ready()
    return jsonify({"status": "ready"})


def check_ready() -> None:
    """Raise NotReady if the process cannot serve."""
    if not is_serving.current():
        raise NotReady("The service is stopping.")
    try:
        with connection() as database:
            for chain in all_chains(current_app):
                _check_migrated(database, chain)
    except MigrationError:
        raise NotReady("A migration cannot be read: `ostiary db current` says which.") from None
    except SQLAlchemyError:
        raise NotReady("The database cannot be used, or was never migrated.") from None


@status_bp.get("/")
def status() -> ResponseReturnValue:
    """Return the start time and uptime of the process, as LoopBack 3 does."""
    return jsonify(read_uptime())


def read_uptime() -> dict[str, object]:
    """Return the start time of the process, and the seconds since."""
    time_started, at = started.current
    return {"started": iso_time(time_started), "uptime": round(time.monotonic() - at, 3)}


def _check_migrated(database: Connection, chain: Chain) -> None:
    """Raise NotReady if the database lacks a migration of a chain."""
    known, heads = revisions(chain)
    if not known:
        return
    applied = chain.recorded(database)
    if applied != heads and applied <= known:
        raise NotReady(f"The database is not at the newest migration of {chain.name}.")


@cache
def revisions(chain: Chain) -> tuple[set[str], set[str]]:
    """Return a chain's newest applied revisions, and its newest ones."""
    migrations = chain.migrations
    return set(migrations), newest(migrations.values())
