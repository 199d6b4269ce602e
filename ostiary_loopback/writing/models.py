"""The models of an application as files of a project: `models/*.json`, `model-config.json`."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from app.definitions.bases import BUILT_IN, CONFIG_KEYS, PERSISTED, PLAIN, SHADOWED, TOKEN, USER
from app.definitions.switches import DISABLED
from app.problems import Problems
from app.properties.declaration import Declaration
from app.properties.properties import MAPPINGS, column_name, read_property
from app.users.extension import TAKEN as OF_USERS
from app.users.models import User
from ostiary_loopback.application import Application, Model, as_mapping
from ostiary_loopback.javascript import Finding, Kind
from ostiary_loopback.models_check import SERVED
from ostiary_loopback.repairs import repair

from .files import ProjectFile
from .names import other_names, with_other_names
from .paths import USERS, other_plurals
from .settings import id_type, owner_of_tokens, users_model, users_models
from .validations import translate_validations

JsonObject = Mapping[str, Any]
ROOTS = [name.lower() for name in (*PERSISTED, USER)]
# The types of ids in a model's file, by ID_TYPE.
_TYPES = {"integer": "number", "objectid": "objectid", "uuid": "uuid"}


def to_json(value: object) -> str:
    """Return a value as JSON, formatted as in files of a project."""
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def model_files(application: Application, found: Sequence[Finding]) -> list[ProjectFile]:
    """Return the file of each model that the application defines."""
    models = [model for model in application.models.values() if model.definition]
    tables = _other_tables(application, models)
    return [_model_file(application, model, found, tables.get(model.name)) for model in models]


def file_name(model: Model) -> str:
    """Return the name of the files of a model, without the suffix."""
    return model.file.stem if model.file else model.name


def certain_disabled(found: Iterable[Finding], model: Model) -> list[Finding]:
    """Return the findings of methods that are certain to be switched off."""
    return [
        finding
        for finding in found
        if finding.model == model.name
        and finding.kind == Kind.DISABLED_METHOD
        and finding.is_certain
    ]


def _model_file(
    application: Application, model: Model, found: Sequence[Finding], table: str | None
) -> ProjectFile:
    definition, changes = repair(application, model)
    model = replace(model, definition=dict(definition))
    if definition.get("methods") == []:
        definition["methods"] = {}
        changes.append("methods is an object: it was an empty list")
    if _is_unknown(application, model):
        definition |= {"base": PLAIN}
        changes.append(f"base is {PLAIN}: it is not served, as no file has its base {model.base}")
    _add_javascript(application, model, found, definition, changes)
    _name_in_rules(application, model, found, definition, changes)
    _set_id(application, model, definition, changes)
    _separate_columns(definition, changes, application.is_user(model))
    if table:
        definition["options"] = _with_table(definition.get("options"), table)
        changes.append(
            f"its table is {table}: another model has {_table(model)}, with the same rows"
        )
    if other := other_plurals(application).get(model.name):
        definition |= {"plural": other.plural, "http": {"path": f"/{other.path}"}}
        moved = other.path != model.path
        what = f"it is served at /{other.path}" if moved else f"its plural is {other.plural}"
        changes.append(f"{what}: {other.reason}")
    return ProjectFile(f"models/{file_name(model)}.json", to_json(definition), changes)


def _other_tables(application: Application, models: Iterable[Model]) -> Mapping[str, str]:
    """Return other tables for models that share one, which LoopBack 3 allows.

    A public model keeps its table. Each of the tables gets the rows.
    """
    stored = [model for model in models if _has_table(application, model)]
    taken = {
        _table(model): model.name for model in sorted(stored, key=lambda model: model.is_public)
    }
    found = dict[str, str]()
    for model in stored:
        if taken[_table(model)] != model.name:
            own = column_name(model.name)
            found[model.name] = own = f"{own}_2" if own in taken else own
            taken[own] = model.name
    return found


def _has_table(application: Application, model: Model) -> bool:
    if not model.data_source or application.connector(model) in SERVED:
        return False
    return has_rows(application, model) and not application.is_user(model)


def _table(model: Model) -> str:
    """Return the table of a model, as the reader of models names it."""
    mappings = [as_mapping(model.options.get(connector)) for connector in MAPPINGS]
    named = [mapping.get(key) for mapping in mappings for key in ("table", "collection")]
    return column_name(next((name for name in named if name and isinstance(name, str)), model.name))


def _with_table(options: object, table: str) -> JsonObject:
    """Return the options of a model with the name of its table, which overrides all others."""
    options = as_mapping(options)
    return {**options, MAPPINGS[0]: {**as_mapping(options.get(MAPPINGS[0])), "table": table}}


def _is_unknown(application: Application, model: Model) -> bool:
    """Return True if a model extends one that is in a package, or does not exist."""
    known = {name.lower() for name in BUILT_IN}
    base = application.models.get(model.base)
    return not (base and base.definition) and model.base.lower() not in known


def _add_javascript(
    application: Application,
    model: Model,
    found: Sequence[Finding],
    definition: dict[str, Any],
    changes: list[str],
) -> None:
    """Add the validations of the JavaScript, and the methods that it switches off."""
    properties, done = translate_validations(model, application.is_user(model), found)
    if done:
        definition["properties"] = properties
        changes += [f"{finding.name} is in properties" for finding in done]
    off = sorted({finding.name for finding in certain_disabled(found, model)})
    if off:
        given = definition.get(DISABLED)
        definition[DISABLED] = sorted({*off, *(given if isinstance(given, list) else [])})
        changes.append(f"{DISABLED} has {', '.join(off)}")


def _name_in_rules(
    application: Application,
    model: Model,
    found: Sequence[Finding],
    definition: dict[str, Any],
    changes: list[str],
) -> None:
    """Let the rules of methods that have another name here name it, too."""
    names = other_names(application, model, found)
    if not names:
        return
    before = dict(definition)
    definition |= with_other_names(definition, names)
    if isinstance(options := definition.get("options"), Mapping):
        definition["options"] = with_other_names(options, names)
    if definition != before:
        changes.append(f"acls of {', '.join(names)} are those of {', '.join(names.values())} too")


def _set_id(
    application: Application, model: Model, definition: dict[str, Any], changes: list[str]
) -> None:
    """Declare the id that the model's database generates, if its type is not ID_TYPE."""
    given, usual = id_type(application, model), id_type(application, users_model(application))
    properties = as_mapping(definition.get("properties"))
    declared = [name for name, property_ in properties.items() if _is_id(property_)]
    if not model.data_source or application.is_user(model) or _has_own_base(definition):
        return
    is_injected = not declared and definition.get("idInjection") is not False
    if is_injected and "id" in properties:
        properties = {name: each for name, each in properties.items() if name != "id"}
        definition["properties"] = properties
        changes.append("properties.id is left out: without id: true, LoopBack 3 ignores it")
    if is_injected and given != usual:
        id_property = {"type": _TYPES[given], "id": True, "generated": True}
        definition["properties"] = {"id": id_property, **properties}
        changes.append(f"properties.id is declared: {model.data_source} gives ids of {given}")
    for name in declared:
        if given == "objectid" and properties[name].get("generated"):
            changed = {**properties[name], "type": given}
            definition["properties"] = {**properties, name: changed}
            changes.append(f"properties.{name}.type is objectid, as {model.data_source} gives it")


