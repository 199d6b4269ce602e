"""A validated model definition."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, count
from typing import NamedTuple

from app.access.rules import Rule
from app.database.ids import TextId
from app.ids import IdForm
from app.plurals import pluralize
from app.problems import MISSPELT, SIMILAR, suggest
from app.properties.declaration import Declaration, JsonObject
from app.properties.properties import MAPPINGS, MAX_NAME, Property, column_name, read_property
from app.rest.endpoint import VERBS
from app.rest.filters.columns import kind_of
from app.rest.filters.kinds import Kind, identifier
from app.rest.rows.limits import Limit
from app.rest.visibility import Visibility

from .bases import OTHER_NAMES, OWNER_MAY_CHANGE, USER, USER_SETTINGS, MergedModel, read_times
from .changes import read_changes
from .computed import DeclaredComputed, read_all_computed
from .files import CONFIG, Source
from .indexes import DeclaredIndex, read_indexes, with_index_length
from .keys import FORCE_ID, IdProperty, belongs_to, polymorphic_keys, read_owner_relations, take_id
from .limits import read_limits
from .switches import DISABLED, REMOTING, SHARED, Switches

NAME = re.compile(rf"[A-Za-z_][\w-]{{0,{MAX_NAME - 1}}}", re.ASCII)
NAME_RULE = (
    f"must begin with a letter or _, followed by at most {MAX_NAME - 1} letters, digits, _ and -"
)
# LoopBack 3's alternative names of verbs.
OTHER_VERBS = ("DEL", "ALL")
NOT_SERVED = "is not served until {} has an endpoint of this name"
# Segments of a path below the base path, except `.` and `..`.
PATH = re.compile(r"((^|/)(?!\.\.?(/|$))[A-Za-z0-9_.~-]+)+", re.ASCII)
# Keys of LoopBack 3 without effect here, or that are read elsewhere.
WITHOUT_EFFECT = (
    *("name", "base", "plural", "http", "scopes", "validations"),
    *("idInjection", "validateUpsert", "validateUpdate"),
    *("injectOptionsFromRemoteContext", "trackChanges", "enableRemoteReplication"),
    *("persistUndefinedAsNull", "strictObjectIDCoercion", "automaticHydration"),
    *("caseSensitiveEmail", "disableDefaultSort", "legacyExplorer", "dataSource", "public"),
    *("ttl", "maxTTL", "allowEternalTokens", "saltWorkFactor", "restrictResetPasswordTokenScope"),
    *("rejectPasswordChangesViaPatchOrReplace", "logoutSessionsOnSensitiveChanges"),
)
KEYS = (
    *("properties", "relations", "acls", "options", "hidden", "protected", "scope", "strict"),
    *("indexes", "limits", "mixins", "methods", "owner", "ownerRelations", "defaultPermission"),
    *("resourceName", "description", "changes"),
    *OTHER_NAMES.values(),
    *MAPPINGS,
    *("replaceOnPUT", "strictDelete", OWNER_MAY_CHANGE, FORCE_ID, REMOTING, DISABLED),
)


class PlacedRule(NamedTuple):
    """A rule with its declaration, for warnings."""

    declared: Declaration
    rule: Rule


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
    # The key that sets the table's name, if one does.
    table_key: str
    properties: dict[str, Property]
    # Relations and rules as declared, and the parsed rules.
    relations: dict[str, Declaration] = field(default_factory=dict)
    acls: list[Declaration] = field(default_factory=list)
    rules: list[PlacedRule] = field(default_factory=list)
    # The models whose ids properties hold, by property.
    foreign_keys: dict[str, str] = field(default_factory=dict)
    # The keys of polymorphic relations, each with the property for the name of a model.
    polymorphic: dict[str, str] = field(default_factory=dict)
    # The `foreign_keys` that several derived models have in common.
    shared_keys: set[str] = field(default_factory=set)
    # The indexes that `indexes` declares.
    indexes: Sequence[DeclaredIndex] = ()
    # How many rows may belong to one row of another model.
    limits: Sequence[Limit] = ()
    # The computed properties, as declared.
    computed: Mapping[str, DeclaredComputed] = field(default_factory=dict)
    # The properties that hold the data of relations.
    held: set[str] = field(default_factory=set)
    hidden: frozenset[str] = frozenset()
    protected: frozenset[str] = frozenset()
    # What clients see of the objects in JSON properties, unless that is everything.
    embedded: Mapping[str, Visibility] = field(default_factory=dict)
    scope: dict[str, object] = field(default_factory=dict)
    # Whether undeclared properties are kept, and whether they are refused even with COMPATIBILITY.
    is_open: bool = False
    is_strict: bool = False
    # The properties of the mixin TimeStamp: when a row was created and last changed.
    times: tuple[str, ...] = ()
    # The relation that `owner` names, and LoopBack 3's `ownerRelations`.
    owner: str = ""
    owner_relations: list[str] | bool = False
    # Whether calls that no rule matches are allowed; None: as DEFAULT_PERMISSION says.
    allows_by_default: bool | None = None
    # Whether changes of the rows are recorded, and which properties are kept of them.
    changes: bool | Mapping[str, Sequence[str]] = False
    # Methods that are switched off and on.
    switches: Switches = field(default_factory=Switches)
    replaces_on_put: bool = True
    # Whether deleting a row that does not exist is an error for every client.
    finds_deleted: bool = False
    # Whether an owner may set another owner.
    owner_may_change: bool = False
    # The models in JSON that it extends.
    bases: frozenset[str] = frozenset()
    is_public: bool = True
    # The data source that `model-config.json` names, and the path of the model there.
    data_source: str = ""
    remote_path: str = ""
    # Properties, columns, and calls below the path of a row that the rows have anyway.
    own_names: frozenset[str] = frozenset()
    own_columns: frozenset[str] = frozenset()
    calls: frozenset[str] = frozenset({"exists", "replace"})
    # What names of columns begin with, if the table is that of other models, too.
    column_prefix: str = ""
    # The properties as declared in the file.
    declared: JsonObject = field(default_factory=dict)
    # What a row is, for the readers of the document.
    description: str = ""
    # The settings that the options of users set.
    settings: JsonObject = field(default_factory=dict)

    @property
    def file(self) -> str:
        """The name of the file, with which problems begin."""
        return self.source.file

    @cached_property
    def model(self) -> type[object]:
        """The class that is mapped to the table."""
        return type(self.name, (), {})

    def at(self, key: str) -> Declaration:
        """Return the place of a key of the file, for problems."""
        return self.source.declared[key]

    def filterable(self, row_ids: IdForm) -> dict[str, Kind]:
        """Return the properties that filters may use, with the kinds of their values."""
        kinds = {self.id.name: identifier(self.id.form)}
        for name, property_ in self.properties.items():
            if not property_.hidden and name not in self.hidden:
                kinds[name] = kind_of(property_.type.column_type, row_ids)
        return kinds

    @property
    def visibility(self) -> Visibility:
        """The visibility of the properties of a row."""
        hidden = self.hidden.union(name for name, own in self.properties.items() if own.hidden)
        return Visibility(hidden, dict(self.embedded))

    def new_column(self, name: str) -> str:
        """Return an unused name for the column of a further property."""
        wanted = f"{self.column_prefix}{column_name(name)}"
        taken = {"id", *self.own_columns, *(own.column_name for own in self.properties.values())}
        names = chain([wanted], (f"{wanted}_{number}" for number in count(2)))
        return next(name for name in names if name not in taken)

    def column_of(self, name: str) -> str:
        """Return the name of the column of a property, or of the id."""
        return "id" if name == self.id.name else self.properties[name].column_name

    def type_of(self, name: str) -> str:
        """Return the name of the type of a property, or of the id."""
        if name == self.id.name:
            return "string" if isinstance(self.id.type, TextId) else "id"
        return self.properties[name].type.name


def read_definition(merged: MergedModel) -> Definition:
    """Read a model that has rows."""
    source, settings, declared = merged.source, merged.settings, merged.declared
    _check_keys(merged)
    if not NAME.fullmatch(source.name):
        declared["name"].add(NAME_RULE)
    times = read_times(merged)
    hidden = _property_names(declared["hidden"], merged, times)
    for name in times:
        merged.properties.pop(name, None)
    indexes = read_indexes(declared["indexes"])
    properties = _properties(merged, hidden, indexes)
    declared_hidden = {name for name, property_ in properties.items() if property_.hidden}
    id_property = take_id(merged, properties)
    hidden |= declared_hidden & {id_property.name}
    hidden |= _not_included(merged.relations)
    computed = read_all_computed(merged.computed)
    hidden |= {name for name, each in computed.items() if each.is_hidden}
    plural = _plural(declared, source.name)
    table, table_key = _table(settings, source.name)
    definition = Definition(
        source=source,
        name=source.name,
        plural=plural,
        path=_path(declared, plural),
        id=id_property,
        table=table,
        table_key=table_key,
        properties=properties | times,
        declared={name: property_.value for name, property_ in merged.properties.items()},
        description=declared.text("description") or f"A row of {plural}.",
        indexes=indexes,
        limits=read_limits(declared["limits"]),
        computed=computed,
        own_names=frozenset(computed),
        own_columns=frozenset(each.column for each in computed.values()),
        relations=merged.relations,
        acls=merged.acls,
        hidden=hidden,
        protected=_property_names(declared["protected"], merged, times),
        scope=_scope(declared["scope"]),
        is_open=settings.get("strict") is False,
        is_strict=settings.get("strict") in ("validate", "throw"),
        times=tuple(times),
        owner=str(settings.get("owner") or ""),
        owner_relations=read_owner_relations(declared["ownerRelations"]),
        allows_by_default=_allows_by_default(declared),
        changes=read_changes(declared["changes"]),
        switches=merged.switches,
        replaces_on_put=settings.get("replaceOnPUT") is not False,
        finds_deleted=settings.get("strictDelete") is True,
        owner_may_change=_owner_may_change(declared[OWNER_MAY_CHANGE]),
        bases=merged.bases,
        is_public=merged.is_public,
        data_source=merged.data_source,
        remote_path=str(settings.get("resourceName") or plural),
    )
    if len(table) > MAX_NAME:
        declared["name"].add(f"the table {table} has over {MAX_NAME} characters")
    _check_columns(definition)
    _warn_of_methods(merged)
    return definition


def _check_keys(merged: MergedModel) -> None:
    """Report unknown keys of the model's file and of its options in `model-config.json`."""
    declared, configured = merged.declared, merged.configured
    own = {name: value for name, value in merged.settings.items() if name not in configured}
    known = (*KEYS, *USER_SETTINGS) if merged.root == USER else KEYS
    # Applications have keys such as `sharedMethodNames`, which is not a misspelt known key.
    ignored = (*WITHOUT_EFFECT, SHARED)
    declared.with_value(own).check_keys(known, ignored)
    place = f"{CONFIG}: {merged.source.name}.options"
    Declaration(configured, declared.problems, place).check_keys(known, ignored)
    if merged.settings.get("public") is False:
        declared["public"].warn(f"is ignored: {CONFIG} says which models have endpoints")


