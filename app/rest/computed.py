"""The computed properties of a collection: their columns, their fields and their SQL."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal
from functools import partial
from keyword import iskeyword
from types import FunctionType
from typing import Any, cast
from uuid import UUID

from sqlalchemy import (
    Double,
    FromClause,
    Select,
    and_,
    case,
    false,
    func,
    inspect,
    select,
    true,
)
from sqlalchemy.types import NullType, TypeEngine

from app.access.policy import Grant, find_grant, is_in_scope
from app.database.ids import RowId
from app.fields.base import Date, Number, Schema, Timestamp, Uuid
from app.fields.base import Decimal as DecimalField
from app.ids import IdForm
from app.problems import ConfigurationError, describe_error

from .filters import kinds, sql
from .filters.columns import kind_of
from .functions import COUNT, SQL, Result, result_of
from .related_sql import RelatedCollection, RelatedRowsSql
from .rows.computed import (
    Computation,
    ComputedColumn,
    ComputedField,
    Readable,
    RelatedValue,
)
from .rows.grants import ALL_ROWS
from .rows.limits import BETWEEN_WORDS
from .rows.values import Condition, Element

# Returns a collection of the current app by name.
FindCollection = Callable[[str], RelatedCollection]
# The form in JSON of values, by their type in Python, unless it is the value itself.
WRITERS: dict[type, Callable[[Any], object]] = {
    int: int,
    float: Number.write,
    datetime: Timestamp.write,
    date: Date.write,
    Decimal: DecimalField.write,
    UUID: Uuid.write,
    bool: bool,
    str: str,
}
#: The largest number that a sum of numbers adds in a computed property; with larger ones, it is
#: null, as no number may hold it.
MAX_SUMMED = 1e290


def values_of(type_: TypeEngine[Any], row_ids: IdForm) -> Result:
    """Return the values of a type; raise ValueError for one that properties cannot have."""
    if isinstance(type_, NullType):
        raise ValueError("the type of its values is unknown; set it with cast or type_coerce")
    # Ids of the type ID_TYPE know it in the context of an app only.
    python_type = row_ids.python_type if isinstance(type_, RowId) else type_.python_type
    if python_type not in WRITERS:
        raise ValueError(f"there are no computed properties of the type {type_!r}")
    return Result(type_, kind_of(type_, row_ids), WRITERS[python_type])


def result_of_related(word: str, values: Result | None) -> Result:
    """Return the result of a function of related rows, or of their values."""
    result = result_of(word, values) if values else COUNT
    # As a property is written, of which a sum is.
    return replace(result, write=Number.write) if result.kind is kinds.NUMBER else result


def computed_columns(
    collection: RelatedCollection, row_ids: IdForm, find: FindCollection
) -> dict[str, ComputedColumn]:
    """Return the columns of a collection's computed properties by name.

    Raises ConfigurationError for invalid ones.
    """
    resource, found = collection.resource, dict[str, ComputedColumn]()
    if not resource.computed:
        return found
    attributes = {*inspect(resource.model).columns.keys()}
    fields = {field.data_key or key for key, field in resource.schema().fields.items()}
    for name, computation in resource.computed.items():
        try:
            column = _column(collection, name, computation, row_ids, find)
        except ValueError as error:
            raise unusable(resource.name, name, str(error)) from None
        if name in resource.relations or name in fields or column.key in attributes:
            raise unusable(resource.name, name, "its name is that of something else")
        attributes.add(column.key)
        found[name] = column
    return found


def unusable(resource: str, name: str, problem: str) -> ConfigurationError:
    """Return the error for a computed property that cannot be used."""
    return ConfigurationError(f"the computed property {resource}.{name}: {problem}")


def _column(
    collection: RelatedCollection,
    name: str,
    computation: Computation,
    row_ids: IdForm,
    find: FindCollection,
) -> ComputedColumn:
    """Return the column of a computed property; raise ValueError for an invalid one."""
    if isinstance(computation, RelatedValue):
        return ComputedColumn(
            computation.key,
            computation.result,
            partial(_of_related, collection, computation),
            is_nullable=computation.word != "count",
            is_dynamic=computation.visible_to_caller,
            description=computation.description,
        )
    table: FromClause = inspect(collection.resource.model).local_table
    function: Any = computation if isinstance(computation, FunctionType) else None

    def make(readable: Readable) -> Element:
        return _element(function(readable) if function else computation, table)

    try:
        # What the caller may read does not change the type.
        element = make(lambda _: true())
    except ValueError:
        raise
    # Whatever the project's code raises.
    except Exception as error:
        raise ValueError(describe_error(error)) from error
    return ComputedColumn(
        _attribute(name),
        values_of(element.type, row_ids),
        partial(_in_table, table, partial(make, partial(_readable, find))),
        is_nullable=True,
        is_dynamic=bool(function),
    )


def _attribute(name: str) -> str:
    """Return the attribute of rows for a name in JSON; raise ValueError for an invalid name."""
    attribute = BETWEEN_WORDS.sub("_", name).lower()
    if not attribute.isidentifier() or attribute.startswith("_") or iskeyword(attribute):
        raise ValueError("its name must be one that an attribute can have")
    return attribute


def _element(given: Any, table: FromClause) -> Element:
    """Return the value that Python code computes for a row of a table; raise ValueError."""
    if not isinstance(given, Select):
        [element] = select(given).selected_columns
        return element
    if len(given.selected_columns) != 1:
        raise ValueError("it must select one value")
    return given.correlate(table).scalar_subquery()


def _in_table(table: FromClause, make: Callable[[], Element], alias: FromClause) -> Element:
    """Return a value that Python code computes, for the rows of a table or of an alias of it."""
    if alias is table:
        return make()
    # It may be any SQL about the table itself.
    key: Any = table.c.id
    found = select(make()).select_from(table).where(key == alias.corresponding_column(key))
    return found.correlate(alias).scalar_subquery()


def _of_related(collection: RelatedCollection, value: RelatedValue, table: FromClause) -> Element:
    """Return the SQL of a function of related rows, for the rows of a table or alias."""
    relation = collection.relations[value.relation]
    target = collection.target(relation)
    grant = _permission(target, relation.read_method) if value.visible_to_caller else ALL_ROWS
    rows = RelatedRowsSql(collection, table, {(value.relation,): grant})
    step = rows.follow(value.relation)

    def column(attribute: str) -> Element:
        return step.rows.on(target.rows.column(attribute))

    compared = {name: column(attribute) for name, attribute in value.attributes.items()}
    argument = column(value.attribute) if value.attribute else None
    function = func.count() if argument is None else FUNCTIONS[value.word](argument)
    return step.function(function, sql.conditions(value.where, compared))


def _permission(target: RelatedCollection, method: str) -> Grant | None:
    """Return the caller's grant for reading rows by a relation; None if it covers none."""
    if target.resource.ruled_by_parent:
        return ALL_ROWS if is_in_scope(target.name, method) else None
    grant = find_grant(target.name, method)
    return grant if grant.decision else None


def _readable(find: FindCollection, resource: str) -> Condition:
    """Return the condition that the caller may read a row of a resource, as `find` would."""
    target = find(resource)
    grant = _permission(target, "find")
    return false() if grant is None else and_(true(), *target.rows.scope(grant))


def _sum(values: Element) -> Element:
    """Return a sum that is NULL rather than an error if it is too large."""
    if not isinstance(values.type, Double):
        return SQL["sum"](values)
    total = SQL["sum"](case((values.between(-MAX_SUMMED, MAX_SUMMED), values)))
    are_small = and_(func.min(values) >= -MAX_SUMMED, func.max(values) <= MAX_SUMMED)
    return case((are_small, total))


FUNCTIONS = {**SQL, "sum": _sum}


def with_computed(schema: type[Schema], computed: Mapping[str, ComputedColumn]) -> type[Schema]:
    """Return a schema with the fields of computed properties, in place of its own ones."""
    if not computed:
        return schema
    fields = {column.key: ComputedField(name, column) for name, column in computed.items()}
    return cast("type[Schema]", schema.from_dict({**fields}, name=schema.__name__))
