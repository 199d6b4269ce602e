"""Jobs: functions that run by a schedule, each in one process of all instances at a time.

A project declares them by the decorators `every` and `cron`; the service purges by one.
"""

from functools import partial

from flask import Flask

from app.database.purging import PAUSE, PURGE_INTERVAL, purger

from .declarations import LEASE, Job, add, add_declared, cron, every
from .running import worker
from .schedules import Interval

__all__ = ["Job", "cron", "every", "init_app"]

# A function of a project cannot have this name.
PURGE = "purge-expired"


def init_app(app: Flask) -> None:
    """Add the jobs of the service and of the project; the server starts them.

    Raises ConfigurationError for two jobs of the same name.
    """
    add(app, Job(PURGE, partial(_purge, app), Interval(PURGE_INTERVAL), LEASE))
    add_declared(app)


class PurgeError(Exception):
    """Some tables could not be purged."""


def _purge(app: Flask) -> None:
    """Purge expired rows until none are left; raise PurgeError if a table could not be purged."""
    while purger.of(app).purge_some():
        if worker.of(app).pause(PAUSE):
            break
    if failed := purger.of(app).failed:
        raise PurgeError(", ".join(f"{table}: {reason}" for table, reason in failed.items()))