def _check_columns(definition: Definition) -> None:
    """Report columns that two properties have in common, including the id and times."""
    taken = {"id": definition.id.name}
    for name, property_ in definition.properties.items():
        column, is_time = property_.column_name, name in definition.times
        if name == definition.id.name:
            definition.at("mixins").add(f"{name} is the id")
        elif other := taken.get(column):
            place = definition.at("mixins" if is_time else f"properties.{name}")
            its = f"the column of {name}" if is_time else f"its column {column}"
            place.add(f"{its} is that of {other} too")
        taken[column] = name
    for name, computed in definition.computed.items():
        if other := taken.get(computed.column):
            definition.at(f"properties.{name}").add(f"its name is that of {other} too")
        taken[computed.column] = name


def _plural(declared: Declaration, name: str) -> str:
    plural = declared.mapping.get("plural") or pluralize(name)
    if isinstance(plural, str) and NAME.fullmatch(plural.strip("/")):
        return plural.strip("/")
    declared["plural"].add(NAME_RULE)
    return name


def _path(declared: Declaration, plural: str) -> str:
    http = declared.mapping.get("http")
    path = http.get("path") if isinstance(http, Mapping) else http
    path = (path.strip("/") if isinstance(path, str) else path) or plural
    if not isinstance(path, str) or not PATH.fullmatch(path):
        declared.at("http.path", path).add("must be a path such as /notes")
        return plural
    return path


