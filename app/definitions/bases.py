"""Models that extend other models, `base` in JSON; their mixins, and which ones users are.

Of mixins, only TimeStamp is supported. Of several models that extend User, one is the first.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from app.problems import MISSPELT, suggest
from app.properties.declaration import Declaration, JsonObject
from app.properties.properties import MAPPINGS, Property, read_property
from app.times import now

from .computed import is_computed
from .files import CONFIG, Source
from .switches import Switches

# LoopBack 3's built-in models: those with rows, the users, and the rest.
PERSISTED = ("PersistedModel",)
USER = "User"
# Properties that LoopBack 3's User hides.
USER_HIDDEN = ("password", "verificationToken")
# The base of models without rows, or with rows at a data source.
PLAIN = "Model"
# Built-in models whose derived models serve their own endpoints only.
WITHOUT_ROWS = (PLAIN, "TransientModel")
NOT_STORED = (*WITHOUT_ROWS, "Email", "KeyValueModel")
SHIPPED = (
    *("AccessToken", "ACL", "Application", "Change", "Checkpoint", "Role", "RoleMapping", "Scope"),
    *("UserCredential", "UserIdentity"),
)
SHADOWED = (USER, *SHIPPED)
# LoopBack 3's options of User, each with the equivalent setting.
USER_SETTINGS = {
    "emailVerificationRequired": "EMAIL_VERIFICATION",
    "realmRequired": "REALM_REQUIRED",
    "realmDelimiter": "REALM_DELIMITER",
    "ttl": "TOKEN_TTL",
    "maxTTL": "TOKEN_MAX_TTL",
    "allowEternalTokens": "ETERNAL_TOKENS",
    "resetPasswordTokenTTL": "RESET_TOKEN_TTL",
}
# Models of LoopBack 3's components; an application may have its own with the same name.
OF_COMPONENTS = (
    *("Installation", "Notification", "ApplicationCredential", "OAuthAccessToken"),
    *("OAuthAuthorizationCode", "OAuthClientApplication", "OAuthPermission", "OAuthScope"),
    "OAuthScopeMapping",
)
BUILT_IN = (*PERSISTED, USER, *NOT_STORED, *SHIPPED, *OF_COMPONENTS)

# The keys of an entry of `model-config.json`, and those that its options cannot have.
CONFIG_KEYS = ("dataSource", "public", "options", "relations", "acls", "methods")
NOT_CONFIGURABLE = ("base", "super", "relations", "acls", "dataSource", "properties", "plural")
# Keys of a file, and of its options, that are not settings.
NO_SETTINGS = ("options", "excludeBaseProperties", "properties", "relations", "acls")
NO_SETTINGS_OF_OPTIONS = ("relations", "acls")
# A key that LoopBack 3 does not have: whether owners may give their rows to others.
OWNER_MAY_CHANGE = "ownerMayChange"
# Settings inherited from the base, and those of them that are merged with the base's: objects and
# lists, and lists of names.
INHERITED = (
    *("strict", "scope", "hidden", "protected", "indexes", "limits", "mixins", "methods"),
    *("owner", "ownerRelations", "defaultPermission", "replaceOnPUT", "strictDelete", "forceId"),
    OWNER_MAY_CHANGE,
)
COLLECTED = ("indexes", "limits", "mixins", "methods")
NAMES = ("hidden", "protected")
# LoopBack 3's alternative names for these.
OTHER_NAMES = {name: f"{name}Properties" for name in NAMES}
# The names of the mixin of loopback-ds-timestamp-mixin.
TIME_STAMP = ("timestamp", "timestamps")
# The base of the models of access tokens, and their relation to users.
TOKEN, OWNER = "AccessToken", "user"
HOW = (
    f"the relation `{OWNER}` of {TOKEN}, in {CONFIG} or in a model that extends {TOKEN}, says which"
    " one is the first"
)


@dataclass
class MergedModel:
    """A model with the declarations of its bases and of `model-config.json`."""

    source: Source
    # The built-in model at the end of the chain of bases.
    root: str = PERSISTED[0]
    # The models in JSON that it extends.
    bases: frozenset[str] = frozenset()
    # The properties that are stored, and those that are computed.
    properties: dict[str, Declaration] = field(default_factory=dict)
    computed: dict[str, Declaration] = field(default_factory=dict)
    relations: dict[str, Declaration] = field(default_factory=dict)
    acls: list[Declaration] = field(default_factory=list)
    # All other keys.
    settings: dict[str, object] = field(default_factory=dict)
    # The settings that come from `model-config.json`.
    configured: dict[str, object] = field(default_factory=dict)
    switches: Switches = field(default_factory=Switches)
    is_public: bool = True
    data_source: str = ""
    # Whether it has a data source: a model whose entry says null only serves as a base.
    is_attached: bool = True

    @property
    def declared(self) -> Declaration:
        """The settings, with the model's file as their place."""
        return self.source.declared.with_value(self.settings)

    def setting(self, key: str) -> Declaration:
        """Return a setting, with the file that declares it as its place."""
        if key not in self.configured:
            return self.declared[key]
        path = f"{CONFIG}: {self.source.name}.options.{key}"
        return Declaration(self.settings[key], self.source.declared.problems, path)


