"""Health checks: whether the process answers, and whether it can do its work."""

import ast
import re
import time
from collections.abc import Callable
from datetime import datetime
from functools import cache
from pathlib import Path

from flask import Blueprint, Flask, jsonify
from flask.typing import ResponseReturnValue
from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError

from app.database.session import connection
from app.errors import NotReady
from app.state import AppState
from app.times import iso_time, now

MIGRATIONS = Path(__file__).parents[1] / "migrations" / "versions"
# The lines of a migration that say which one it is, and which it follows.
REVISION = re.compile(r"^(revision|down_revision)\b[^=\n]*=(.*)$", re.MULTILINE)

bp = Blueprint("health", __name__)
status_bp = Blueprint("status", __name__)

# When the app was made: the time, and what the monotonic clock said.
started = AppState[tuple[datetime, float]]("time of its start")
# Returns False as soon as the process stops; `/ready` then answers 503.
is_serving = AppState[Callable[[], bool]]("sign of stopping", factory=lambda _app: lambda: True)


def init_app(app: Flask) -> None:
    """Serve the health checks at the root, and the status there and at the base path.

    At the root a front end has its page instead.
    """
    started.set(app, (now(), time.monotonic()))
    app.register_blueprint(bp)
    if not app.config["STATIC_FOLDER"]:
        app.register_blueprint(status_bp)
    app.register_blueprint(status_bp, name="api_status", url_prefix=app.config["REST_API_ROOT"])


@bp.get("/health")
def health() -> ResponseReturnValue:
    """Tell that the process answers; asks nothing else."""
    return jsonify({"status": "ok"})


@bp.get("/ready")
def ready() -> ResponseReturnValue:
    """Tell whether the process can serve; raise NotReady.

    It can on a database that a newer release has migrated: then that release is being rolled out,
    one process after the other.
    """
    if not is_serving.current():
        raise NotReady("The service is stopping.")
    try:
        with connection() as database:
            applied = set(database.scalars(text("SELECT version_num FROM alembic_version")))
    except SQLAlchemyError:
        raise NotReady("The database cannot be used, or was never migrated.") from None
    if applied != newest_revisions() and applied <= known_revisions().keys():
        raise NotReady("The database is not at the newest migration.")
    return jsonify({"status": "ready"})


@status_bp.get("/")
def status() -> ResponseReturnValue:
    """Tell since when the process has been running, as LoopBack 3 does."""
    time_started, at = started.current
    return jsonify({"started": iso_time(time_started), "uptime": round(time.monotonic() - at, 3)})


def newest_revisions() -> set[str]:
    """Return the migrations that no other one follows."""
    known = known_revisions()
    return known.keys() - set().union(*known.values())


@cache
def known_revisions() -> dict[str, set[str]]:
    """Return the migrations, each with those that it follows.

    Read from the files: Alembic would take 10 MiB of memory in every process.
    """
    known = {}
    for path in MIGRATIONS.glob("*.py"):
        stated = {
            name: ast.literal_eval(value.strip())
            for name, value in REVISION.findall(path.read_text())
        }
        before = stated["down_revision"]
        known[stated["revision"]] = {before} if isinstance(before, str) else set(before or ())
    return known
