"""Models in JSON whose data source, in `model-config.json`, is a REST data source."""

from collections.abc import Mapping, Sequence

from flask import Flask

from app.access.rules import Rule
from app.datasources import data_sources
from app.datasources.remote import RemoteModel, register_remote_model
from app.ids import FORMS, IdForm
from app.rest.relations import BELONGS_TO

from .definition import Definition
from .owners import owner_property
from .reading import Models, json_models
from .related_models import USERS
from .rules import applicable_rules
from .schemas import make_schema
from .setup import report


def init_app(app: Flask) -> None:
    """Serve the models; data sources, and all other models, must be there already."""
    models, row_ids = json_models.of(app), FORMS[app.config["ID_TYPE"]]
    for definition in models.remote.values():
        if definition.is_public:
            source = data_sources.of(app)[definition.data_source]
            register_remote_model(app, _make_model(definition, models, row_ids), source)
    report(app, models.problems)


def _make_model(definition: Definition, models: Models, row_ids: IdForm) -> RemoteModel:
    """Return a model as the data sources serve it."""

    def rules(methods: Mapping[str, bool]) -> Sequence[Rule]:
        return applicable_rules(definition, methods, models.problems)

    return RemoteModel(
        name=definition.plural,
        singular=definition.name,
        path=definition.path,
        remote_path=definition.remote_path,
        schema=make_schema(definition, definition.relations),
        id_form=definition.id.form,
        kinds=definition.filterable(row_ids),
        rules=rules,
        shared_methods=lambda endpoints: definition.switches.usable(endpoints, models.problems),
        replaces_on_put=definition.replaces_on_put,
        id_name=definition.id.name,
        owner=_owner(definition, models),
        is_open=definition.is_open,
        hidden=definition.hidden,
    )


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
    name = owner_property(definition, keys)
    return name if name in definition.properties else None