def _separate_columns(definition: dict[str, Any], changes: list[str], is_user: bool) -> None:
    """Name the columns of properties that have one in common, such as `userId` and `user_id`.

    Those of users also differ from the names that the service's own model has.
    """
    properties = definition.get("properties")
    taken = {"id"}
    for name, declared in properties.items() if isinstance(properties, Mapping) else []:
        property_ = declared if isinstance(declared, Mapping) else {"type": declared}
        own = read_property(name, Declaration(property_, Problems(), name))
        if _is_id(declared) or own is None:
            continue
        column = own.column_name
        is_own = is_user and name not in OF_USERS and hasattr(User, column)
        if column in taken or is_own:
            column = f"{column_name(name)}_2"
            mapping = {**as_mapping(property_.get(MAPPINGS[0])), "columnName": column}
            named = {**property_, MAPPINGS[0]: mapping}
            definition["properties"] = {**definition["properties"], name: named}
            changes.append(f"properties.{name} has the column {column}: the other name is taken")
        taken.add(column)


def _is_id(property_: object) -> bool:
    return isinstance(property_, Mapping) and bool(property_.get("id"))


def has_rows(application: Application, model: Model) -> bool:
    """Return True if a model has rows here: if it extends PersistedModel or User."""
    seen = set[str]()
    base = model.name
    while (found := application.models.get(base)) and found.definition and base not in seen:
        seen.add(base)
        base = str(found.options.get("base") or PERSISTED[0])
    return base.lower() in ROOTS


def resource_name(application: Application, name: str) -> str:
    """Return the name by which `get_resource` finds a model; empty if it has no rows here."""
    model = application.models.get(name)
    if model is None or not model.definition or not model.data_source:
        return ""
    if application.is_user(model):
        return USERS if model is users_model(application) else model.plural
    if name in SHADOWED or not has_rows(application, model):
        return ""
    other = other_plurals(application).get(name)
    return other.plural if other else model.plural


def _has_own_base(definition: Mapping[str, Any]) -> bool:
    """Return True if a model extends one of the application, whose id it inherits."""
    return definition.get("base") not in (None, *BUILT_IN)


def config_file(application: Application, found: Sequence[Finding]) -> ProjectFile:
    """Return `model-config.json`: the models that are served, and their settings there."""
    entries, changes = dict(_entries(application, found)), list[str]()
    if USER not in application.models and not users_models(application):
        entries[USER] = {"public": False}
        changes.append("User is not public: LoopBack 3 serves no users")
    return ProjectFile("model-config.json", to_json(entries), changes)


def _entries(
    application: Application, found: Sequence[Finding]
) -> Iterator[tuple[str, JsonObject]]:
    several = [model for model in users_models(application) if model.data_source]
    first = users_model(application) if len(several) > 1 else None
    if first and TOKEN not in application.models:
        yield TOKEN, _with_owner({"public": False}, first)
    for name, model in application.models.items():
        entry: JsonObject = {key: model.config[key] for key in CONFIG_KEYS if key in model.config}
        if model.config and (model.definition or name in BUILT_IN):
            if first and name == TOKEN and not owner_of_tokens(application):
                entry = _with_owner(entry, first)
            yield name, with_other_names(entry, other_names(application, model, found))


def _with_owner(entry: JsonObject, users: Model) -> JsonObject:
    """Return the entry of access tokens, whose relation `user` names the first model of users."""
    relations = as_mapping(entry.get("relations"))
    owner = {"type": "belongsTo", **as_mapping(relations.get("user")), "model": users.name}
    return {**entry, "relations": {**relations, "user": owner}}