def merge(source: Source, sources: Mapping[str, Source]) -> MergedModel:
    """Return a model with the declarations of its bases."""
    chain, root = _chain(source, sources)
    merged = MergedModel(source, root, frozenset(base.name for base in chain[1:]))
    for model in reversed(chain):
        _extend(merged, model.declared)
    names = [name for name, property_ in merged.properties.items() if is_computed(property_)]
    merged.computed = {name: merged.properties.pop(name) for name in names}
    return merged


def configure(merged: MergedModel, entry: Declaration) -> None:
    """Apply a model's entry of `model-config.json`, as LoopBack 3 does."""
    # AngularJS leaves keys such as `$promise` behind.
    entry.with_value(
        {key: value for key, value in entry.mapping.items() if not key.startswith("$")}
    ).check_keys(CONFIG_KEYS)
    merged.data_source = str(entry.mapping.get("dataSource") or "")
    merged.is_attached = entry.mapping.get("dataSource", True) not in (None, False)
    public = entry["public"]
    if not isinstance(public.value, bool | None):
        public.add("must be true or false")
    merged.is_public = public.value is not False
    for name, relation in entry["relations"].entries().items():
        if name in merged.relations and isinstance(relation.value, Mapping):
            known = merged.relations[name].mapping
            relation = relation.with_value({**known, **relation.mapping})
        merged.relations[name] = relation
    merged.acls += _rules(entry["acls"])
    merged.configured = _configured_options(entry["options"])
    merged.switches.read(entry["options"].with_value(merged.configured))
    merged.settings = _together(merged.settings, merged.configured)


def _configured_options(declared: Declaration) -> dict[str, object]:
    options = declared.entries()
    for name in NOT_CONFIGURABLE:
        if name in options and options.pop(name).value is not None:
            declared[name].warn("is ignored: only the model's file says it")
    return {name: option.value for name, option in options.items()}


def _chain(source: Source, sources: Mapping[str, Source]) -> tuple[list[Source], str]:
    """Return a model and its bases, and the built-in model that the last one extends."""
    if _is_copy(source):
        return [source], source.name
    chain = [source]
    while (base := _base_of(chain[-1])) in sources and sources[base] not in chain:
        chain.append(sources[base])
    known = {name.lower(): name for name in BUILT_IN}
    # A model may have the same name as the built-in model that it extends.
    if base in sources and sources[base] is not chain[-1]:
        source.declared["base"].add(f"{base} extends itself")
    elif base.lower() not in known:
        meant = suggest(base, [*sources, *BUILT_IN], MISSPELT)
        chain[-1].declared["base"].add_unknown(f"there is no model {base!r} to extend{meant}")
    return chain, known.get(base.lower(), PERSISTED[0])


def _is_copy(source: Source) -> bool:
    """Return True if a model is a copy of LoopBack 3's own file."""
    base = source.declared.mapping.get("base", PERSISTED[0])
    return source.name in SHADOWED and base in PERSISTED


def _base_of(source: Source) -> str:
    declared = source.declared
    inner = declared["options"].mapping.get("base")
    return str(inner or declared.mapping.get("base") or PERSISTED[0])


def _extend(merged: MergedModel, declared: Declaration) -> None:
    """Add the declarations of a model to those of its bases."""
    options = declared["options"]
    if options.value != []:
        options.check_object()
    merged.switches.read(declared)
    merged.switches.read(options)
    excluded = declared.mapping.get("excludeBaseProperties") or []
    for name in excluded if isinstance(excluded, list) else [excluded]:
        merged.properties.pop(str(name), None)
    merged.properties |= declared["properties"].entries()
    # LoopBack 3's generator also writes relations into the options.
    merged.relations |= declared["relations"].entries() | options["relations"].entries()
    merged.acls += _own_rules(declared, options)
    inherited = {name: merged.settings[name] for name in INHERITED if name in merged.settings}
    own = _together(
        _without(declared.mapping, NO_SETTINGS), _without(options.mapping, NO_SETTINGS_OF_OPTIONS)
    )
    merged.settings = _together(inherited, own)


