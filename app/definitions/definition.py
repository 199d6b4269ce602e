"""What a file says of a model, read and checked."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import chain, count
from typing import Any

from app.access.rules import Rule
from app.ids import IdForm
from app.plurals import pluralize
from app.problems import MISSPELT, Problems, suggest
from app.properties.declaration import Declaration
from app.properties.properties import MAPPINGS, MAX_NAME, Property, column_name, read_property
from app.rest.filters.columns import kind_of
from app.rest.filters.kinds import Kind, identifier
from app.rest.relations import BELONGS_TO
from app.times import now

from .bases import USER, USER_SETTINGS, Merged
from .files import CONFIG, Source
from .ids import IdProperty, take_id
from .switches import DISABLED, REMOTING, SHARED, Switches

NAME = re.compile(rf"[A-Za-z_][\w-]{{0,{MAX_NAME - 1}}}", re.ASCII)
NAME_RULE = (
    f"must begin with a letter or _, followed by at most {MAX_NAME - 1} letters, digits, _ and -"
)
# Segments of a path below the base path; none is `.` or `..`.
PATH = re.compile(r"((^|/)(?!\.\.?(/|$))[A-Za-z0-9_.~-]+)+", re.ASCII)
# What LoopBack 3 has in files and does nothing here, or what nothing needs to be said of.
WITHOUT_EFFECT = (
    *(
        "scopes",
        "name",
        "base",
        "plural",
        "http",
        "description",
        "validations",
        "idInjection",
        "indexes",
    ),
    *(
        "validateUpsert",
        "validateUpdate",
        "forceId",
        "strictDelete",
    ),
    *(
        "injectOptionsFromRemoteContext",
        "trackChanges",
        "enableRemoteReplication",
        "legacyExplorer",
    ),
    *(
        "persistUndefinedAsNull",
        "strictObjectIDCoercion",
        "caseSensitiveEmail",
        "disableDefaultSort",
    ),
    *("dataSource", "public", "ttl", "maxTTL", "allowEternalTokens", "automaticHydration"),
    *("saltWorkFactor", "restrictResetPasswordTokenScope"),
    *("rejectPasswordChangesViaPatchOrReplace", "logoutSessionsOnSensitiveChanges"),
)
KEYS = (
    *("properties", "relations", "acls", "options", "hidden", "protected", "scope", "strict"),
    *("mixins", "methods", "owner", "ownerRelations", "defaultPermission", "resourceName"),
    *MAPPINGS,
    *("replaceOnPUT", REMOTING, DISABLED),
)
# The names of the mixin of loopback-ds-timestamp-mixin.
TIME_STAMP = ("timestamp", "timestamps")


@dataclass
class Definition:
    """A model that has rows: its names, properties, relations, rules and options."""

    source: Source
    name: str
    plural: str
    # The path below the base path.
    path: str
    id: IdProperty
    table: str
    # The key that names the table, if one does.
    table_key: str
    properties: dict[str, Property]
    # With their places: relations and rules as the file has them, and the rules themselves.
    relations: dict[str, tuple[str, Any]] = field(default_factory=dict)
    acls: list[tuple[str, Any]] = field(default_factory=list)
    rules: list[tuple[str, Rule]] = field(default_factory=list)
    # The names of the models whose ids properties hold.
    foreign_keys: dict[str, str] = field(default_factory=dict)
    # Those of them that models derived from another have in common with it.
    shared_keys: set[str] = field(default_factory=set)
    # The properties with what relations lead to.
    held: set[str] = field(default_factory=set)
    hidden: frozenset[str] = frozenset()
    protected: frozenset[str] = frozenset()
    scope: dict[str, Any] = field(default_factory=dict)
    # Whether properties that are not declared are kept.
    is_open: bool = False
    # The properties of the mixin TimeStamp: when a row was created and last changed.
    times: tuple[str, ...] = ()
    # The relation that `owner` names, and LoopBack 3's `ownerRelations`.
    owner: str = ""
    owner_relations: list[str] | bool = False
    allows_by_default: bool = False
    # Methods that are switched off and on.
    switches: Switches = field(default_factory=Switches)
    replaces_on_put: bool = True
    # The models in JSON that it extends.
    bases: frozenset[str] = frozenset()
    is_public: bool = True
    # The data source that `model-config.json` names, and the path of the model there.
    data_source: str = ""
    remote_path: str = ""
    # Properties and columns that the rows have anyway, and names that no relation may have, such as
    # those of what is served below the path of a row.
    own_names: frozenset[str] = frozenset()
    own_columns: frozenset[str] = frozenset()
    calls: frozenset[str] = frozenset({"exists", "replace"})
    # The properties as the file has them.
    declared: Mapping[str, Any] = field(default_factory=dict)
    # The settings that the options of users are.
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def file(self) -> str:
        """The name of the file, which problems begin with."""
        return self.source.file

    def filterable(self, row_ids: IdForm) -> dict[str, Kind]:
        """Return what filters may name, and the kinds of the values, as `kind_of` does."""
        kinds = {self.id.name: identifier(self.id.form)}
        for name, declared in self.properties.items():
            if not declared.hidden and name not in self.hidden:
                kinds[name] = kind_of(declared.type.column_type, row_ids)
        return kinds

    def new_column(self, name: str) -> str:
        """Return a name for the column of a further property, which no other has."""
        wanted = column_name(name)
        taken = {"id", *self.own_columns, *(each.column_name for each in self.properties.values())}
        names = chain([wanted], (f"{wanted}_{number}" for number in count(2)))
        return next(each for each in names if each not in taken)

    def column_of(self, name: str) -> str:
        """Return the name of the column of a property."""
        return self.properties[name].column_name


def read_definition(merged: Merged, problems: Problems) -> Definition:
    """Read a model that has rows."""
    source, settings = merged.source, merged.settings
    file = source.file
    name = source.name
    _check_keys(merged, problems)
    if not NAME.fullmatch(name):
        problems.add(f"{file}: name", NAME_RULE)
    hidden = _names(settings, "hidden", merged, problems)
    times = _times(merged, problems)
    for each in times:
        merged.properties.pop(each, None)
    properties = _properties(merged, hidden, problems)
    id_property = take_id(file, merged, properties, problems)
    properties |= times
    table, table_key = _table(settings, name)
    definition = Definition(
        source=source,
        name=name,
        plural=_plural(settings, name, problems, file),
        path="",
        id=id_property,
        table=table,
        table_key=table_key,
        properties=properties,
        declared={name: each for name, (_, each) in merged.properties.items()},
        relations=merged.relations,
        acls=merged.acls,
        hidden=hidden,
        protected=_names(settings, "protected", merged, problems),
        scope=_scope(settings, problems, file),
        is_open=settings.get("strict") is False,
        times=tuple(times),
        owner=str(settings.get("owner") or ""),
        owner_relations=_owner_relations(settings, problems, file),
        allows_by_default=_default_permission(settings, problems, file),
        switches=merged.switches,
        replaces_on_put=settings.get("replaceOnPUT") is not False,
        bases=merged.bases,
        is_public=merged.is_public,
        data_source=merged.data_source,
    )
    if len(definition.table) > MAX_NAME:
        problems.add(
            f"{file}: name", f"the table {definition.table} has over {MAX_NAME} characters"
        )
    definition.path = _path(settings, definition.plural, problems, file)
    definition.remote_path = str(settings.get("resourceName") or definition.plural)
    _check_columns(definition, problems)
    _warn_of_methods(merged, problems)
    return definition


def _check_keys(merged: Merged, problems: Problems) -> None:
    """Report keys of the model's file and of its options in `model-config.json`."""
    file, configured = merged.source.file, merged.configured
    own = [name for name in merged.settings if name not in configured]
    known = (*KEYS, *USER_SETTINGS) if merged.root == USER else KEYS
    # Applications have keys such as `sharedMethodNames`, which is not this one misspelt.
    ignored = (*WITHOUT_EFFECT, SHARED)
    problems.check_keys(file, own, known, ignored)
    place = f"{CONFIG}: {merged.source.name}.options"
    problems.check_keys(place, configured, known, ignored)
    if merged.settings.get("public") is False:
        problems.warn(f"{file}: public", f"is ignored: {CONFIG} says which models have endpoints")


