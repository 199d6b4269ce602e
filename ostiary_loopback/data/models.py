"""The rows of models in JSON, and of the tables between two of them."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import tzinfo
from typing import Any

from flask import Flask
from sqlalchemy import Column, Table

from app.database.ids import IdColumn
from app.database.metadata import app_metadata
from app.definitions.definition import Definition
from app.definitions.reading import json_models
from app.rest.rows.json_values import OTHERS_ATTRIBUTE
from ostiary_loopback.application import Application

from .batches import Plan, Values
from .fields import Fields
from .moved import Moved, Refused
from .source_models import SourceModel, source_model
from .sources.base import Row, Source
from .user_ids import Keys, UserIds
from .values import checked_json, to_id


def model_plans(
    app: Flask, application: Application, ids: UserIds, zone: tzinfo, moved: Moved
) -> Iterator[Plan]:
    """Yield the plans of all models that have a table, each after those it refers to."""
    definitions = {
        definition.table: definition for definition in json_models.of(app).definitions.values()
    }
    for table in app_metadata.of(app).sorted_tables:
        if definition := definitions.get(table.name):
            names = [*definition.properties, *definition.foreign_keys]
            model = source_model(application, definition.name, names, definition.id.name)
            keys = user_keys(app, definition, ids)
            yield Rows(model, definition, table, keys, zone, moved).plan()


def user_keys(app: Flask, definition: Definition, ids: UserIds) -> Keys:
    """Return the properties of a model that hold ids of users."""
    models = json_models.of(app)
    resources = {each.plural: each.name for each in models.further_users.values()}
    resources["users"] = models.users.name if models.users else "User"
    keys = {
        name: resources[resource]
        for name, resource in definition.foreign_keys.items()
        if resource in resources
    }
    return Keys(ids, keys, definition.polymorphic)


class Rows:
    """Converts the rows of a model."""

    def __init__(
        self,
        model: SourceModel,
        definition: Definition,
        table: Table,
        keys: Keys,
        zone: tzinfo,
        moved: Moved,
    ) -> None:
        self._model = model
        self._table = table
        self._keys = keys
        self._is_open = definition.is_open
        key_type = table.c.id.type
        assert isinstance(key_type, IdColumn)  # noqa: S101 - that of every model
        self._id_form = key_type.form
        properties = definition.properties.values()
        self._names = {own.column_name: own.name for own in properties}
        self._fields = Fields(model.name, properties, zone, moved)
        self._own_references = [
            column.name
            for column in table.columns
            if any(key.column.table is table for key in column.foreign_keys)
        ]
        own = [known for known in properties if known.column_name in self._own_references]
        # The counts of this Moved are not used: they are recorded when the rows are written.
        self._own_fields = Fields(model.name, own, zone, Moved())

    def plan(self) -> Plan:
        """Return the plan."""
        own = self._own_references
        return Plan(
            self._model,
            self._table,
            self._convert,
            own_references=own,
            refer=self._refer if own else None,
            properties=self._names,
        )

    def _refer(self, row: Row) -> Values:
        given = self._id(row)
        return {"id": to_id(self._id_form, given), **self._own_fields.convert(row, given)}

    def _id(self, row: Row) -> object:
        return row.get(self._model.id_name)

    def _convert(self, row: Row) -> Values:
        given = self._id(row)
        row_id = to_id(self._id_form, given)
        if row_id is None:
            raise Refused("has no id")
        row = self._keys.replace(row)
        values = {"id": row_id, **self._fields.convert(row, given)}
        known = (self._model.id_name,)
        if self._is_open:
            values[OTHERS_ATTRIBUTE] = checked_json(self._fields.unknown(row, known))
        else:
            self._fields.count_unknown(row, known, given)
        return values


def link_plans(
    app: Flask, source: Source, application: Application, ids: UserIds
) -> Iterator[Plan]:
    """Yield the plans of tables that replace the model between two others."""
    models = json_models.of(app)
    tables = {definition.table for definition in models.definitions.values()}
    names = {definition.table: definition.name for definition in models.stored}
    names["users"] = models.users.name if models.users else "User"
    of_users = {each.name for each in models.of_users}
    for table in app_metadata.of(app).sorted_tables:
        keys = list(table.primary_key.columns)
        if table.name in {*tables, "users"} or len(keys) != 2:
            continue
        ends = [names.get(next(iter(key.foreign_keys)).column.table.name, "") for key in keys]
        for name in ("".join(ends), "".join(reversed(ends))):
            model = source_model(application, name, _foreign_keys(ends))
            if name not in application.models and source.holder(model):
                properties = _foreign_keys(ends)
                users = {
                    name: end for name, end in zip(properties, ends, strict=True) if end in of_users
                }
                names_of_keys = dict(zip(keys, properties, strict=True))
                yield _link_plan(model, table, names_of_keys, Keys(ids, users, {}))


def _foreign_keys(models: Iterable[str]) -> list[str]:
    """Return LoopBack's names for the foreign keys of such a model."""
    return [f"{name[:1].lower()}{name[1:]}Id" for name in models]


def _link_plan(
    model: SourceModel, table: Table, names: Mapping[Column[Any], str], keys: Keys
) -> Plan:
    """Return the plan of a table between two models; `names` are those of its keys in LoopBack."""

    def convert(row: Row) -> Values:
        row = keys.replace(row)
        given: Mapping[str, object] = {_plain(name): value for name, value in row.items()}
        values: Values = {}
        for column, name in names.items():
            assert isinstance(column.type, IdColumn)  # noqa: S101 - that of every key
            values[column.name] = to_id(column.type.form, given.get(_plain(column.name)))
            if values[column.name] is None:
                raise Refused(f"has no {name}")
        return values

    properties = {column.name: name for column, name in names.items()}
    return Plan(
        model,
        table,
        convert,
        key=list(properties),
        properties=properties,
    )


def _plain(name: str) -> str:
    return name.replace("_", "").lower()
