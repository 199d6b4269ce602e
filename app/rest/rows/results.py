"""Read the rows of a statement, without all of them in memory where they may be large."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import chain
from typing import Any

from flask import current_app
from sqlalchemy import Column, Result, Select

from app.database.dialects import reads_whole_results
from app.database.session import connection, db, transaction
from app.database.statements import PARTITION
from app.errors import DatabaseTimeout
from app.rest.fields import json as json_fields
from app.rest.fields.base import MAX_TEXT
from app.rest.filters.columns import is_json, is_text

#: Characters that the rows of a statement may have for PostgreSQL to send all of them at once.
MAX_CHARACTERS = 16_000_000


def max_characters(column: Column[Any]) -> int:
    """Return how many characters a column may have: of text or JSON, 0 for others."""
    if is_json(column):
        return json_fields.MAX_LENGTH
    return (column.type.length or MAX_TEXT) if is_text(column) else 0  # type: ignore[attr-defined]


def is_read_in_parts(characters: int) -> bool:
    """Tell whether rows that may have so many characters in all are read in parts.

    A cursor in the database takes a transaction, and a round trip for each part.
    """
    return characters > MAX_CHARACTERS and reads_whole_results(db.engine.dialect)


@contextmanager
def open_rows(
    statement: Select[Any], values: Mapping[str, Any], characters: int
) -> Iterator[Iterator[Any]]:
    """Yield the rows of a statement, which may have so many characters in all.

    Raises DatabaseTimeout when to read them in parts takes longer than one statement may.
    """
    if not is_read_in_parts(characters):
        with connection() as database, database.execute(statement, values) as result:
            yield chain.from_iterable(result.partitions(PARTITION))
        return
    in_parts = {"stream_results": True, "max_row_buffer": PARTITION}
    with transaction(), connection() as database:
        deadline = time.monotonic() + current_app.config["STATEMENT_TIMEOUT"]
        with database.execute(statement, values, execution_options=in_parts) as result:
            yield _until(deadline, result)


def _until(deadline: float, result: Result[Any]) -> Iterator[Any]:
    for row in result:
        if time.monotonic() > deadline:
            raise DatabaseTimeout()
        yield row