def _check_columns(definition: Definition, problems: Problems) -> None:
    """Report columns that two properties have, of which one may be the id or a time."""
    file, taken = definition.file, {"id": definition.id.name}
    for each in definition.properties.values():
        if each.name == definition.id.name:
            problems.add(f"{file}: mixins", f"{each.name} is the id")
        elif other := taken.get(each.column_name):
            is_time = each.name in definition.times
            path = f"{file}: {'mixins' if is_time else f'properties.{each.name}'}"
            its = f"the column of {each.name}" if is_time else f"its column {each.column_name}"
            problems.add(path, f"{its} is that of {other} too")
        taken[each.column_name] = each.name


def _plural(settings: Mapping[str, Any], name: str, problems: Problems, file: str) -> str:
    plural = settings.get("plural") or pluralize(name)
    if isinstance(plural, str) and NAME.fullmatch(plural.strip("/")):
        return plural.strip("/")
    problems.add(f"{file}: plural", NAME_RULE)
    return name


def _path(settings: Mapping[str, Any], plural: str, problems: Problems, file: str) -> str:
    http = settings.get("http") or {}
    path = http.get("path") if isinstance(http, Mapping) else http
    path = (path.strip("/") if isinstance(path, str) else path) or plural
    if not isinstance(path, str) or not PATH.fullmatch(path):
        problems.add(f"{file}: http.path", "must be a path such as /notes")
        return plural
    return path


