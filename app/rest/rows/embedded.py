"""Changes of objects that rows hold as JSON, and of which clients do not see everything."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from werkzeug.exceptions import Conflict

from app.errors import OVERTAKEN, ValidationError
from app.rest.visibility import Visibility

from .repository import Repository, Row, Values
from .writer import Check

# What leaves no object, in which something could be kept.
EMPTY: Sequence[object] = (None, [])


@dataclass(frozen=True)
class EmbeddedObjects:
    """The properties of a model with such objects: the attribute of each, and what is seen."""

    rows: Repository
    properties: Mapping[str, tuple[str, Visibility]]

    def complete(
        self, body: Values, find_row: Callable[[], Row], check: Check | None
    ) -> tuple[Values, Check | None]:
        """Return the body of a change with what clients do not see of the row, and its check.

        The check is the given one, and raises Conflict if what the body was completed by has
        changed. Nothing is read if the body has no such objects.
        """
        if all(body.get(name) in EMPTY for name in self.properties):
            return body, check
        complete = self._kept(body, find_row())

        def check_kept(row: Row) -> None:
            if check is not None:
                check(row)
            if self._kept(body, row) != complete:
                raise Conflict(OVERTAKEN)

        return complete, check_kept

    def check_common(self, values: Values) -> None:
        """Raise ValidationError for a change of many rows that gives the same objects to all."""
        for name, (attribute, _) in self.properties.items():
            if values.get(attribute) not in EMPTY:
                raise ValidationError({name: ["can be changed by its id only"]})

    def _kept(self, body: Values, row: Row) -> Values:
        """Return a body with what a row has, and clients do not see, in the objects of the body."""
        kept: dict[str, Any] = {
            name: visibility.keep(body[name], self.rows.value(row, attribute))
            for name, (attribute, visibility) in self.properties.items()
            if body.get(name) not in EMPTY
        }
        return {**body, **kept}
