"""The limit of open files; each connection may need two: its socket, and a file being sent."""

import resource

from gunicorn.config import Config
from gunicorn.glogging import Logger

# Files of a connection: its socket, and one being sent.
FILES = 2
# Files of a process besides its connections: log, database, calls and mails.
OTHER_FILES = 100
# Minimum connections with which a process can serve.
FEWEST_CONNECTIONS = 50


def fit_connections(cfg: Config, log: Logger) -> None:
    """Raise the soft limit for `worker_connections`, else lower `worker_connections`.

    Raises SystemExit if the hard limit leaves too few.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = FILES * cfg.worker_connections + OTHER_FILES
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return
    allowed = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
    least = FILES * FEWEST_CONNECTIONS + OTHER_FILES
    if allowed < least:
        raise SystemExit(
            f"ostiary: the limit of open files is {hard}, and must be at least {least}"
        )
    resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
    if allowed < needed:
        connections = (allowed - OTHER_FILES) // FILES
        log.warning(
            "a process keeps %d connections: the limit of open files is %d, and should be"
            " at least %d",
            connections,
            hard,
            needed,
        )
        cfg.set("worker_connections", connections)
