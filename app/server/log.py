"""gunicorn's logs in the format of LOG_FORMAT, with one line for each request."""

import os
import re
from datetime import timedelta
from typing import TYPE_CHECKING

from gunicorn.config import Config
from gunicorn.glogging import Logger
from gunicorn.http.wsgi import Response

from app.observability import logs
from app.observability.origin import ROUTE, USER_ID

from .incoming import BufferedRequest

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIEnvironment

# The start of a query, even if its question mark was percent-encoded once or repeatedly.
QUERY = re.compile(r"[?#]|%(?:25)*(?:3f|23)", re.IGNORECASE)


class QuietLogger(Logger):
    """Logs requests without their queries, which may contain an access token."""

    def setup(self, cfg: Config) -> None:
        """Set the format of gunicorn's handlers."""
        super().setup(cfg)
        formatter = logs.make_formatter(os.environ.get("APP_LOG_FORMAT", logs.TEXT))
        for handler in (*self.error_log.handlers, *self.access_log.handlers):
            handler.setFormatter(formatter)

    def access(
        self,
        resp: Response,
        req: BufferedRequest,
        environ: "WSGIEnvironment",
        request_time: timedelta,
    ) -> None:
        """Log a request that was answered."""
        if self.access_log_enabled:
            # The time seen by the client.
            waited = timedelta(seconds=req.waited)
            fields = _fields(resp, environ, waited + request_time)
            self.access_log.handle(logs.RequestRecord(self.access_log.name, fields))


def _fields(
    resp: Response, environ: "WSGIEnvironment", request_time: timedelta
) -> dict[str, object]:
    """Return the logged fields of a request.

    The path is logged as sent, because a decoded one may have line breaks.
    """
    rule = environ.get(ROUTE)
    return {
        "method": environ.get("REQUEST_METHOD"),
        "path": logs.without_token(QUERY.split(environ.get("RAW_URI", "-"), maxsplit=1)[0]),
        "route": None if rule is None else rule.rule,
        "status": resp.status_code,
        # gunicorn uses the wall clock, which may be set back meanwhile.
        "ms": max(0, round(request_time.total_seconds() * 1000)),
        "bytes": resp.sent + resp.sock.file_bytes,
        "request_id": environ.get("HTTP_X_REQUEST_ID"),
        "user_id": environ.get(USER_ID),
        "address": environ.get("REMOTE_ADDR") or None,
    }
