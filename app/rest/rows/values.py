"""What repositories take and return: rows, values and conditions."""

from collections.abc import Iterable
from typing import Any, Protocol, TypeAlias

from sqlalchemy import ColumnElement, Select

from app.database.session import Base


class Row(Protocol):
    """A row with the model's visible attributes.

    A named tuple of the columns, or what a data source has returned.
    """

    def __getattr__(self, attribute: str, /) -> Any:
        """Return the value of an attribute, such as `row.id`."""


# A row's values by attribute of the model, or by JSON name.
Values = dict[str, Any]
# The result of `prepare_insert` for a new row: values, or an entity of the model.
NewRow: TypeAlias = Values | Base
# A condition on rows: SQL, but for the two of data sources, `WithId` and `Permitted`.
Condition = ColumnElement[bool]
# Conditions that rows must meet, such as `[Note.stars > 3]`.
Conditions = Iterable[Condition]
# A column or another SQL expression, of any type.
Element = ColumnElement[Any]
# A statement that reads rows, whose columns differ between models.
Statement = Select[Any]
# The parameter of a statement with the ids of rows.
IDS = "ids"
