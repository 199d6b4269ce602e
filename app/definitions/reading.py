"""Reading the folder of models: which have rows, and which ones are users."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from flask import Flask

from app.ids import FORMS
from app.problems import MISSPELT, Problems, suggest
from app.properties.declaration import Declaration
from app.rest.resource import Resource
from app.rest.shared_methods import PROTOTYPE
from app.settings import ALLOW, Settings, is_compatible
from app.state import AppState
from app.users.resource import users

from .bases import (
    BUILT_IN,
    PERSISTED,
    PLAIN,
    TOKEN,
    USER,
    WITHOUT_ROWS,
    MergedModel,
    choose_users,
    configure,
    merge,
)
from .definition import NOT_SERVED, Definition, read_definition
from .embedded import EmbeddableModel, embeddable
from .files import CONFIG, OTHER_CONFIGS, Source, read_model_config, read_models
from .modules import EXTEND, Module, import_modules, reporting, warn_of_others
from .roles import RESOURCES
from .rules import read_rules
from .users import define_users

# The keys of properties that may be missing.
DEFAULTS = {"default", "defaultFn", "generated"}
# The entries of `model-config.json` that are not models.
NOT_MODELS = ("_meta",)
# Keys without effect for a model at a data source, as its rows are not in the database, with the
# attributes that they set.
UNSUPPORTED = {"scope": "scope", "times": "mixins"}


@dataclass
class Models:
    """The models of a folder."""

    definitions: dict[str, Definition] = field(default_factory=dict)
    # The models whose rows are at a REST data source.
    remote: dict[str, Definition] = field(default_factory=dict)
    # The models that are containers of a file store.
    containers: dict[str, Definition] = field(default_factory=dict)
    # The models without rows that have endpoints in the Python code beside them.
    plain: dict[str, Definition] = field(default_factory=dict)
    # The first model with the base User, and the further ones by name.
    users: Definition | None = None
    further_users: dict[str, Definition] = field(default_factory=dict)
    # The required properties without default of each model, by its name in lower case.
    required: dict[str, frozenset[str]] = field(default_factory=dict)
    # All models in JSON, as others may embed them.
    embeddable: list[EmbeddableModel] = field(default_factory=list)
    # Which of LoopBack 3's Role and RoleMapping have endpoints.
    public_roles: frozenset[str] = frozenset()
    # The Python files, by their names without `.py`.
    modules: dict[str, Module] = field(default_factory=dict)
    problems: Problems = field(default_factory=Problems)

    @property
    def all(self) -> dict[str, Definition]:
        """All models except users, by name."""
        return {**self.definitions, **self.remote, **self.containers, **self.plain}

    @property
    def of_users(self) -> list[Definition]:
        """The models of users, the first one first."""
        return [*([self.users] if self.users else []), *self.further_users.values()]

    @property
    def with_users(self) -> list[Definition]:
        """All models."""
        return [*self.all.values(), *self.of_users]

    @property
    def stored(self) -> list[Definition]:
        """The models with rows in the database, including users."""
        return [*self.definitions.values(), *self.of_users]

    @property
    def resources(self) -> dict[Resource, str]:
        """The models in Python, with the names of their files."""
        found = dict[Resource, str]()
        for module in self.modules.values():
            for resource in module.resources:
                found.setdefault(resource, module.path.name)
        return found

    def extend(self, source: Source, resource: Resource) -> None:
        """Call the Python code beside a model with its resource, which it may change."""
        module = self.modules.get(source.code.stem)
        if module is None:
            return
        if not module.has(EXTEND) and not module.resources:
            self.problems.add(module.path.name, f"has no function {EXTEND}")
        with reporting(self.problems):
            module.call(EXTEND, resource)
        served = {endpoint.method for endpoint in resource.own_endpoints}
        for name, method in source.declared["methods"].entries().items():
            if name.removeprefix(PROTOTYPE) not in served:
                method.warn(NOT_SERVED.format(module.path.name))


json_models = AppState("models", factory=lambda _app: Models())


def read_folder(app: Flask, folder: Path) -> Models:
    """Read the files; collect the models with rows, and the model of users."""
    models = Models(problems=Problems(is_lenient=is_compatible(app.config)))
    sources = read_models(folder, models.problems)
    models.modules = import_modules(app, folder, models.problems)
    beside = {source.code.stem for source in sources.values()}
    warn_of_others(models.modules, beside, models.problems)
    config = read_model_config(folder, models.problems)
    _warn_of_other_files(folder, models.problems)
    if config is not None:
        models.public_roles = _public_roles(config)
        _warn_of_entries(config, sources)
    merged_models = [merge(source, sources) for source in sources.values()]
    models.required = {merged.source.name.lower(): _required(merged) for merged in merged_models}
    served = list(_served(merged_models, config))
    configured = [] if USER in sources else _configured(USER, folder, config)
    models.embeddable = list(map(embeddable, [*merged_models, *configured]))
    for merged in served:
        if merged.root != USER:
            _add(models, merged, app.config)
    chosen = _choose_users(served, configured, _tokens(folder, config))
    models.users = define_users(chosen) if chosen else None
    models.further_users = {
        merged.source.name: define_users(merged, is_first=False)
        for merged in served
        if merged.root == USER and merged is not chosen
    }
    of_users = [definition.name for definition in models.of_users]
    for definition in models.with_users:
        _read_permissions(definition, of_users, app.config)
    return models


def _read_permissions(
    definition: Definition, of_users: Collection[str], settings: Settings
) -> None:
    """Set what a model allows: the rules of its file, and whether calls are allowed without one."""
    if definition.allows_by_default is None:
        definition.allows_by_default = settings["DEFAULT_PERMISSION"] == ALLOW
    definition.rules = read_rules(definition, FORMS[settings["ID_TYPE"]], of_users)


def _public_roles(config: Declaration) -> frozenset[str]:
    """Return which of LoopBack 3's Role and RoleMapping `model-config.json` makes public."""
    return frozenset(name for name in RESOURCES if config[name].mapping.get("public") is True)


