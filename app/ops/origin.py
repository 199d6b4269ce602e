"""The origin of the current work: the client's address and program, and the request id."""

from typing import NamedTuple

from flask import has_request_context, request

# Characters of a User-Agent header that are kept.
MAX_USER_AGENT = 200


class Origin(NamedTuple):
    """Where work comes from; every field is None outside of a request."""

    # As the last trusted proxy states it (TRUSTED_PROXIES), else that of the connection.
    address: str | None = None
    user_agent: str | None = None
    request_id: str | None = None


def current_origin() -> Origin:
    """Return the origin of the current request; an empty one for a command."""
    if not has_request_context():
        return Origin()
    agent = request.headers.get("User-Agent", "")[:MAX_USER_AGENT]
    printable = "".join(each if each.isprintable() else "?" for each in agent)
    return Origin(request.remote_addr, printable or None, request.environ.get("HTTP_X_REQUEST_ID"))
