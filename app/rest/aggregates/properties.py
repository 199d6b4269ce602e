"""The properties of a model that aggregates may use, and what each type of them has."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any, NamedTuple

from sqlalchemy import Boolean, Date, String, Uuid, func
from sqlalchemy.types import TypeEngine

from app import ids
from app.database.columns import AnyColumn, ExactDecimal, FileReference, GeoPoint, Json, UtcDateTime
from app.database.ids import IdColumn
from app.database.time_units import UNITS
from app.errors import InvalidFilter, quote
from app.rest.collection import Collection
from app.rest.filters.kinds import Kind
from app.rest.filters.related import FilteredModel
from app.rest.filters.sql import RelatedSql
from app.rest.filters.tree import OTHERS, Place
from app.rest.rows.values import Element

COUNTS = ("count", "countDistinct")
FUNCTIONS = (*COUNTS, "sum", "avg", "min", "max")


class Uses(NamedTuple):
    """What the properties of a type are used for: functions, groups, and groups by unit of time."""

    functions: Sequence[str]
    is_grouped: bool = True
    units: Sequence[str] = ()


NUMBERS = Uses(FUNCTIONS)
TEXTS = Uses((*COUNTS, "min", "max"))
TIMES = Uses(TEXTS.functions, units=tuple(UNITS))
DATES = Uses(TEXTS.functions, units=tuple(unit for unit in UNITS if unit != "hour"))
# Values without an order, or with one that differs between databases.
UNORDERED = Uses(COUNTS)
# Values that databases do not even compare, such as objects and arrays.
OPAQUE = Uses(("count",), is_grouped=False)


def uses_of(type_: TypeEngine[Any]) -> Uses:
    """Return what properties are used for, by the type of their column."""
    match type_:
        case IdColumn():
            return UNORDERED if type_.form.name == ids.UUID.name else TEXTS
        case Boolean() | Uuid():
            return UNORDERED
        case FileReference() | GeoPoint() | Json():
            return OPAQUE
        case UtcDateTime():
            return TIMES
        case Date():
            return DATES
        case String():
            return TEXTS
        case ExactDecimal():
            return NUMBERS
    return NUMBERS if type_.python_type in (int, float) else OPAQUE


@dataclass(frozen=True)
class Property:
    """A property that aggregates may use, which may be that of a related row."""

    place: Place
    column: AnyColumn
    kind: Kind
    uses: Uses
    # Returns the form in JSON of a value that is not null.
    write: Callable[[Any], object]

    @property
    def name(self) -> str:
        """The name that clients use, such as `site.name`."""
        return str(self.place)

    def sql(self, related: RelatedSql) -> Element:
        """Return the value to select, of the column's type."""
        value: Element = self.column
        if self.place.relations:
            [value] = related.values(self.place)
        # The value stored for null, if it is not NULL.
        null = self.column.info.get("null")
        return value if null is None else func.nullif(value, null, type_=self.column.type)

    def after(self, relation: str) -> "Property":
        """Return the property of the row that a relation leads to, as the parent names it."""
        relations = (relation, *self.place.relations)
        return replace(self, place=replace(self.place, relations=relations))


class Properties:
    """The properties of a collection that an aggregate may use, found by name."""

    def __init__(self, collection: Collection, model: FilteredModel) -> None:
        """Limit the properties and relations to those of the model."""
        self._collection = collection
        self._model = model
        # What clients see of a value is up to the receivers of `loaded`, which get rows.
        resource = collection.resource
        self._are_shown = not resource.loaded.receivers or resource.shared_methods.get("aggregate")
        self.names = [name for name in model.properties if name != OTHERS]

    def uses(self) -> dict[str, Uses]:
        """Return what each property is used for, by name; empty if only rows are counted."""
        columns = self._collection.properties
        return {name: uses_of(columns[name].type) for name in self.names if self._are_shown}

    def related(self) -> Iterator[tuple[str, "Properties"]]:
        """Yield the relations to one that lead to rows with properties, with these."""
        names = self._collection.shown_relations if self._are_shown else ()
        for name, model in self._model.usable(names):
            if not model.is_many:
                yield name, self._of(name, model)

    def find(self, path: str, name: object) -> Property:
        """Return a property; raise InvalidFilter, which says where it was named."""
        self._check_shown(path)
        if not isinstance(name, str) or name not in self.names:
            raise InvalidFilter(f"{path}: {self._problem(name)}")
        column = self._collection.properties[name]
        kind, write = self._model.properties[name], self._writer(name, column.key)
        return Property(Place(name), column, kind, uses_of(column.type), write)

    def find_related(self, path: str, name: object) -> Property:
        """Return a property, or one of a relation to one such as `site.name`, as `find` does."""
        self._check_shown(path)
        first, dot, rest = name.partition(".") if isinstance(name, str) else ("", "", "")
        related = self._follow(path, first) if dot else None
        if related is None:
            return self.find(path, name)
        return related.find_related(f"{path}.{first}", rest).after(first)

    def _follow(self, path: str, name: str) -> "Properties | None":
        """Return the properties of the row that a relation leads to; None if there is no relation.

        Raises InvalidFilter.
        """
        try:
            model = self._model.related(name)
        except InvalidFilter as error:
            raise InvalidFilter(f"{path}: {error.description}") from None
        if model is None:
            return None
        if model.is_many:
            raise InvalidFilter(f"{path}: {name} leads to many rows, which have no single value.")
        return self._of(name, model)

    def _of(self, relation: str, model: FilteredModel) -> "Properties":
        """Return the properties of the rows of a relation, limited to those of a model."""
        collection = self._collection
        return Properties(collection.target(collection.relations[relation]), model)

    def _check_shown(self, path: str) -> None:
        if not self._are_shown:
            raise InvalidFilter(
                f"{path}: what is shown of the values is decided for each row, so that only rows"
                " are counted."
            )

    def _problem(self, name: object) -> str:
        """Return why there is no such property."""
        known = f"there are {', '.join(self.names)}"
        if not isinstance(name, str):
            return f"a property is named by text; {known}."
        start, dot, _ = name.partition(".")
        if dot and start in dict(self.related()):
            return f"'{quote(name)}' is of a related row, by which groupBy alone can group."
        if dot and start in self.names:
            return f"'{quote(name)}' is a path, and its values have no type; {known}."
        if OTHERS in self._model.properties:
            return f"'{quote(name)}' is not declared, and has no type; {known}."
        return f"there is no property '{quote(name)}'; {known}."

    def _writer(self, name: str, attribute: str) -> Callable[[Any], object]:
        """Return the function that makes the JSON of a property's value, as in a row."""
        fields = self._collection.schema.dump_fields.items()
        field = next(field for key, field in fields if (field.data_key or key) == name)

        def write(value: object) -> object:
            try:
                # Fields that call a function get a row, here with this value alone.
                return field._serialize(value, name, SimpleNamespace(**{attribute: value}))
            except AttributeError:
                raise InvalidFilter(
                    f"{name} is computed from other properties, and has no value of its own."
                ) from None

        return write
