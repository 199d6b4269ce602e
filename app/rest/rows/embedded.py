"""Changes of objects in JSON properties of which clients see only a part."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from werkzeug.exceptions import Conflict

from app.errors import OVERTAKEN, ValidationError
from app.rest.visibility import Visibility

from .repository import Repository
from .values import Row, Values
from .writer import Check

# Values without an object in which something could be kept.
EMPTY: Sequence[object] = (None, [])


@dataclass(frozen=True)
class EmbeddedObjects:
    """A model's properties with such objects: the attribute and visibility of each."""

    rows: Repository
    properties: Mapping[str, tuple[str, Visibility]]

    def complete(
        self, body: Values, find_row: Callable[[], Row], check: Check | None
    ) -> tuple[Values, Check | None]:
        """Return the body of a change completed by the row's hidden values, and its check.

        The check includes the given one, and raises Conflict if the hidden values have changed.
        Nothing is read if the body has no such objects.
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
        """Raise ValidationError for a change of many rows that sets such objects."""
        for name, (attribute, _) in self.properties.items():
            if values.get(attribute) not in EMPTY:
                raise ValidationError({name: ["can be changed by its id only"]})

    def _kept(self, body: Values, row: Row) -> Values:
        """Return a body completed by the hidden values of a row's objects."""
        kept: dict[str, object] = {
            name: visibility.keep(body[name], self.rows.value(row, attribute))
            for name, (attribute, visibility) in self.properties.items()
            if body.get(name) not in EMPTY
        }
        return {**body, **kept}
