"""Read the folder of models: which have rows, and which are the users."""

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from app.database.session import db
from app.ids import IdForm
from app.problems import Problems, suggest
from app.properties.properties import MAPPINGS
from app.rest.resource import Resource
from app.state import AppState
from app.users.resource import users

from .bases import BUILT_IN, PERSISTED, PLAIN, USER, Merged, configure, merge
from .definition import Definition, read_definition
from .files import CONFIG, OTHER_CONFIGS, Source, read_model_config, read_models
from .rules import read_rules
from .user_model import TOKEN, choose_users
from .users import define_users

# What is in `model-config.json` beside models.
NOT_MODELS = ("_meta",)
# What other parts of the service are called.
RESERVED = (
    *("openapi", "openapi.json", "explorer", "health", "status", "confirmation", "user_pages"),
    *("oauth", "audit"),
)
# What a model at a data source may say without effect, as its rows are not in the database.
UNSUPPORTED = {"scope": "scope", "times": "mixins"}


@dataclass
class Models:
    """What was read from the folder."""

    definitions: dict[str, Definition] = field(default_factory=dict)
    # Those whose rows are at a REST data source.
    remote: dict[str, Definition] = field(default_factory=dict)
    # What the model with the base User says.
    users: Definition | None = None
    problems: Problems = field(default_factory=Problems)

    @property
    def all(self) -> dict[str, Definition]:
        """All models but users, by name."""
        return {**self.definitions, **self.remote}

    @property
    def stored(self) -> list[Definition]:
        """The models whose rows are in our database, users included."""
        return [*self.definitions.values(), *([self.users] if self.users else [])]


json_models = AppState("models in JSON", factory=lambda _app: Models())


def read_folder(folder: Path, data_sources: Container[str], id_form: IdForm) -> Models:
    """Read the files; collect the models that have rows, and the one that users are.

    `id_form` is that of users' ids.
    """
    models = Models()
    problems = models.problems
    sources = read_models(folder, problems)
    config = read_model_config(folder, problems)
    candidates: list[Merged] = []
    # What is wrong with it is said where it has no effect.
    others = _configured(TOKEN, folder, config, Problems())
    configured = [] if USER in sources else _configured(USER, folder, config, problems)
    _warn_of_entries(folder, config or {}, sources, problems)
    for source in sources.values():
        merged = merge(source, sources, problems)
        entry = _entry(source, config, problems)
        if entry is None:
            problems.warn(source.file, f"is not served: {CONFIG} does not have {source.name}")
            continue
        configure(merged, entry, problems)
        if merged.root in (*PERSISTED, PLAIN) and merged.data_source in data_sources:
            models.remote[source.name] = read_definition(merged, problems)
            _warn_of_unsupported(models.remote[source.name], problems)
        elif merged.root in PERSISTED:
            models.definitions[source.name] = read_definition(merged, problems)
        elif merged.root == USER:
            candidates.append(merged)
            continue
        else:
            path = f"{source.file}: base"
            problems.warn(path, f"is not served: models of {merged.root} have no rows here")
        others.append(merged)
    if candidates and any(each.acls or each.configured or each.relations for each in configured):
        problems.warn(f"{CONFIG}: {USER}", f"is without effect: a model extends {USER}")
    chosen = choose_users(candidates or configured, others, problems)
    models.users = define_users(chosen, problems) if chosen else None
    for definition in [*models.remote.values(), *models.stored]:
        definition.rules = read_rules(definition, id_form, problems)
    return models


def _warn_of_unsupported(definition: Definition, problems: Problems) -> None:
    for name, (path, _) in definition.relations.items():
        if name != definition.owner:
            problems.warn(path, "is not served: rows at a data source have no relations")
    for attribute, key in UNSUPPORTED.items():
        if getattr(definition, attribute):
            problems.warn(f"{definition.file}: {key}", "is ignored: the rows are at a data source")
    for name in definition.times:
        del definition.properties[name]


