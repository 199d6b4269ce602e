"""Computed properties: read-only values that the queries of rows compute."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from sqlalchemy import Column, FromClause, Select
from sqlalchemy.orm import InstrumentedAttribute

from app.database.columns import AnyColumn
from app.fields.base import JsonSchema, Parsed
from app.rest.filters.tree import Where
from app.rest.functions import Result

from .values import Condition, Element

# The SQL of a value, which may use the columns of the model.
Expression: TypeAlias = Select[Any] | Element | InstrumentedAttribute[Any]
# Returns the condition that the caller may read a row of the resource with a name.
Readable = Callable[[str], Condition]


@dataclass(frozen=True)
class RelatedValue:
    """A function of the rows that a relation leads to, as a model in JSON declares it."""

    # The attribute of rows with the value.
    key: str
    relation: str
    # The function: `count`, `sum`, `min` or `max`.
    word: str
    # The attribute of the related rows with its argument; empty: it counts rows.
    attribute: str
    result: Result
    # The rows that count, and the attributes of the properties in these conditions.
    where: Where = ()
    attributes: Mapping[str, str] = field(default_factory=dict)
    # Whether only rows that the caller may read count.
    visible_to_caller: bool = False
    description: str = ""


Computation: TypeAlias = Expression | Callable[[Readable], Expression] | RelatedValue


class ComputedColumn(Column[Any]):
    """Stands for a computed property among the columns of a model; it is in no table."""

    inherit_cache = True

    def __init__(
        self,
        name: str,
        result: Result,
        express: Callable[[FromClause], Element],
        is_nullable: bool,
        is_dynamic: bool,
        description: str = "",
    ) -> None:
        """`express` returns the value for the rows of the model's table, or of an alias of it."""
        super().__init__(name, result.type, nullable=is_nullable)
        self.result, self.text = result, description
        self.on = express
        # Whether statements with it cannot be kept, because it depends on the caller.
        self.is_dynamic = is_dynamic


class Elements(Mapping[str, Element]):
    """What properties are compared by; made when it is used, as it may be a large expression."""

    def __init__(
        self, columns: Mapping[str, AnyColumn], make: Callable[[AnyColumn], Element]
    ) -> None:
        """Return the result of `make` for the column of each property."""
        self._columns, self._make = columns, make

    def __getitem__(self, name: str) -> Element:
        return self._make(self._columns[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)


class ComputedField(Parsed[Any]):
    """The read-only field of a computed property."""

    def __init__(self, name: str, column: ComputedColumn) -> None:
        """`name` is that of the property."""
        metadata = {"description": column.text} if column.text else {}
        super().__init__(dump_only=True, attribute=column.key, data_key=name, metadata=metadata)
        self._schema = column.result.kind.schema
        self.write = column.result.write  # type: ignore[method-assign]

    def json_schema(self, settings: Mapping[str, object]) -> JsonSchema:
        """Return the JSON Schema keywords of the result."""
        return dict(self._schema or {})
