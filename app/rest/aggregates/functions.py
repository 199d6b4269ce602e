"""The functions of aggregates."""

from dataclasses import dataclass

from sqlalchemy import func

from app.rest.filters.kinds import Kind
from app.rest.functions import COUNT, SQL, Result, result_of
from app.rest.rows.values import Element

from .properties import Property


@dataclass(frozen=True)
class Function:
    """A function of a property's values, or, without a property, the number of rows."""

    # The key of the result in the answer.
    name: str
    word: str
    source: Property | None
    result: Result

    @property
    def kind(self) -> Kind:
        """The kind of the result."""
        return self.result.kind

    def sql(self, values: Element) -> Element:
        """Return the function of these values of the property, or the number of rows."""
        return func.count() if self.source is None else SQL[self.word](values)


def make_function(name: str, word: str, source: Property | None) -> Function:
    """Return a function with its result; the property must have it."""
    if source is None:
        return Function(name, word, source, COUNT)
    values = Result(source.column.type, source.kind, source.write)
    return Function(name, word, source, result_of(word, values))
