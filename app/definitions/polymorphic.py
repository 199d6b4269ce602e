"""Polymorphic relations: belongsTo a row of one of several models, and their inverse relations."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from sqlalchemy import String

from app.database.ids import IdColumn, TextId
from app.fields.base import Text
from app.ids import MAX_TEXT_ID
from app.properties.declaration import Declaration
from app.properties.properties import Property, column_name
from app.properties.types import PropertyType
from app.rest.relations import BELONGS_TO, HAS_MANY, HAS_ONE, Relation

from .definition import Definition
from .keys import PolymorphicKey, key_type, polymorphic_key
from .related_models import KEY_TYPES, RelatedModel, RelatedModels

KEYS = ("selector", "as", "foreignKey", "discriminator", "idType")
TO_CHILDREN = (HAS_ONE, HAS_MANY)
# The type of the property with a model's name, whose column is indexed.
NAME_TYPE = PropertyType("string", String(255), partial(Text, 255))
NUMBERS = ("number", "integer")
# The resource whose rows have a polymorphic key, and the key.
PolymorphicPlace = tuple[str, PolymorphicKey]


class PolymorphicRelations:
    """Finds which models polymorphic relations lead to, and adds the properties that they need."""

    def __init__(self, models: RelatedModels, definitions: Sequence[Definition]) -> None:
        self._models = models
        # The models with hasOne and hasMany relations to the rows that have a key, by name.
        self._parents = defaultdict[PolymorphicPlace, dict[str, RelatedModel]](dict)
        # The declared types of keys.
        self._id_types = dict[PolymorphicPlace, str]()
        # The belongsTo relations by column of a resource, including undeclared ones.
        self._references = dict[tuple[str, str], Relation]()
        for definition in definitions:
            for name, relation in _polymorphic(definition):
                self._note(models.of(definition), name, relation)

    def _note(self, own: RelatedModel, name: str, relation: Declaration) -> None:
        """Record a relation's declarations about a key, which may belong to another model."""
        declared = relation["polymorphic"]
        key = polymorphic_key(name, declared.value)
        target = self._models.find(relation.mapping.get("model"))
        if relation.mapping.get("type") == BELONGS_TO:
            self._id_types[own.resource, key] = str(declared.mapping.get("idType") or "")
        elif relation.mapping.get("type") in TO_CHILDREN and target:
            self._parents[target.resource, key][own.type_name] = own

    def link(self, definition: Definition, name: str, relation: Declaration) -> Relation | None:
        """Return a polymorphic relation; None, with a problem or warning, if it is invalid."""
        declared = relation["polymorphic"]
        if not _is_declared(declared):
            return None
        kind = str(relation.mapping["type"])
        if kind not in (BELONGS_TO, *TO_CHILDREN) or relation.mapping.get("through"):
            relation.warn(
                "is not served: a polymorphic relation between many rows of each side; one to the "
                "model between both can be"
            )
            return None
        key = polymorphic_key(name, declared.value)
        own = self._models.of(definition)
        if kind == BELONGS_TO:
            if relation.mapping.get("model"):
                relation["model"].warn("is ignored: the relation is polymorphic")
            return self.reference(own, key, relation)
        target = self._models.find(relation.mapping.get("model"))
        if target is None:
            model = relation.mapping.get("model")
            relation["model"].report_unknown(f"there is no model {model!r}", "is not served")
            return None
        link = self.reference(target, key, relation)
        if link is None:
            return None
        return Relation(
            kind,
            target.resource,
            link.foreign_key,
            discriminator=link.discriminator,
            type_name=own.type_name,
        )

    def reference(
        self, holder: RelatedModel, key: PolymorphicKey, relation: Declaration
    ) -> Relation | None:
        """Return the belongsTo relation of a model's keys; add them to a model in JSON."""
        parents = self._parents.get((holder.resource, key)) or self._all(holder, key)
        definition = holder.definition
        columns: list[str] = []
        if definition is None:
            columns, problem = _columns_in_python(holder, key)
        elif not (problem := _problem(definition, key)):
            columns = _add(definition, key, [*parents.values()])
        if problem:
            relation.warn(f"is not served: {problem}")
            return None
        types = {name: model.resource for name, model in parents.items()}
        link = Relation(BELONGS_TO, "", columns[0], discriminator=columns[1], types=types)
        self._references[holder.resource, columns[0]] = link
        return link

    def of_column(self, definition: Definition, column: str) -> Relation:
        """Return the belongsTo relation of a column, which other models have relations by."""
        return self._references[self._models.of(definition).resource, column]

    def _all(self, holder: RelatedModel, key: PolymorphicKey) -> dict[str, RelatedModel]:
        """Return all models whose ids may be in a key to which no relation leads."""
        definition = holder.definition
        declared = definition.properties.get(key.key) if definition else None
        kind = self._id_types.get((holder.resource, key)) or (declared and declared.type.name)
        is_text = kind.lower() not in NUMBERS if kind else _has_text(holder)
        models = self._models.all_in_json
        return {model.type_name: model for model in models if is_text or not _has_text(model)}