def _required(merged: MergedModel) -> frozenset[str]:
    """Return the required properties of a model that have no default."""
    return frozenset(
        name
        for name, declared in merged.properties.items()
        if declared.mapping.get("required") and not declared.mapping.keys() & DEFAULTS
    )


def _served(models: Sequence[MergedModel], config: Declaration | None) -> Iterator[MergedModel]:
    """Yield the models, with the declarations of `model-config.json` if they are served."""
    for merged in models:
        source = merged.source
        entry = source.declared.with_value({}) if config is None else config[source.name]
        if entry.value is None:
            source.declared.warn(f"is not served: {CONFIG} does not have {source.name}")
            continue
        entry.check_object()
        configure(merged, entry)
        # Methods of models without rows need no data source.
        if not merged.is_attached and merged.root not in WITHOUT_ROWS:
            reason = f"{CONFIG} gives {source.name} no data source"
            source.declared.warn(f"is not served, but may be a base: {reason}")
            continue
        yield merged


def _choose_users(
    served: Sequence[MergedModel],
    configured: Sequence[MergedModel],
    tokens: Sequence[MergedModel],
) -> MergedModel | None:
    """Return the model of users; LoopBack 3's own, as configured, if no model extends it."""
    candidates = [merged for merged in served if merged.root == USER]
    others = [merged for merged in served if merged.root != USER]
    if not candidates:
        return choose_users(configured, [*tokens, *others])
    for user in configured:
        if any((user.acls, user.configured, user.relations)):
            user.source.declared[USER].warn(f"is without effect: a model extends {USER}")
    return choose_users(candidates, [*tokens, *others])


def _add(models: Models, merged: MergedModel, settings: Settings) -> None:
    """Add a model with rows in the database or at a data source; warn of one without rows."""
    name = merged.source.name
    has_rows = merged.root in (*PERSISTED, PLAIN)
    if has_rows and merged.data_source in settings["STORES"]:
        models.containers[name] = read_definition(merged)
    elif has_rows and merged.data_source in settings["DATA_SOURCES"]:
        models.remote[name] = read_definition(merged)
        _warn_of_unsupported(models.remote[name])
    elif merged.root in PERSISTED:
        models.definitions[name] = read_definition(merged)
    elif merged.root in WITHOUT_ROWS and merged.source.code.is_file():
        models.plain[name] = read_definition(merged)
    else:
        reason = f"models of {merged.root} have no rows here"
        merged.declared["base"].warn(f"is not served: {reason}")


def _warn_of_unsupported(definition: Definition) -> None:
    for name, relation in definition.relations.items():
        if name != definition.owner:
            relation.warn("is not served: rows at a data source have no relations")
    for attribute, key in UNSUPPORTED.items():
        if getattr(definition, attribute):
            definition.at(key).warn("is ignored: the rows are at a data source")
    for name in definition.times:
        del definition.properties[name]


def _warn_of_other_files(folder: Path, problems: Problems) -> None:
    """Warn of the files that LoopBack 3 reads in addition."""
    for path in sorted([*folder.glob(OTHER_CONFIGS), *folder.parent.glob(OTHER_CONFIGS)]):
        problems.warn(path.name, f"is not read: write it in {CONFIG}")


def _warn_of_entries(config: Declaration, sources: Mapping[str, Source]) -> None:
    """Warn of the entries of `model-config.json` without effect."""
    for name in config.mapping:
        if name in sources or name in NOT_MODELS:
            continue
        if name not in BUILT_IN:
            config[name].report_unknown(f"there is no such model{suggest(name, sources, MISSPELT)}")
        elif name != USER and config[name].mapping.get("acls"):
            reason = "only admins may call it" if name in RESOURCES else f"{name} is not served"
            config[name]["acls"].warn(f"is without effect: {reason}")


def _configured(name: str, folder: Path, config: Declaration | None) -> list[MergedModel]:
    """Return a built-in model if `model-config.json` sets more than its data source."""
    if config is None or _says_nothing(config[name]):
        return []
    declared = {"name": name, "base": name, "plural": users.name}
    merged = merge(Source(folder / CONFIG, config.with_value(declared)), {})
    configure(merged, config[name])
    return [merged]


def _tokens(folder: Path, config: Declaration | None) -> list[MergedModel]:
    """Return LoopBack 3's model of tokens; its entry has no effect, so its problems are ignored."""
    muted = config and Declaration(config.value, Problems(), config.path, config.separator)
    return _configured(TOKEN, folder, muted)


def _says_nothing(entry: Declaration) -> bool:
    """Return True if an entry of `model-config.json` has no effect on a built-in model."""
    keys = entry.mapping.keys()
    return keys <= {"dataSource", "public"} and entry.mapping.get("public") is not False
