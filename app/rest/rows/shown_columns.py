"""The columns of the properties that clients see: what is selected of them, and how large it is."""

from collections.abc import Collection, Mapping, Sequence

from sqlalchemy import FromClause, null, select

from app.database.columns import AnyColumn
from app.database.dialects import Among
from app.database.session import connection
from app.ids import Id
from app.rest.filters.columns import is_json
from app.rest.filters.tree import Filter

from .computed import ComputedColumn, Elements
from .files import columns_of_files
from .pages import FILE_SIZE, RowSize, max_characters, size_of_names, text_places
from .values import IDS, Element

Columns = Mapping[str, AnyColumn]


class ShownColumns:
    """The columns of a table by the properties that clients see, with the computed ones."""

    def __init__(self, properties: Columns, table: FromClause) -> None:
        self._properties, self._table = properties, table
        self.all = list(properties.values())
        self.computed = [column for column in self.all if isinstance(column, ComputedColumn)]
        self.stored = [column for column in self.all if not isinstance(column, ComputedColumn)]
        # Whether statements that select them cannot be kept.
        self.is_dynamic = any(column.is_dynamic for column in self.computed)
        self._text_columns = text_places(self.all)
        self._files = columns_of_files(properties)
        self._json_columns = [place for place, column in enumerate(self.all) if is_json(column)]
        # The columns of text and JSON.
        self._max_characters = {
            name: most for name, column in properties.items() if (most := max_characters(column))
        }
        # The properties that are only selected if a filter reads them.
        self._costly = self._max_characters.keys() | {
            name for name, column in properties.items() if isinstance(column, ComputedColumn)
        }

    @property
    def elements(self) -> Mapping[str, Element]:
        """What conditions and orders compare, by property."""
        return Elements(self._properties, self._element) if self.computed else self._properties

    @property
    def selected(self) -> list[Element]:
        """All columns, as they are selected."""
        return list(map(self._select, self.all))

    def selected_by(self, filter_: Filter) -> list[Element]:
        """Return the columns to select; NULL for costly ones that the filter leaves out."""
        left_out = self._left_out(filter_)
        return [
            null().label(column.key) if name in left_out else self._select(column)
            for name, column in self._properties.items()
        ]

    def _element(self, column: AnyColumn) -> Element:
        return column.on(self._table) if isinstance(column, ComputedColumn) else column

    def _select(self, column: AnyColumn) -> Element:
        is_computed = isinstance(column, ComputedColumn)
        return self._element(column).label(column.key) if is_computed else column

    def computed_values(
        self, key: AnyColumn, row_ids: Sequence[Id]
    ) -> Mapping[Id, Sequence[object]]:
        """Return the current values of the computed columns by id: None for a row that is gone."""
        values = select(key, *map(self._select, self.computed)).where(Among(key, IDS))
        with connection() as database:
            found = database.execute(values, {IDS: [*row_ids]}).all()
        missing = [None] * len(self.computed)
        return dict.fromkeys(row_ids, missing) | {row[0]: row[1:] for row in found}

    def row_size(self, filter_: Filter) -> RowSize:
        """Return the function that measures the rows that a filter selects."""
        names = size_of_names(self._properties, filter_) + FILE_SIZE * len(self._files)
        return RowSize(names, self._text_columns, self._json_columns)

    def characters(self, filter_: Filter, rows: int) -> int:
        """Return the maximum characters of text and JSON of this number of rows.

        Those of the database, where a character of text has up to four bytes.
        """
        left_out = self._left_out(filter_)
        return rows * sum(
            characters for name, characters in self._max_characters.items() if name not in left_out
        )

    def _left_out(self, filter_: Filter) -> Collection[str]:
        """Return costly properties that neither the filter, a cursor nor an include reads."""
        if filter_.fields is None:
            return self._costly & {*filter_.withheld} - {*filter_.kept}
        ordered = {term.place.property for term in filter_.order if term.is_stored}
        return self._costly - filter_.fields - {*filter_.kept} - ordered