def _table(settings: Mapping[str, Any], name: str) -> tuple[str, str]:
    """Return the name of the table, and the key that names it, if there is one."""
    for connector in MAPPINGS:
        mapping = settings.get(connector)
        named = mapping if isinstance(mapping, Mapping) else {}
        for key in ("table", "collection"):
            given = named.get(key)
            if isinstance(given, str) and given:
                return column_name(given), f"{connector}.{key}"
    return column_name(name), ""


def _properties(merged: Merged, hidden: frozenset[str], problems: Problems) -> dict[str, Property]:
    properties: dict[str, Property] = {}
    for name, (path, declared) in merged.properties.items():
        # LoopBack 3's way to drop a property of the base, or the id.
        if declared in (False, None):
            continue
        property_ = read_property(name, Declaration(declared, problems, path))
        if property_ is None:
            continue
        properties[name] = replace(property_, hidden=property_.hidden or name in hidden)
    return properties


def _names(
    settings: Mapping[str, Any], key: str, merged: Merged, problems: Problems
) -> frozenset[str]:
    """Return the names of properties in a list; a name that is none hides nothing."""
    path = f"{merged.source.file}: {key}"
    names = settings.get(key) or []
    if not isinstance(names, list) or not all(isinstance(each, str) for each in names):
        problems.add(path, "must be a list of properties")
        return frozenset()
    known = {*merged.properties, *_implied(merged), "id"}
    for each in names:
        if each not in known and merged.root != USER:
            meant = suggest(each, merged.properties, MISSPELT)
            report = problems.add if meant else problems.warn
            report(path, f"there is no property {each!r}{meant}")
    return frozenset(names)


def _implied(merged: Merged) -> set[str]:
    """Return the properties that are not declared: foreign keys and times."""
    keys = {
        str(declared.get("foreignKey") or f"{name}Id")
        for name, (_, declared) in merged.relations.items()
        if isinstance(declared, Mapping) and declared.get("type") == BELONGS_TO
    }
    return keys | _times(merged, Problems()).keys()


def _scope(settings: Mapping[str, Any], problems: Problems, file: str) -> dict[str, Any]:
    scope = settings.get("scope") or {}
    if not isinstance(scope, Mapping):
        problems.add(f"{file}: scope", "must be a filter")
        return {}
    return dict(scope)


def _times(merged: Merged, problems: Problems) -> dict[str, Property]:
    """Read `mixins`, of which only TimeStamp exists here; return its properties."""
    file, mixins = merged.source.file, merged.settings.get("mixins") or {}
    if not isinstance(mixins, Mapping):
        problems.add(f"{file}: mixins", "must be an object")
        return {}
    times: dict[str, Property] = {}
    for name, options in mixins.items():
        if not options and options != {}:
            continue
        if name.lower() not in TIME_STAMP:
            code = file.removesuffix(".json") + ".py"
            problems.warn(f"{file}: mixins.{name}", f"there is no such mixin; write it in {code}")
            continue
        given = options if isinstance(options, Mapping) else {}
        for key, on_change in (("createdAt", None), ("updatedAt", now)):
            time = _time(str(given.get(key) or key), merged, problems, f"{file}: mixins.{name}")
            times |= {each.name: replace(each, on_change=on_change) for each in time}
    return times


def _time(name: str, merged: Merged, problems: Problems, path: str) -> list[Property]:
    """Return a time that the service sets; it replaces the property of this name."""
    _, declared = merged.properties.get(name, ("", None))
    given = declared if isinstance(declared, Mapping) else {}
    columns = {key: given[key] for key in MAPPINGS if key in given}
    stamp = {"type": "date", "required": True, "readOnly": True, "defaultFn": "now"}
    property_ = read_property(name, Declaration({**columns, **stamp}, problems, path))
    return [property_] if property_ else []


def _owner_relations(
    settings: Mapping[str, Any], problems: Problems, file: str
) -> list[str] | bool:
    given = settings.get("ownerRelations")
    if given in (None, False):
        return False
    if given is True or (isinstance(given, list) and all(isinstance(each, str) for each in given)):
        return given
    problems.add(f"{file}: ownerRelations", "must be true, or a list of relations")
    return False


def _default_permission(settings: Mapping[str, Any], problems: Problems, file: str) -> bool:
    permission = settings.get("defaultPermission", "DENY")
    if permission not in ("ALLOW", "DENY"):
        problems.add(f"{file}: defaultPermission", "must be ALLOW or DENY")
    return bool(permission == "ALLOW")


def _warn_of_methods(merged: Merged, problems: Problems) -> None:
    methods = merged.settings.get("methods") or {}
    names = list(methods) if isinstance(methods, Mapping) else []
    for name in names:
        problems.warn(
            f"{merged.source.file}: methods.{name}",
            f"is not served until {merged.source.code.name} has an endpoint of this name",
        )
    if merged.settings.get("scopes"):
        code = merged.source.code.name
        problems.warn(
            f"{merged.source.file}: scopes",
            f"are not served: use a filter, or write endpoints in {code}",
        )
    if merged.settings.get("validations"):
        problems.warn(
            f"{merged.source.file}: validations", "are ignored: a property has `validates` instead"
        )