def _warn_of_entries(
    folder: Path, config: Mapping[str, Any], sources: Mapping[str, Source], problems: Problems
) -> None:
    """Warn of what is in `model-config.json`, or in files beside it, without effect."""
    for path in sorted([*folder.glob(OTHER_CONFIGS), *folder.parent.glob(OTHER_CONFIGS)]):
        problems.warn(path.name, f"is not read: write it in {CONFIG}")
    for name, entry in config.items():
        place = f"{CONFIG}: {name}"
        if name in sources or name in NOT_MODELS:
            continue
        if name not in BUILT_IN:
            problems.warn(place, f"there is no such model{suggest(name, sources)}")
        elif name != USER and isinstance(entry, Mapping) and entry.get("acls"):
            problems.warn(f"{place}.acls", f"is without effect: {name} is not served")


def _configured(
    name: str, folder: Path, config: Mapping[str, Any] | None, problems: Problems
) -> list[Merged]:
    """Return a model of LoopBack 3's own, if `model-config.json` says more than where it is."""
    entry = (config or {}).get(name)
    if not isinstance(entry, Mapping) or _says_nothing(entry):
        return []
    declared = {"name": name, "base": name, "plural": users.name}
    merged = merge(Source(folder / CONFIG, declared), {}, problems)
    configure(merged, entry, problems)
    return [merged]


def _says_nothing(entry: Mapping[str, Any]) -> bool:
    """Tell whether an entry of `model-config.json` says only what holds without one."""
    return entry.keys() <= {"dataSource", "public"} and entry.get("public") is not False


def _entry(
    source: Source, config: Mapping[str, Any] | None, problems: Problems
) -> Mapping[str, Any] | None:
    """Return what `model-config.json` says of a model; None: it is only a base of others."""
    if config is None:
        return {}
    entry = config.get(source.name)
    if entry is None or isinstance(entry, Mapping):
        return entry
    problems.add(f"{CONFIG}: {source.name}", "must be an object")
    return {}


def takes_place(models: Models, sample: Resource) -> bool:
    """Tell whether the models, or what users have, take the place of a sample model."""
    taken = {name.lower() for each in models.all.values() for name in (each.plural, each.path)}
    if models.users:
        own = {sample.name, sample.singular} - {each.lower() for each in models.all}
        taken |= models.users.properties.keys()
        taken |= {
            name
            for name, (_, declared) in models.users.relations.items()
            if not isinstance(declared, Mapping) or str(declared.get("model")).lower() not in own
        }
    return sample.name in taken


def check_names(models: Models, served: Iterable[Resource], sources: Iterable[str]) -> None:
    """Report names, paths and tables that two models have, or one of the public data sources."""
    taken = dict.fromkeys(RESERVED, "Ostiary")
    taken |= {name.lower(): f"the data source {name}" for name in sources}
    shipped = {each.name.lower(): each.name for each in [users, *served]}
    if models.users:
        shipped[models.users.path.lower()] = users.name
    taken |= shipped
    tables = dict.fromkeys(db.metadata.tables, "Ostiary")
    for each in models.all.values():
        for key, place in {each.path: "http.path", each.plural: "plural"}.items():
            if taken.setdefault(key.lower(), each.name) != each.name:
                other = taken[key.lower()]
                models.problems.add(
                    f"{each.file}: {place}", f"{key} is taken by {other}; set another"
                )
        head, _, rest = each.path.lower().partition("/")
        if rest and head in shipped:
            models.problems.add(
                f"{each.file}: http.path", f"{each.path} is below that of {shipped[head]}"
            )
        if each.name in models.remote:
            continue
        if tables.setdefault(each.table, each.name) != each.name:
            example = f'"{MAPPINGS[0]}": {{"table": "{each.table}_2"}}'
            hint = "" if each.table_key else f", for instance as `{example}`"
            models.problems.add(
                f"{each.file}: {each.table_key or 'name'}",
                f"{tables[each.table]} has a table {each.table} already; set another{hint}",
            )