def _table(settings: JsonObject, name: str) -> tuple[str, str]:
    """Return the name of the table, and the key that names it, if there is one."""
    for connector in MAPPINGS:
        mapping = settings.get(connector)
        named = mapping if isinstance(mapping, Mapping) else {}
        for key in ("table", "collection"):
            given = named.get(key)
            if isinstance(given, str) and given:
                return column_name(given), f"{connector}.{key}"
    return column_name(name), ""


def _properties(
    merged: MergedModel, hidden: frozenset[str], indexes: Sequence[DeclaredIndex]
) -> dict[str, Property]:
    properties: dict[str, Property] = {}
    for name, declared in merged.properties.items():
        # LoopBack 3's way to remove a property of the base, or the id.
        if declared.value in (False, None):
            continue
        if property_ := read_property(name, with_index_length(name, declared, indexes)):
            properties[name] = replace(property_, hidden=property_.hidden or name in hidden)
    return properties


def _property_names(
    declared: Declaration, merged: MergedModel, times: Iterable[str]
) -> frozenset[str]:
    """Return the names of properties in a list; unknown names are ignored."""
    names = declared.value or []
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        declared.add("must be a list of properties")
        return frozenset()
    if merged.root != USER:
        keys = {relation.key for relation in belongs_to(merged.relations)}
        keys |= {key for pair in polymorphic_keys(merged.relations) for key in pair}
        keys |= merged.relations.keys()
        known = {"id", *merged.properties, *merged.computed, *times, *keys}
        for name in sorted(set(names) - known):
            _report_unknown(name, merged, declared)
    return frozenset(names)


