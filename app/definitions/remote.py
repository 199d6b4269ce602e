"""Models in JSON whose data source, in `model-config.json`, is a REST data source."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from flask import Flask
from sqlalchemy import Column

from app.access.rules import Rule
from app.datasources.remote import RemoteModel, register_remote_model
from app.datasources.sources import data_sources
from app.extensions import IntegerId, RowId
from app.ids import FORMS
from app.rest.problems import Problems
from app.rest.relations import BELONGS_TO

from .catalog import USERS
from .definition import Definition
from .reading import Models
from .relations import OWNER_PROPERTIES
from .rules import read_rules
from .schemas import make_schema
from .setup import SUBJECT

# What such a model may say without effect, as its rows are not in the database.
UNSUPPORTED = {"scope": "scope", "times": "mixins"}


def init_app(app: Flask) -> None:
    """Serve the models; data sources, and all other models, must be there already."""
    models: Models = app.extensions["json_models"]
    for definition in models.remote.values():
        _warn_of_unsupported(definition, models.problems)
        if definition.is_public:
            _check_name(app, definition, models.problems)
    models.problems.raise_any(SUBJECT)
    before = len(models.problems.warnings)
    for definition in models.remote.values():
        if definition.is_public:
            source = data_sources(app)[definition.data_source]
            register_remote_model(app, _make_model(app, definition, models), source)
    models.problems.raise_any(SUBJECT)
    for warning in models.problems.warnings[before:]:
        app.logger.warning("model %s", warning)


def _check_name(app: Flask, definition: Definition, problems: Problems) -> None:
    if definition.plural.lower() in {each.lower() for each in app.blueprints}:
        problems.add(f"{definition.file}: plural", f"{definition.plural} is taken")


def _warn_of_unsupported(definition: Definition, problems: Problems) -> None:
    for name, (path, _) in definition.relations.items():
        if name != definition.owner:
            problems.warn(path, "is not served: rows at a data source have no relations")
    for attribute, key in UNSUPPORTED.items():
        if getattr(definition, attribute):
            problems.warn(f"{definition.file}: {key}", "is ignored: the rows are at a data source")
    for name in definition.times:
        del definition.properties[name]
    code = definition.source.code
    if code.exists():
        problems.warn(code.name, "is ignored: rows at a data source have no hooks")


def _make_model(app: Flask, definition: Definition, models: Models) -> RemoteModel:
    """Return a model as the data sources serve it."""

    def rules(methods: Mapping[str, bool]) -> Sequence[Rule]:
        form = FORMS[app.config["ID_TYPE"]]
        allows = definition.allows_by_default
        return read_rules(definition.acls, methods, allows, form, models.problems)

    return RemoteModel(
        name=definition.plural,
        singular=definition.name,
        path=definition.path,
        remote_path=definition.remote_path,
        schema=make_schema(definition, definition.relations),
        columns=dict(_columns(definition)),
        rules=rules,
        shared_methods=lambda endpoints: definition.switches.usable(endpoints, models.problems),
        id_name=definition.id.name,
        owner=_owner(definition, models),
        is_open=definition.is_open,
        hidden=definition.hidden,
    )


def _columns(definition: Definition) -> Iterator[tuple[str, Column[Any]]]:
    """Yield what filters may name."""
    id_type = IntegerId if definition.id.type is RowId else definition.id.type
    yield definition.id.name, Column("id", id_type)
    for each in definition.properties.values():
        if not each.hidden:
            yield each.name, each.column()


def _owner(definition: Definition, models: Models) -> str | None:
    """Return the property with the owner of a row, if one is declared."""
    names = {USERS, "user", *([models.users.name.lower()] if models.users else [])}
    keys = {
        name: str(declared.get("foreignKey") or f"{name}Id")
        for name, (_, declared) in definition.relations.items()
        if isinstance(declared, Mapping)
        and declared.get("type") == BELONGS_TO
        and str(declared.get("model")).lower() in names
    }
    chosen = keys.get(definition.owner) or keys.get("owner")
    wanted = [chosen] if chosen else [*(keys.values() if len(keys) == 1 else ()), *OWNER_PROPERTIES]
    return next((each for each in wanted if each in definition.properties), None)
