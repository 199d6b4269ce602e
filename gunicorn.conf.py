"""How gunicorn serves Ostiary: threads, a graceful stop, and logs without query strings."""

import os
import re
from typing import Any

from gunicorn.glogging import Logger

bind = f"{os.environ.get('HOST', '127.0.0.1')}:{os.environ.get('PORT', '3000')}"
worker_class = "gthread"
workers = int(os.environ.get("WEB_CONCURRENCY", "2"))
threads = int(os.environ.get("THREADS", "8"))

# Loaded once before the fork: a wrong setting stops the start instead of every worker.
preload_app = True
# Seconds that requests in flight get to finish after SIGTERM.
graceful_timeout = 30
# The default control socket is one path for all instances of a user.
control_socket_disable = True


class QuietLogger(Logger):
    """gunicorn's logger without query strings, which may carry an access token."""

    def atoms(self, resp: Any, req: Any, environ: dict[str, Any], request_time: Any) -> Any:
        """Give the access log the path as it was sent, so that no decoded line break gets in."""
        atoms = super().atoms(resp, req, environ, request_time)
        atoms["U"] = environ.get("RAW_URI", "-").partition("?")[0]
        return atoms

    def warning(self, msg: Any, *args: Any, **kwargs: Any) -> None:
        """Log a refused request, whose first line gunicorn quotes, without its query."""
        super().warning(re.sub(r"\?\S*", "?...", str(msg)), *args, **kwargs)


logger_class = QuietLogger
accesslog = "-"
access_log_format = '%(h)s "%(m)s %(U)s" %(s)s %(b)s %(M)sms %({x-request-id}o)s'
