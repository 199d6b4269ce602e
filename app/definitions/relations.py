"""Relations in JSON: which properties hold the ids, and which model each leads to."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Column

from app.database.ids import IdColumn
from app.database.session import db
from app.plurals import pluralize
from app.problems import Problems, suggest
from app.properties.declaration import Declaration
from app.properties.properties import Property, column_name, read_property
from app.rest.relations import (
    BELONGS_TO,
    EMBEDS_MANY,
    EMBEDS_ONE,
    HAS_MANY,
    HAS_ONE,
    REFERENCES_MANY,
    THROUGH,
)

from .definition import Definition
from .owners import owner_property
from .related_models import USERS, RelatedModel, RelatedModels
from .roles import RESOURCES

BOTH_MANY = "hasAndBelongsToMany"
# Relations that are a property with what they lead to, by the type of the property, and the key
# that names it.
HELD: dict[str, Any] = {REFERENCES_MANY: ["any"], EMBEDS_ONE: "object", EMBEDS_MANY: ["object"]}
PLACES = {REFERENCES_MANY: "foreignKey", EMBEDS_ONE: "property", EMBEDS_MANY: "property"}
KINDS = (BELONGS_TO, HAS_ONE, HAS_MANY, BOTH_MANY, *HELD)
KEYS = (
    *("type", "model", "foreignKey", "through", "keyThrough", "property", "polymorphic", "options"),
    *("primaryKey", "scope", "properties", "invertProperties", "methods", "nestRemoting", "embed"),
    *("required", "default", "idName", "index", "description", "disableInclude", "params"),
)
# Options that would change which rows a relation has.
UNSUPPORTED = ("scope", "primaryKey", "properties", "invertProperties")
# Types of properties that may hold the id of another row.
KEY_TYPES = ("string", "number", "integer", "uuid", "objectid", "object", "id")
WORD_START = re.compile(r"[_-]+(\w)")


@dataclass(frozen=True)
class Link:
    """A relation whose keys are known, as columns."""

    kind: str
    target: str
    foreign_key: str
    # The model between both, and its foreign key to the target.
    through: str = ""
    target_key: str = ""


@dataclass(frozen=True)
class LinkTable:
    """The table of a hasAndBelongsToMany relation that no model is named for."""

    name: str
    # The column of each of the two ids, and the model that it refers to.
    keys: Mapping[str, RelatedModel]


@dataclass(frozen=True)
class Resolved:
    """The relations of a model, the foreign keys that none of them has, and whose a row is."""

    links: Mapping[str, Link]
    to_check: Sequence[Link]
    # The column with the owner.
    owner: str | None


class Relations:
    """Reads the relations of all models, and adds the foreign keys that they need."""

    def __init__(self, models: RelatedModels, problems: Problems) -> None:
        self._models = models
        self._problems = problems
        self.link_tables: dict[str, LinkTable] = {}

    def resolve(self, definitions: Iterable[Definition]) -> dict[str, Resolved]:
        """Return the relations of all models by name; add the foreign keys that they need."""
        known = {each.name: each for each in definitions}
        links = {name: self._links(each) for name, each in known.items()}
        owners = {name: self._owner(each, links[name]) for name, each in known.items()}
        return {
            name: Resolved(links[name], list(self._to_check(each, links[name])), owners[name])
            for name, each in known.items()
        }

    def _links(self, definition: Definition) -> dict[str, Link]:
        """Return the relations of a model that are served."""
        links: dict[str, Link] = {}
        for name, (path, declared) in definition.relations.items():
            if link := self._read(definition, name, path, declared):
                links[name] = link
        return links

    def _read(self, definition: Definition, name: str, path: str, declared: Any) -> Link | None:
        if not isinstance(declared, Mapping):
            self._problems.add(path, "must be an object")
            return None
        self._problems.check_keys(path, declared, KEYS)
        kind = declared.get("type")
        if kind not in KINDS:
            meant = suggest(str(kind), KINDS)
            self._problems.add(f"{path}.type", f"must be one of {', '.join(KINDS)}{meant}")
            return None
        if reason := self._unserved(definition, name, declared):
            self._problems.warn(path, f"is not served: {reason}")
            return None
        if kind in HELD:
            return self._embed(definition, name, declared, path)
        target = self._models.find(declared.get("model"))
        if target is None:
            self._warn_of_missing(declared.get("model"), path)
            return None
        return self._link(definition, name, declared, target, path)

    def _unserved(self, definition: Definition, name: str, declared: Any) -> str:
        """Return why a relation cannot be served, if that is so."""
        if declared.get("polymorphic"):
            return "relations to rows of several models (polymorphic) are refused"
        if name in {*definition.properties, *definition.calls}:
            return "there is a property or a call of this name"
        if not re.fullmatch(r"[A-Za-z_][\w-]*", name, re.ASCII):
            return "its name cannot stand in a path"
        found = [each for each in UNSUPPORTED if declared.get(each)]
        return f"{found[0]} is not supported" if found and declared["type"] not in HELD else ""

    def _warn_of_missing(self, model: Any, path: str) -> None:
        meant = suggest(str(model), self._models.names)
        self._problems.warn(f"{path}.model", f"is not served: there is no model {model!r}{meant}")

    def _embed(
        self, definition: Definition, name: str, declared: Mapping[str, Any], path: str
    ) -> Link | None:
        """Return the relation to what a property holds; add the property, unless it is declared."""
        kind, held = declared["type"], _held_name(name, declared)
        for each in UNSUPPORTED:
            if declared.get(each):
                self._problems.warn(f"{path}.{each}", "is ignored")
        usual = read_property(held, Declaration(_held_property(declared), self._problems, path))
        if usual is None or not self._can_hold(definition, usual, path):
            return None
        column = self._add_held(definition, usual)
        self._problems.warn(path, f"has no endpoints: its data is the property {held}")
        if definition.properties[held].hidden:
            return None
        if kind != REFERENCES_MANY:
            return Link(kind, "", column)
        target = self._models.find(declared.get("model"))
        return Link(kind, target.resource, column) if target else None

    def _can_hold(self, definition: Definition, usual: Property, path: str) -> bool:
        """Tell whether a model can have this property for a relation; if not, warn."""
        declared = definition.properties.get(usual.name, usual)
        if usual.name in {definition.id.name, *definition.own_names, *definition.foreign_keys}:
            self._unusable(path, f"{usual.name} of {definition.name} holds something else")
            return False
        if declared.type.name != usual.type.name:
            self._unusable(
                path, f"{usual.name} of {definition.name} is of the type {declared.type.name}"
            )
            return False
        return True

    def _add_held(self, definition: Definition, usual: Property) -> str:
        """Add the property of a relation to a model, or its default; return the column."""
        name, found = usual.name, definition.properties.get(usual.name)
        if found is None:
            column, is_hidden = definition.new_column(name), name in definition.hidden
            found = replace(usual, column_name=column, hidden=is_hidden)
        elif not found.required and found.default is None:
            found = replace(found, default=usual.default)
        definition.properties[name] = found
        definition.held.add(name)
        return found.column_name

    def _link(
        self, definition: Definition, name: str, declared: Any, target: RelatedModel, path: str
    ) -> Link | None:
        kind, given = declared["type"], declared.get("foreignKey") or ""
        own = self._models.of(definition)
        if kind == BELONGS_TO:
            key = given or f"{name}Id"
            column = self._key(own, key, target, path)
            return Link(BELONGS_TO, target.resource, column) if column else None
        if kind == BOTH_MANY or (kind == HAS_MANY and declared.get("through")):
            return self._through(own, declared, target, path)
        if declared.get("through"):
            self._problems.warn(f"{path}.through", "is ignored")
        key = given or f"{_camel_case(definition.name)}Id"
        column = self._key(target, key, own, path)
        return Link(kind, target.resource, column) if column else None

    def _key(self, holder: RelatedModel, name: str, refers_to: RelatedModel, path: str) -> str:
        """Return the column with the ids of another model; add it to a model in JSON.

        Empty, and a warning, if the holder cannot have it.
        """
        definition = holder.definition
        if definition is None:
            return self._key_in_python(holder, name, refers_to, path)
        declared = definition.properties.get(name)
        if name == definition.id.name:
            return self._unusable(path, f"{name} of {definition.name} is the id")
        if name in definition.own_names or name in definition.held:
            return self._unusable(path, f"{name} of {definition.name} holds no ids")
        if declared and declared.type.name not in KEY_TYPES:
            return self._unusable(
                path, f"{name} of {definition.name} is of the type {declared.type.name}"
            )
        refers_to = self._shared(definition, name, refers_to)
        if definition.foreign_keys.get(name, refers_to.resource) != refers_to.resource:
            return self._unusable(path, f"{name} of {definition.name} refers to another model")
        key_type = refers_to.id_type
        found = declared or Property(name, definition.new_column(name), key_type)
        if found.hidden:
            definition.hidden |= {name}
        # A hidden key is read, and withheld.
        found = replace(found, hidden=False)
        definition.properties[name] = replace(found, type=key_type, validators=[], index=True)
        definition.foreign_keys[name] = refers_to.resource
        return found.column_name

    def _shared(self, holder: Definition, name: str, refers_to: RelatedModel) -> RelatedModel:
        """Return the model that a key refers to, where a model and its base have it in common.

        That is the base; the ids of the key may then be those of the other, too.
        """
        known = self._models[holder.foreign_keys.get(name, refers_to.resource)]
        first, second = known.definition, refers_to.definition
        if known is refers_to or not first or not second or not _have_same_ids(known, refers_to):
            return refers_to
        if second.name in first.bases:
            # The base comes after a model that extends it.
            holder.foreign_keys[name] = refers_to.resource
        elif first.name in second.bases or first.bases & second.bases:
            refers_to = known
        else:
            return refers_to
        holder.shared_keys.add(name)
        return refers_to

    def _key_in_python(
        self, holder: RelatedModel, name: str, refers_to: RelatedModel, path: str
    ) -> str:
        """Return the column of a model in Python; it must be a property that holds such ids."""
        attribute = column_name(name)
        column = (holder.columns or {}).get(attribute)
        if column is None:
            return self._unusable(path, f"{holder.resource} has no {attribute}")
        if not _holds_ids(column, refers_to):
            return self._unusable(path, f"{attribute} of {holder.resource} holds other values")
        return attribute

    def _unusable(self, path: str, reason: str) -> str:
        self._problems.warn(path, f"is not served: {reason}")
        return ""

    def _through(
        self, own: RelatedModel, declared: Any, target: RelatedModel, path: str
    ) -> Link | None:
        through = self._model_between(own, declared, target)
        if through is None and not declared.get("through"):
            return self._link_by_table(own, target, path)
        reason = _not_between(declared.get("through"), through, target)
        if through is None or reason:
            self._unusable(f"{path}.through", reason)
            return None
        key, other = self._keys_between(own, declared, through, target)
        column, target_column = (
            self._key(through, key, own, path),
            self._key(through, other, target, path),
        )
        if not column or not target_column:
            return None
        return Link(THROUGH, target.resource, column, _name_of(through), target_column)

    def _keys_between(
        self, own: RelatedModel, declared: Any, through: RelatedModel, target: RelatedModel
    ) -> tuple[str, str]:
        """Return the foreign keys of the model between both: to this one, and to the target."""
        key = declared.get("foreignKey") or self._key_to(through, own, "")
        if target is not own and self._keys_of(through).get(key) is target:
            # The key of the other side, which its relation tells.
            return self._key_to(through, own, key), key
        return key, declared.get("keyThrough") or self._key_to(through, target, key)

    def _model_between(
        self, own: RelatedModel, declared: Any, target: RelatedModel
    ) -> RelatedModel | None:
        """Return the model between two: the one that is named, or as LoopBack 3 would name it."""
        if declared.get("through"):
            return self._models.find(declared["through"])
        names = [each.definition.name for each in (own, target) if each.definition]
        found = map(self._models.find, ("".join(names), "".join(reversed(names))))
        known = [each for each in found if each and each.resource != USERS]
        return known[0] if known and len(names) == 2 else None

    def _key_to(self, through: RelatedModel, target: RelatedModel, own_key: str) -> str:
        """Return the foreign key of the model between both to the target, as it is usual."""
        for key, referred in self._keys_of(through).items():
            if referred is target and key != own_key:
                return key
        name = target.definition.name if target.definition else target.resource.rstrip("s")
        return f"{_camel_case(name)}Id"

    def _keys_of(self, through: RelatedModel) -> dict[str, RelatedModel | None]:
        """Return the foreign keys of the relations of a model in JSON, and what they refer to."""
        relations = through.definition.relations if through.definition else {}
        return {
            str(declared.get("foreignKey") or f"{name}Id"): self._models.find(declared.get("model"))
            for name, (_, declared) in relations.items()
            if isinstance(declared, Mapping) and declared.get("type") == BELONGS_TO
        }

    def _link_by_table(self, own: RelatedModel, target: RelatedModel, path: str) -> Link:
        """Link two models by a table that both sides of the relation have."""
        names = [_table_of(each) for each in (own, target)]
        keys = [f"{name}_id" for name in names]
        if names[0] == names[1]:
            keys[1] = f"other_{keys[1]}"
        table = "_".join(sorted(names))
        ends = dict(zip(keys, (own, target), strict=True))
        made = self.link_tables.setdefault(table, LinkTable(table, ends))
        if holder := self._holder(made, ends):
            problem = f"its table {table} is that of {holder} too; set through"
            self._problems.add(path, problem)
        return Link(THROUGH, target.resource, keys[0], table, keys[1])

    def _holder(self, links: LinkTable, ends: Mapping[str, RelatedModel]) -> str:
        """Return whose a table between two models is already, if it is not theirs."""
        if links.keys != ends:
            return " and ".join(_name_of(each) for each in links.keys.values())
        models = self._models.definitions.values()
        others = (each.name for each in models if each.table == links.name)
        return next(others, "Ostiary" if links.name in db.metadata.tables else "")

    def _owner(self, definition: Definition, links: Mapping[str, Link]) -> str | None:
        """Return the column with the owner of a row, if rows have owners."""
        names = {each.column_name: name for name, each in definition.properties.items()}
        to_users = {
            name: names.get(link.foreign_key, link.foreign_key)
            for name, link in links.items()
            if link.kind == BELONGS_TO and link.target == USERS
        }
        if definition.owner and definition.owner not in to_users:
            known = ", ".join(to_users) or "none"
            self._problems.add(
                f"{definition.file}: owner",
                f"{definition.owner!r} is no belongsTo relation to users; there are {known}",
            )
            return None
        name = owner_property(definition, to_users)
        if name in to_users.values():
            return definition.column_of(str(name))
        return self._owner_key(definition, name) if name and not to_users else None

    def _owner_key(self, definition: Definition, name: str) -> str | None:
        if definition.properties[name].type.name not in KEY_TYPES:
            return None
        own, users = self._models.of(definition), self._models[USERS]
        return self._key(own, name, users, definition.file)

    def _to_check(self, definition: Definition, links: Mapping[str, Link]) -> Iterator[Link]:
        """Yield belongsTo relations for the foreign keys that no relation of the model has."""
        covered = {link.foreign_key for link in links.values() if link.kind == BELONGS_TO}
        for name, target in definition.foreign_keys.items():
            column = definition.column_of(name)
            if column not in covered:
                yield Link(BELONGS_TO, target, column)


def _have_same_ids(first: RelatedModel, second: RelatedModel) -> bool:
    kinds = [each.id_type.column_type.python_type for each in (first, second)]
    return kinds[0] is kinds[1]


def _holds_ids(column: Column[Any], target: RelatedModel) -> bool:
    """Tell whether a column of a model in Python holds the ids of another model."""
    if column.foreign_keys:
        return any(each.column is target.id_column for each in column.foreign_keys)
    made = target.id_type.column_type
    return isinstance(column.type, IdColumn) and column.type.python_type is made.python_type


def _not_between(name: object, through: RelatedModel | None, target: RelatedModel) -> str:
    """Return why a model cannot be the one between two others, if that is so."""
    if through is None or (through.definition is None and through.resource not in RESOURCES):
        return f"there is no model {name!r} in JSON"
    if through.resource == USERS:
        return "users are no model between others"
    if through.resource in RESOURCES and target.resource not in RESOURCES:
        # Nothing else would keep its links from being written.
        return f"{through.resource} leads to roles only"
    return ""


def _name_of(target: RelatedModel) -> str:
    return target.definition.name if target.definition else target.resource


def _table_of(target: RelatedModel) -> str:
    return target.definition.table if target.definition else target.resource.rstrip("s")


def _held_name(relation: str, declared: Mapping[str, Any]) -> str:
    """Return the name that LoopBack 3 gives to the property with what a relation leads to."""
    kind, model = declared["type"], str(declared.get("model") or relation)
    given = declared.get(PLACES[kind])
    if kind == REFERENCES_MANY:
        return str(given or f"{_camel_case(model)}Ids")
    name = str(given or _camel_case(model if kind == EMBEDS_ONE else pluralize(model)))
    return f"_{name}" if name == relation else name


def _held_property(declared: Mapping[str, Any]) -> dict[str, Any]:
    """Return the property with what a relation leads to, and the value that LoopBack 3 gives it."""
    kind, default = declared["type"], declared.get("default")
    if kind == EMBEDS_ONE:
        default = {} if default is True else default if isinstance(default, Mapping) else None
        return {"type": HELD[kind], "default": default}
    return {"type": HELD[kind], "default": []}


def _camel_case(name: str) -> str:
    joined = WORD_START.sub(lambda match: match[1].upper(), name)
    return joined[0].lower() + joined[1:]
