"""Relations in JSON: which properties hold the ids, and which models they lead to."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from app.problems import MISSPELT, suggest
from app.properties.declaration import Declaration
from app.rest.relations import BELONGS_TO, HAS_MANY, HAS_ONE, REFERENCES_MANY, Relation

from .definition import Definition
from .embedded import HELD, hold
from .polymorphic import PolymorphicRelations
from .related_models import KEY_TYPES, USERS, ForeignKeys, RelatedModel, RelatedModels
from .rules import has_owner_rules, may_be_owner, owner_property, owner_relations
from .through import ManyToMany

BOTH_MANY = "hasAndBelongsToMany"
KINDS = (BELONGS_TO, HAS_ONE, HAS_MANY, BOTH_MANY, *HELD)
KEYS = (
    *("type", "model", "foreignKey", "through", "keyThrough", "property", "polymorphic", "options"),
    *("primaryKey", "scope", "properties", "invertProperties", "methods", "nestRemoting", "embed"),
    *("required", "default", "idName", "index", "description", "disableInclude", "params"),
)
# Keys that name foreign keys.
NAMED_KEYS = ("foreignKey", "keyThrough")
# A filter for the rows that a relation leads to.
SCOPE = "scope"
# Other options that would change the rows of a relation.
UNSUPPORTED = ("primaryKey", "properties", "invertProperties")


@dataclass(frozen=True)
class ResolvedRelations:
    """The relations of a model, with their keys resolved."""

    relations: Mapping[str, Relation]
    # Relations without endpoints; their foreign keys are checked.
    foreign_keys: Sequence[Relation]
    # The column of a row's owner.
    owner: str | None


class Relations:
    """Reads the relations of all models, and adds the foreign keys that they need."""

    def __init__(
        self,
        models: RelatedModels,
        definitions: Sequence[Definition],
        required: Mapping[str, Collection[str]],
    ) -> None:
        """Read the relations of these models.

        `required` has the required properties by model, in lower case.
        """
        self._models, self._definitions, self._required = models, definitions, required
        self._keys = ForeignKeys(models)
        self.many_to_many = ManyToMany(models, self._keys)
        self._polymorphic = PolymorphicRelations(models, definitions)

    def resolve(self) -> dict[str, ResolvedRelations]:
        """Return the relations of all models by name; add the foreign keys that they need."""
        definitions = self._definitions
        links = {definition.name: self._links(definition) for definition in definitions}
        owners = {
            definition.name: self._owner(definition, links[definition.name])
            for definition in definitions
        }
        return {
            definition.name: ResolvedRelations(
                links[definition.name],
                list(self._to_check(definition, links[definition.name])),
                owners[definition.name],
            )
            for definition in definitions
        }

    def _links(self, definition: Definition) -> dict[str, Relation]:
        """Return the relations of a model that are served."""
        links = {
            name: self._read(definition, name, relation)
            for name, relation in definition.relations.items()
        }
        return {name: link for name, link in links.items() if link is not None}

    def _read(self, definition: Definition, name: str, relation: Declaration) -> Relation | None:
        if not isinstance(relation.value, Mapping):
            relation.add("must be an object")
            return None
        relation.check_keys(KEYS)
        kind = relation.mapping.get("type")
        if kind not in KINDS:
            meant = suggest(str(kind), KINDS, MISSPELT)
            relation["type"].add(f"must be one of {', '.join(KINDS)}{meant}")
            return None
        if reason := _unserved(definition, name, relation):
            relation.warn(f"is not served: {reason}")
            return None
        link = self._make(definition, name, kind, relation)
        scope = relation.mapping.get(SCOPE)
        if link is None or link.is_embedded or not scope:
            return link
        if not isinstance(scope, Mapping):
            relation[SCOPE].add("must be a filter")
            return None
        return replace(link, scope=scope)

    def _make(
        self, definition: Definition, name: str, kind: str, relation: Declaration
    ) -> Relation | None:
        """Return a relation of a simple kind; None, with a problem or warning, without keys."""
        if relation.mapping.get("polymorphic"):
            return self._polymorphic.link(definition, name, relation)
        if kind in HELD:
            return self._held(definition, name, relation)
        model = relation.mapping.get("model")
        target = self._models.find(model)
        if target is None:
            meant = suggest(str(model), self._models.names, MISSPELT)
            reason = f"there is no model {model!r}{meant}"
            if str(model).lower() in self._required:
                reason = f"the model {model} has no rows in the database"
            relation["model"].report_unknown(reason, "is not served")
            return None
        return self._link(definition, name, target, relation) if _has_names(relation) else None

    def _to_check(
        self, definition: Definition, links: Mapping[str, Relation]
    ) -> Iterator[Relation]:
        """Yield belongsTo relations for foreign keys without a relation of their own."""
        covered = {link.foreign_key for link in links.values() if link.kind == BELONGS_TO}
        for name, target in definition.foreign_keys.items():
            column = definition.column_of(name)
            if column not in covered:
                yield Relation(BELONGS_TO, target, column)
        for name in definition.polymorphic:
            column = definition.column_of(name)
            if column not in covered:
                yield self._polymorphic.of_column(definition, column)

    def _held(self, definition: Definition, name: str, relation: Declaration) -> Relation | None:
        """Return the relation to the data in a property, which is added."""
        _warn_of_ignored(relation)
        kind, model = str(relation.mapping["type"]), str(relation.mapping.get("model"))
        needed = () if kind == REFERENCES_MANY else self._required.get(model.lower(), ())
        held = hold(definition, name, relation, needed)
        if held is None or held.hidden:
            return None
        if kind != REFERENCES_MANY:
            return Relation(kind, "", held.column_name)
        target = self._models.find(model)
        return Relation(kind, target.resource, held.column_name) if target else None

    def _link(
        self, definition: Definition, name: str, target: RelatedModel, relation: Declaration
    ) -> Relation | None:
        declared, own = relation.mapping, self._models.of(definition)
        kind, through = str(declared["type"]), declared.get("through")
        if kind == BOTH_MANY or (kind == HAS_MANY and through):
            return self.many_to_many.link(own, target, relation)
        holder, refers_to, usual = target, own, own.usual_key
        if kind == BELONGS_TO:
            holder, refers_to, usual = own, target, f"{name}Id"
        elif through:
            relation["through"].warn("is ignored")
        key = str(declared.get("foreignKey") or usual)
        column = self._keys.add(holder, key, refers_to, relation)
        return Relation(kind, target.resource, column) if column else None

    def _owner(self, definition: Definition, links: Mapping[str, Relation]) -> str | None:
        """Return the column of a row's owner, if rows have owners."""
        to_users = self._keys_to_users(definition, links)
        if definition.owner and definition.owner not in to_users:
            known = ", ".join(to_users) or "none"
            definition.at("owner").add_unknown(
                f"{definition.owner!r} is no belongsTo relation to users; there are {known}"
            )
            return None
        name = owner_property(definition, to_users)
        if name in to_users.values():
            _warn_of_other_owners(definition, links, to_users, str(name))
            return definition.column_of(str(name))
        return None if name is None or to_users else self._owner_key(definition, name)

    def _keys_to_users(
        self, definition: Definition, links: Mapping[str, Relation]
    ) -> dict[str, str]:
        """Return the properties with the keys of belongsTo relations to users, by relation."""
        known = (*definition.properties, definition.id.name)
        names = {definition.column_of(name): name for name in known}
        return {
            name: names.get(link.foreign_key, link.foreign_key)
            for name, link in links.items()
            if link.kind == BELONGS_TO and link.target and self._models[link.target].holds_users
        }

    def _owner_key(self, definition: Definition, name: str) -> str | None:
        if definition.type_of(name) not in KEY_TYPES or not may_be_owner(definition, name):
            return None
        own, users = self._models.of(definition), self._models[USERS]
        return self._keys.add(own, name, users, definition.source.declared)


