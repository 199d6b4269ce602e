"""All requests."""

from collections.abc import Iterator

from . import aggregates, batches, bodies, files, filters, heads, logins, relations, remote
from .request import Request


def requests() -> Iterator[Request]:
    """Yield the requests."""
    areas = (filters, aggregates, heads, bodies, batches, relations, remote, logins, files)
    for area in areas:
        yield from area.requests()
