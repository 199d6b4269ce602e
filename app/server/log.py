"""gunicorn's logs without query strings, which may carry an access token."""

import re
from typing import Any

from gunicorn.glogging import Logger

# The start of a query, even if its question mark was percent-encoded once or repeatedly.
QUERY = re.compile(r"[?#]|%(?:25)*(?:3f|23)", re.IGNORECASE)


class QuietLogger(Logger):  # type: ignore[misc]
    """Logs the path of a request without its query."""

    def atoms(self, resp: Any, req: Any, environ: dict[str, Any], request_time: Any) -> Any:
        """Set the path in the access log as it was sent: a decoded one may contain line breaks."""
        atoms = super().atoms(resp, req, environ, request_time)
        atoms["U"] = QUERY.split(environ.get("RAW_URI", "-"), maxsplit=1)[0]
        return atoms
