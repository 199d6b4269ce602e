"""The answer to an aggregate: one object for each group, up to a maximum number and size."""

from collections.abc import Iterable
from json.encoder import encode_basestring_ascii
from typing import Any

from sqlalchemy.exc import DataError

from app.database.faults import is_out_of_range
from app.errors import InvalidFilter
from app.rest.collection import Collection
from app.rest.filters.tree import MAX_LIMIT
from app.rest.functions import sum_too_large
from app.rest.rows.pages import MAX_BYTES, PROPERTY_SIZE, max_characters, read_rows
from app.rest.rows.values import Conditions, Values

from .parser import Aggregate, parse_aggregate
from .statement import aggregate_statement


def find_aggregate(
    collection: Collection, conditions: Conditions, raw: Values | None
) -> list[Values]:
    """Return the objects of an aggregate of the rows that meet conditions; raise InvalidFilter."""
    aggregate = parse_aggregate(raw, collection)
    statement = aggregate_statement(collection, aggregate, conditions)
    longest = sum(map(max_characters, statement.selected_columns))
    characters = (aggregate.results.limit + 1) * longest

    def read(found: Iterable[Any]) -> list[Values]:
        return _read(aggregate, found)

    try:
        return read_rows(collection.rows.reader, statement, {}, characters, read)
    except DataError as error:
        # SQLite returns infinity instead.
        if is_out_of_range(error):
            raise sum_too_large() from None
        raise


def _read(aggregate: Aggregate, found: Iterable[Any]) -> list[Values]:
    """Return the objects of the results; raise InvalidFilter for too many, or too large ones."""
    writers = {group.name: group.source.write for group in aggregate.groups}
    writers |= {function.name: function.result.write for function in aggregate.functions}
    objects: list[Values] = []
    size = 0
    for row in found:
        if len(objects) == aggregate.results.limit:
            _check_limited(aggregate)
            break
        object_ = {
            name: None if value is None else write(value)
            for (name, write), value in zip(writers.items(), row, strict=True)
        }
        objects.append(object_)
        size += sum(map(_size, object_.items()))
        if size > MAX_BYTES:
            raise InvalidFilter(
                f"The first {len(objects)} groups have more than {MAX_BYTES:,} bytes, which is as"
                " much as an answer has; ask for fewer of them with limit, or for shorter texts."
            )
    return objects


def _check_limited(aggregate: Aggregate) -> None:
    """Raise InvalidFilter unless the client asked for only some of the groups."""
    if not aggregate.is_limited:
        raise InvalidFilter(
            f"There are more than {MAX_LIMIT:,} groups; ask for at most {MAX_LIMIT:,} with limit,"
            " and for the next ones with skip."
        )


def _size(item: tuple[str, object]) -> int:
    """Return the approximate bytes of a property in JSON."""
    name, value = item
    return len(name) + (
        len(encode_basestring_ascii(value)) if isinstance(value, str) else PROPERTY_SIZE
    )
