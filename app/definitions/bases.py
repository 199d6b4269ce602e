"""Models that extend others: `base` in JSON."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from app.rest.problems import Problems, suggest

from .files import Source

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
BUILT_IN = (*PERSISTED, USER, *NOT_STORED, *SHIPPED)


@dataclass
class Merged:
    """A model with what it has from its bases; each entry with its place, for problems."""

    source: Source
    # The built-in model at the end of the chain.
    root: str = PERSISTED[0]
    properties: dict[str, tuple[str, Any]] = field(default_factory=dict)
    relations: dict[str, tuple[str, Any]] = field(default_factory=dict)
    acls: list[tuple[str, Any]] = field(default_factory=list)
    # All other keys.
    settings: dict[str, Any] = field(default_factory=dict)


def merge(source: Source, sources: Mapping[str, Source], problems: Problems) -> Merged:
    """Return a model with what it has from its bases."""
    chain, root = _chain(source, sources, problems)
    merged = Merged(source, root)
    for each in reversed(chain):
        _add(merged, each, problems)
    return merged


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
    base = source.declared.get("base") or inner or PERSISTED[0]
    return base if isinstance(base, str) else str(base)


def _add(merged: Merged, source: Source, problems: Problems) -> None:
    """Add what a model declares to what its bases do."""
    declared = dict(source.declared)
    options = dict(_object(declared.pop("options", None), source, "options", problems))
    excluded = declared.pop("excludeBaseProperties", None) or []
    for name in excluded if isinstance(excluded, list) else [excluded]:
        merged.properties.pop(str(name), None)
    for kind, known in (("properties", merged.properties), ("relations", merged.relations)):
        for name, value in _object(declared.pop(kind, None), source, kind, problems).items():
            known[name] = f"{source.file}: {kind}.{name}", value
    # LoopBack 3's generator writes relations among the options, too.
    for name, value in _object(options.pop("relations", None), source, "options", problems).items():
        merged.relations[name] = f"{source.file}: options.relations.{name}", value
    acls = declared.pop("acls", None) or []
    if not isinstance(acls, list):
        problems.add(f"{source.file}: acls", "must be a list of rules")
        acls = []
    merged.acls += [(f"{source.file}: acls[{index}]", rule) for index, rule in enumerate(acls)]
    own = {**options, **declared}
    inherited = {name: merged.settings[name] for name in INHERITED if name in merged.settings}
    merged.settings = {**inherited, **own}
    for name in COLLECTED:
        merged.settings[name] = _collect(inherited.get(name), own.get(name))


# Settings that a model has from its base, and those of them that add to the base's.
INHERITED = (
    *("strict", "scope", "hidden", "protected", "mixins", "methods", "owner"),
    "defaultPermission",
)
COLLECTED = ("hidden", "protected", "mixins", "methods")


def _collect(inherited: Any, own: Any) -> Any:
    if isinstance(inherited, Mapping) and isinstance(own, Mapping):
        return {**inherited, **own}
    if isinstance(inherited, list) and isinstance(own, list):
        return [*inherited, *own]
    return inherited if own is None else own


def _object(value: Any, source: Source, kind: str, problems: Problems) -> Mapping[str, Any]:
    if value is None or isinstance(value, Mapping):
        return value or {}
    if value != []:
        problems.add(f"{source.file}: {kind}", "must be an object")
    return {}