def _not_included(relations: Mapping[str, Declaration]) -> set[str]:
    """Return the relations whose options say that they cannot be included."""
    return {name for name, each in relations.items() if each["options"].flag("disableInclude")}


def _report_unknown(name: str, merged: MergedModel, declared: Declaration) -> None:
    meant = suggest(name, {**merged.properties, **merged.computed}, MISSPELT)
    report = declared.add if meant else declared.warn
    report(f"there is no property {name!r}{meant}")


def _scope(declared: Declaration) -> dict[str, object]:
    if declared.value and not declared.mapping:
        declared.add("must be a filter")
    return dict(declared.mapping)


def _owner_may_change(declared: Declaration) -> bool:
    if not isinstance(declared.value, bool | None):
        declared.add("must be true or false")
    return declared.value is True


def _allows_by_default(declared: Declaration) -> bool | None:
    permission = declared.mapping.get("defaultPermission")
    if permission not in (None, "ALLOW", "DENY"):
        declared["defaultPermission"].add("must be ALLOW or DENY")
    return None if permission is None else permission == "ALLOW"


def _warn_of_methods(merged: MergedModel) -> None:
    declared, code = merged.declared, merged.source.code
    for method in declared["methods"].entries().values():
        _check_verbs(method["http"])
        if not code.exists():
            method.warn(NOT_SERVED.format(code.name))
    if declared["scopes"].value:
        declared["scopes"].warn(f"are not served: use a filter, or write endpoints in {code.name}")
    if declared["validations"].value:
        declared["validations"].warn("are ignored: a property has `validates` instead")


def _check_verbs(http: Declaration) -> None:
    """Report unknown verbs of a method."""
    for route in http.items() if isinstance(http.value, list) else [http]:
        verb = route.mapping.get("verb", "get")
        if not isinstance(verb, str) or verb.upper() not in (*VERBS, *OTHER_VERBS):
            meant = suggest(str(verb), [name.lower() for name in VERBS], SIMILAR)
            route["verb"].add(f"there is no verb {verb!r}{meant}")
