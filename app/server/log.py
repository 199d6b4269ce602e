"""gunicorn's logs without query strings, which may carry an access token."""

import re
from typing import Any

from gunicorn.glogging import Logger

# Where a query starts, also one whose question mark was escaped by mistake, once or more often.
QUERY = re.compile(r"[?#]|%(?:25)*(?:3f|23)", re.IGNORECASE)


class QuietLogger(Logger):  # type: ignore[misc]
    """Logs the path of a request and nothing behind it."""

    def atoms(self, resp: Any, req: Any, environ: dict[str, Any], request_time: Any) -> Any:
        """Give the access log the path as it was sent, so that no decoded line break gets in."""
        atoms = super().atoms(resp, req, environ, request_time)
        atoms["U"] = QUERY.split(environ.get("RAW_URI", "-"), maxsplit=1)[0]
        return atoms
