"""Models that extend others: `base` in JSON."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from app.problems import Problems, suggest

from .files import CONFIG, Source
from .switches import Switches

# LoopBack 3's own models: whose models have rows, which are the users, and the rest.
PERSISTED = ("PersistedModel",)
USER = "User"
# The base of models without rows, or with rows at a data source.
PLAIN = "Model"
NOT_STORED = (PLAIN, "Email", "KeyValueModel")
SHIPPED = (
    *("AccessToken", "ACL", "Application", "Change", "Checkpoint", "Role", "RoleMapping", "Scope"),
    *("UserCredential", "UserIdentity"),
)
SHADOWED = (USER, *SHIPPED)
# LoopBack 3's options of User, each with the setting that it is.
USER_SETTINGS = {
    "emailVerificationRequired": "EMAIL_VERIFICATION",
    "realmRequired": "REALM_REQUIRED",
    "realmDelimiter": "REALM_DELIMITER",
    "ttl": "TOKEN_TTL",
    "maxTTL": "TOKEN_MAX_TTL",
    "resetPasswordTokenTTL": "RESET_TOKEN_TTL",
}
# Those of LoopBack 3's components, of which an application may have its own of the same name.
OF_COMPONENTS = (
    *("Installation", "Notification", "ApplicationCredential", "OAuthAccessToken"),
    *("OAuthAuthorizationCode", "OAuthClientApplication", "OAuthPermission", "OAuthScope"),
    "OAuthScopeMapping",
)
BUILT_IN = (*PERSISTED, USER, *NOT_STORED, *SHIPPED, *OF_COMPONENTS)


@dataclass
class Merged:
    """A model with what it has from its bases; each entry with its place, for problems."""

    source: Source
    # The built-in model at the end of the chain.
    root: str = PERSISTED[0]
    # The models in JSON that it extends.
    bases: frozenset[str] = frozenset()
    properties: dict[str, tuple[str, Any]] = field(default_factory=dict)
    relations: dict[str, tuple[str, Any]] = field(default_factory=dict)
    acls: list[tuple[str, Any]] = field(default_factory=list)
    # All other keys.
    settings: dict[str, Any] = field(default_factory=dict)
    # Those of them that `model-config.json` has.
    configured: dict[str, Any] = field(default_factory=dict)
    switches: Switches = field(default_factory=Switches)
    is_public: bool = True
    data_source: str = ""

    def path(self, key: str) -> str:
        """Return the place of a key of `settings`."""
        if key in self.configured:
            return f"{CONFIG}: {self.source.name}.options.{key}"
        return f"{self.source.file}: {key}"


def merge(source: Source, sources: Mapping[str, Source], problems: Problems) -> Merged:
    """Return a model with what it has from its bases."""
    chain, root = _chain(source, sources, problems)
    merged = Merged(source, root, frozenset(each.name for each in chain[1:]))
    for each in reversed(chain):
        _add(merged, each, problems)
    return merged


# What `model-config.json` may say of a model, and what it may not among the options.
CONFIG_KEYS = ("dataSource", "public", "options", "relations", "acls", "methods")
NOT_CONFIGURABLE = ("base", "super", "relations", "acls", "dataSource", "properties", "plural")


def configure(merged: Merged, entry: Mapping[str, Any], problems: Problems) -> None:
    """Add what `model-config.json` says of a model to what the model says, as LoopBack 3 does."""
    place = f"{CONFIG}: {merged.source.name}"
    # AngularJS leaves keys such as `$promise`.
    problems.check_keys(place, [key for key in entry if not key.startswith("$")], CONFIG_KEYS)
    merged.data_source = str(entry.get("dataSource") or "")
    public = entry.get("public")
    if not isinstance(public, bool | None):
        problems.add(f"{place}.public", "must be true or false")
    merged.is_public = public is not False
    for name, value in _object(entry.get("relations"), f"{place}.relations", problems).items():
        _, known = merged.relations.get(name, ("", None))
        if isinstance(known, Mapping) and isinstance(value, Mapping):
            value = {**known, **value}
        merged.relations[name] = f"{place}.relations.{name}", value
    merged.acls += _rules(entry.get("acls"), f"{place}.acls", problems)
    options = dict(_object(entry.get("options"), f"{place}.options", problems))
    for name in [name for name in NOT_CONFIGURABLE if options.pop(name, None) is not None]:
        problems.warn(f"{place}.options.{name}", "is ignored: only the model's file says it")
    merged.switches.read(f"{place}.options.", options, problems)
    merged.configured = options
    merged.settings = _together(merged.settings, options)


def _chain(
    source: Source, sources: Mapping[str, Source], problems: Problems
) -> tuple[list[Source], str]:
    """Return a model and its bases, and the built-in model that the last one extends."""
    if source.name in SHADOWED and source.declared.get("base", PERSISTED[0]) in PERSISTED:
        # A copy of LoopBack 3's own file.
        return [source], source.name
    chain = [source]
    while (base := _base_of(chain[-1])) in sources and sources[base] not in chain:
        chain.append(sources[base])
    known = {each.lower(): each for each in BUILT_IN}
    # A model may have the name of the built-in model that it extends.
    if base in sources and sources[base] is not chain[-1]:
        problems.add(f"{source.file}: base", f"{base} extends itself")
    elif base.lower() not in known:
        names = [*sources, *BUILT_IN]
        meant = suggest(base, names)
        problems.add(f"{chain[-1].file}: base", f"there is no model {base!r} to extend{meant}")
    return chain, known.get(base.lower(), PERSISTED[0])


def _base_of(source: Source) -> str:
    options = source.declared.get("options")
    inner = options.get("base") if isinstance(options, Mapping) else None
    return str(inner or source.declared.get("base") or PERSISTED[0])


def _add(merged: Merged, source: Source, problems: Problems) -> None:
    """Add what a model declares to what its bases do."""
    declared, place = dict(source.declared), f"{source.file}: "
    options = dict(_object(declared.pop("options", None), f"{place}options", problems))
    merged.switches.read(place, declared, problems)
    merged.switches.read(f"{place}options.", options, problems)
    excluded = declared.pop("excludeBaseProperties", None) or []
    for name in excluded if isinstance(excluded, list) else [excluded]:
        merged.properties.pop(str(name), None)
    for kind, known in (("properties", merged.properties), ("relations", merged.relations)):
        for name, value in _object(declared.pop(kind, None), f"{place}{kind}", problems).items():
            known[name] = f"{place}{kind}.{name}", value
    # LoopBack 3's generator writes relations among the options, too.
    path = f"{place}options.relations"
    for name, value in _object(options.pop("relations", None), path, problems).items():
        merged.relations[name] = f"{path}.{name}", value
    acls, in_options = declared.pop("acls", None), options.pop("acls", None)
    merged.acls += _own_rules(acls, in_options, place, problems)
    inherited = {name: merged.settings[name] for name in INHERITED if name in merged.settings}
    merged.settings = _together(inherited, _together(declared, options))


def _own_rules(acls: Any, in_options: Any, place: str, problems: Problems) -> list[tuple[str, Any]]:
    """Return the rules of a file; those among its options take the place of the others."""
    if in_options is None:
        return _rules(acls, f"{place}acls", problems)
    if acls:
        problems.warn(f"{place}acls", "are ignored: `options.acls` take their place")
    return _rules(in_options, f"{place}options.acls", problems)


def _rules(acls: Any, path: str, problems: Problems) -> list[tuple[str, Any]]:
    """Return rules with their places."""
    acls = acls or []
    if not isinstance(acls, list):
        problems.add(path, "must be a list of rules")
        return []
    return [(f"{path}[{index}]", rule) for index, rule in enumerate(acls)]


# Settings that a model has from its base, and those of them that add to the base's.
INHERITED = (
    *("strict", "scope", "hidden", "protected", "mixins", "methods", "owner", "ownerRelations"),
    *("defaultPermission", "replaceOnPUT"),
)
COLLECTED = ("mixins", "methods")
# The same for lists of properties.
NAMES = ("hidden", "protected")


def _together(known: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings with further ones, which take the place of those known or add to them."""
    collected = {name: _collect(known.get(name), more.get(name)) for name in COLLECTED}
    names = {key: _collect(_names(known.get(key)), _names(more.get(key))) for key in NAMES}
    return {**known, **more, **collected, **names}


def _names(value: Any) -> Any:
    """Return the names in a list, an object or a text as a list."""
    if isinstance(value, Mapping):
        return [name for name, is_meant in value.items() if is_meant]
    return [value] if isinstance(value, str) else value


def _collect(known: Any, more: Any) -> Any:
    if isinstance(known, Mapping) and isinstance(more, Mapping):
        return {**known, **more}
    if isinstance(known, list) and isinstance(more, list):
        return [*known, *more]
    return known if more is None else more


def _object(value: Any, path: str, problems: Problems) -> Mapping[str, Any]:
    if value is None or isinstance(value, Mapping):
        return value or {}
    if value != []:
        problems.add(path, "must be an object")
    return {}
