"""Times of PostgreSQL that Python cannot represent, such as years after 9999, as texts."""

from typing import Any

from psycopg import Connection, DataError
from psycopg.abc import Buffer, Loader
from psycopg.types import datetime

LOADERS: dict[str, type[Loader]] = {
    "date": datetime.DateLoader,
    "time": datetime.TimeLoader,
    "timetz": datetime.TimetzLoader,
    "timestamp": datetime.TimestampLoader,
    "timestamptz": datetime.TimestamptzLoader,
    "interval": datetime.IntervalLoader,
}


def read_all_times(connection: Connection[Any]) -> None:
    """Read such times as texts; psycopg would raise an error for all rows of a query."""
    # psycopg reads no other style.
    connection.execute("SET DateStyle TO ISO, YMD")
    for name, loader in LOADERS.items():
        connection.adapters.register_loader(name, _lenient(loader))


def _lenient(loader: type[Loader]) -> type[Loader]:
    """Return a loader that returns the text of what another one cannot read."""

    class LenientLoader(loader):  # type: ignore[misc, valid-type]
        def load(self, data: Buffer) -> Any:
            try:
                return super().load(data)
            except DataError:
                return bytes(data).decode()

    return LenientLoader
