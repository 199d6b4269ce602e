"""All requests."""

from collections.abc import Iterator

from . import batches, bodies, files, filters, heads, logins, relations, remote
from .request import Request


def requests() -> Iterator[Request]:
    """Yield the requests."""
    for area in (filters, heads, bodies, batches, relations, remote, logins, files):
        yield from area.requests()
