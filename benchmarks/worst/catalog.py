"""All requests."""

from collections.abc import Iterator

from . import aggregates, bodies, files, filters, heads, logins, relations, remote
from .request import Request


def requests() -> Iterator[Request]:
    """Yield the requests."""
    for area in (filters, aggregates, heads, bodies, relations, remote, logins, files):
        yield from area.requests()