def _polymorphic(definition: Definition) -> Iterator[tuple[str, Declaration]]:
    """Yield the valid polymorphic relations of a model."""
    for name, relation in definition.relations.items():
        declared = relation.mapping.get("polymorphic")
        if isinstance(declared, bool | str | Mapping) and declared:
            yield name, relation


def _is_declared(declared: Declaration) -> bool:
    """Report an invalid key `polymorphic`; return True if it is valid."""
    values: Iterable[object] = [declared.value]
    if isinstance(declared.value, Mapping):
        declared.check_keys(KEYS)
        values = declared.mapping.values()
    if all(isinstance(value, str) or value is True for value in values):
        return True
    declared.add("must be true, the name of a belongsTo relation, or an object with names")
    return False


def _columns_in_python(holder: RelatedModel, key: PolymorphicKey) -> tuple[list[str], str]:
    """Return the columns of a key in a model in Python, and which of them is missing, if one is."""
    columns = [column_name(name) for name in key]
    missing = [name for name in columns if name not in (holder.columns or {})]
    return columns, f"{holder.resource} has no {missing[0]}" if missing else ""


def _problem(definition: Definition, key: PolymorphicKey) -> str:
    """Return why a model cannot have the properties of a polymorphic relation; empty if it can."""
    taken = {definition.id.name, *definition.own_names, *definition.held, *definition.foreign_keys}
    if found := [name for name in key if name in taken]:
        return f"{found[0]} of {definition.name} holds something else"
    for name, types in ((key.key, KEY_TYPES), (key.discriminator, ("string",))):
        declared = definition.properties.get(name)
        if declared and declared.type.name not in types:
            return f"{name} of {definition.name} is of the type {declared.type.name}"
    if definition.polymorphic.get(key.key, key.discriminator) != key.discriminator:
        return f"{key.key} of {definition.name} is that of another polymorphic relation"
    return ""


def _add(definition: Definition, key: PolymorphicKey, parents: Sequence[RelatedModel]) -> list[str]:
    """Add the properties of a polymorphic relation to a model; return their columns."""
    if key.key not in definition.polymorphic:
        _add_property(definition, key.key, _key_type(parents))
        _add_property(definition, key.discriminator, NAME_TYPE)
        definition.polymorphic[key.key] = key.discriminator
    return [definition.column_of(name) for name in key]


def _add_property(definition: Definition, name: str, type_: PropertyType) -> None:
    """Add a property to a model, or set its type; a hidden one is read from the body."""
    found = definition.properties.get(name)
    found = found or Property(name, definition.new_column(name), type_)
    if found.hidden:
        definition.hidden |= {name}
    definition.properties[name] = replace(
        found, hidden=False, type=type_, validators=[], index=False
    )


def _key_type(parents: Sequence[RelatedModel]) -> PropertyType:
    """Return the type of a key for ids of these models: their common type, else text."""
    types = [parent.id_type.column_type for parent in parents]
    forms = {type_.form.name for type_ in types if isinstance(type_, IdColumn)}
    return parents[0].id_type if len(forms) == 1 else key_type(TextId(MAX_TEXT_ID))


def _has_text(model: RelatedModel) -> bool:
    return model.id_type.column_type.python_type is str