def _without(known: JsonObject, names: tuple[str, ...]) -> JsonObject:
    return {name: value for name, value in known.items() if name not in names}


def _own_rules(declared: Declaration, options: Declaration) -> list[Declaration]:
    """Return the rules of a file; rules in its options replace the others."""
    if options.mapping.get("acls") is None:
        return _rules(declared["acls"])
    if declared.mapping.get("acls"):
        declared["acls"].warn("are ignored: `options.acls` take their place")
    return _rules(options["acls"])


def _rules(acls: Declaration) -> list[Declaration]:
    if acls.value and not isinstance(acls.value, list):
        acls.add("must be a list of rules")
    return acls.items()


def _together(known: JsonObject, more: JsonObject) -> dict[str, object]:
    """Return settings with others applied to them, which replace or extend the known ones."""
    collected = {name: _collect(known.get(name), more.get(name)) for name in COLLECTED}
    names = {key: _collect(_names(known, key), _names(more, key)) for key in NAMES}
    return {**known, **more, **collected, **names}


def _names(settings: JsonObject, key: str) -> object:
    """Return the names of properties listed under either name of a key."""
    return _collect(_as_list(settings.get(key)), _as_list(settings.get(OTHER_NAMES[key])))


def _as_list(value: object) -> object:
    """Return the names in a list, an object or a text as a list."""
    if isinstance(value, Mapping):
        return [name for name, is_meant in value.items() if is_meant]
    return [value] if isinstance(value, str) else value


def _collect(known: object, more: object) -> object:
    if isinstance(known, Mapping) and isinstance(more, Mapping):
        return {**known, **more}
    if isinstance(known, list) and isinstance(more, list):
        return [*known, *more]
    return known if more is None else more


def read_times(merged: MergedModel) -> dict[str, Property]:
    """Return the properties of the mixin TimeStamp; warn of other mixins."""
    mixins = merged.declared.at("mixins", merged.settings.get("mixins") or {})
    times: dict[str, Property] = {}
    for name, mixin in mixins.entries().items():
        if not mixin.value and mixin.value != {}:
            continue
        if name.lower() in TIME_STAMP:
            times |= _times(mixin, merged)
        else:
            mixin.warn(f"there is no such mixin; write it in {merged.source.code.name}")
    return times


def _times(mixin: Declaration, merged: MergedModel) -> dict[str, Property]:
    """Return the times that the service sets; they replace properties of the same names."""
    times = {}
    for key, on_change in (("createdAt", None), ("updatedAt", now)):
        name = str(mixin.mapping.get(key) or key)
        columns = _columns(merged.properties[name].mapping) if name in merged.properties else {}
        stamp = {"type": "date", "required": True, "readOnly": True, "defaultFn": "now"}
        if time := read_property(name, mixin.with_value({**columns, **stamp})):
            times[name] = replace(time, on_change=on_change)
    return times


def _columns(declared: JsonObject) -> JsonObject:
    return {key: declared[key] for key in MAPPINGS if key in declared}


def choose_users(
    candidates: Sequence[MergedModel], others: Sequence[MergedModel]
) -> MergedModel | None:
    """Return the first model of users among those that extend User.

    The model to which access tokens belong; otherwise one that no other extends, that is public,
    and to which other models have relations. Reports a problem if several are left.
    """
    left = list(candidates)
    for is_preferred in _preferences(candidates, others):
        left = list(filter(is_preferred, left)) or left
    if len(left) > 1:
        names = " and ".join(model.source.name for model in left)
        left[0].declared["base"].add(f"{names} extend {USER}: {HOW}")
    return left[0] if left else None


def _preferences(
    candidates: Iterable[MergedModel], others: Sequence[MergedModel]
) -> list[Callable[[MergedModel], bool]]:
    owners = set(_targets(model for model in others if model.root == TOKEN))
    related = {name for _, name in _targets(others)}
    bases = {USER, *(str(model.source.declared.mapping.get("base")) for model in candidates)}
    return [
        lambda model: (OWNER, model.source.name.lower()) in owners,
        lambda model: model.source.name not in bases,
        lambda model: model.is_public,
        lambda model: model.source.name.lower() in related,
    ]


def _targets(models: Iterable[MergedModel]) -> Iterator[tuple[str, str]]:
    """Yield relations by name, with their target models in lower case."""
    for model in models:
        for name, relation in model.relations.items():
            yield name, str(relation.mapping.get("model")).lower()
