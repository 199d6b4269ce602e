"""Ids in JSON arrays in SQL, which differs between databases: those that a statement selects."""

from typing import Any

import sqlalchemy as sa
from sqlalchemy import ColumnElement
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

from app import ids

# The condition that an item is one of the selected ids, by the form of ids. As in an include,
# neither 01 nor 1.0 is an id, and the case of hexadecimal digits does not matter.
POSTGRESQL_CONDITIONS = {
    ids.INTEGER.name: (
        "CASE WHEN item_ ~ '^[1-9][0-9]{{0,17}}$' THEN CAST(item_ AS BIGINT) END IN {selected}"
    ),
    ids.UUID.name: (
        "CASE WHEN item_ ~ '^[0-9a-fA-F]{{8}}(-[0-9a-fA-F]{{4}}){{3}}-[0-9a-fA-F]{{12}}$'"
        " THEN CAST(item_ AS UUID) END IN {selected}"
    ),
    ids.OBJECT_ID.name: "lower(item_) IN {selected}",
    "text": "item_ IN {selected}",
}
# An array may have thousands of items, so that what takes long is asked of few of them.
SQLITE_CONDITIONS = {
    # To SQLite 01 and 1.0 are 1.
    ids.INTEGER.name: (
        "CASE WHEN value IN {selected} THEN type = 'integer'"
        " OR type = 'text' AND value = CAST(CAST(value AS INTEGER) AS TEXT) END"
    ),
    ids.UUID.name: "length(value) = 36 AND lower(value) IN {selected}",
    ids.OBJECT_ID.name: "length(value) = 24 AND lower(value) IN {selected}",
    "text": "value IN {selected}",
}


class AnyItem(FunctionElement[bool]):
    """The condition that an item of a JSON array is an id that a statement selects."""

    inherit_cache = True
    type = sa.Boolean()

    def __init__(self, array: ColumnElement[Any], selected: sa.Select[Any]) -> None:
        super().__init__(array, selected.scalar_subquery())
        self.id_type: Any = selected.selected_columns[0].type


@compiles(AnyItem)
def _any_item(element: AnyItem, compiler: SQLCompiler, **options: object) -> str:
    array, selected = (compiler.process(clause, **options) for clause in element.clauses)
    is_selected = POSTGRESQL_CONDITIONS[element.id_type.form.name].format(selected=selected)
    items = f"CASE json_typeof({array}) WHEN 'array' THEN {array} ELSE '[]' END"
    items = f"json_array_elements_text({items}) AS item_"
    return f"(EXISTS (SELECT 1 FROM {items} WHERE {is_selected}))"  # noqa: S608


@compiles(AnyItem, "sqlite")
def _any_value(element: AnyItem, compiler: SQLCompiler, **options: object) -> str:
    array, selected = (compiler.process(clause, **options) for clause in element.clauses)
    is_selected = SQLITE_CONDITIONS[element.id_type.form.name].format(selected=selected)
    return f"(EXISTS (SELECT 1 FROM json_each({array}) WHERE {is_selected}))"  # noqa: S608