def _warn_of_other_owners(
    definition: Definition, links: Mapping[str, Relation], to_users: Mapping[str, str], owner: str
) -> None:
    """Warn of relations to users of another model than the owners, who own rows in LoopBack 3."""
    if not definition.owner and has_owner_rules(definition):
        named = owner_relations(definition, to_users)
        target = next(links[name].target for name, key in to_users.items() if key == owner)
        for name in named:
            if links[name].target != target:
                definition.relations[name].warn(
                    f"its users own no rows: $owner is the user to whom {owner} refers; `owner` may"
                    " name another relation"
                )


def _has_names(relation: Declaration) -> bool:
    """Report foreign keys with invalid names; return True if there are none."""
    found = [key for key in NAMED_KEYS if not isinstance(relation.mapping.get(key) or "", str)]
    for key in found:
        relation[key].add("must be the name of a property")
    return not found


def _warn_of_ignored(relation: Declaration) -> None:
    """Warn of options without effect on a relation to the data in a property."""
    has_scope = relation.mapping["type"] == REFERENCES_MANY
    for option in UNSUPPORTED if has_scope else (*UNSUPPORTED, SCOPE):
        if relation.mapping.get(option):
            relation[option].warn("is ignored")


def _unserved(definition: Definition, name: str, relation: Declaration) -> str:
    """Return why a relation cannot be served; empty if it can."""
    declared = relation.mapping
    if name in {*definition.properties, *definition.computed, *definition.calls}:
        return "there is a property or a call of this name"
    if not re.fullmatch(r"[A-Za-z_][\w-]*", name, re.ASCII):
        return "its name cannot stand in a path"
    to_any = declared["type"] == BELONGS_TO and declared.get("polymorphic")
    unsupported = (*UNSUPPORTED, SCOPE) if to_any else UNSUPPORTED
    found = [option for option in unsupported if declared.get(option)]
    return f"{found[0]} is not supported" if found and declared["type"] not in HELD else ""
