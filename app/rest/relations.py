"""The relations of a resource to others."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any

from sqlalchemy import inspect

from app.database.columns import AnyColumn
from app.database.ids import new_id
from app.ids import Id

# The kinds of relations, by LoopBack 3's names.
BELONGS_TO = "belongsTo"
HAS_ONE = "hasOne"
HAS_MANY = "hasMany"
THROUGH = "hasManyThrough"
REFERENCES_MANY = "referencesMany"
EMBEDS_ONE, EMBEDS_MANY = "embedsOne", "embedsMany"

# The scope of a relation without restrictions.
ALL: Mapping[str, object] = MappingProxyType({})


@dataclass(frozen=True)
class Relation:
    """A relation to the resource named `target`; made by `belongs_to` and others."""

    kind: str
    # Empty for embedded objects, and if the target differs between rows.
    target: str
    # The attribute of the foreign key: of this model (belongsTo), of the target (hasOne, hasMany),
    # or of the model in between. For embedded objects and lists of ids, the attribute of this
    # model.
    foreign_key: str
    # The model in between, and its foreign key to the target.
    through: type[object] | None = None
    target_key: str = ""
    # For a polymorphic relation: the attribute, beside the foreign key, with a model's name.
    discriminator: str = ""
    # The name of this model there (hasOne, hasMany), or the resource of each name (belongsTo).
    type_name: str = ""
    types: Mapping[str, str] = field(default_factory=dict)
    # A filter for the rows that it leads to; not for relations to one of several resources.
    scope: Mapping[str, object] = field(default_factory=dict)

    @cached_property
    def scope_text(self) -> str:
        """The scope as JSON; equal scopes have equal texts."""
        return json.dumps(self.scope, sort_keys=True)

    @property
    def many(self) -> bool:
        """Whether it leads to many rows or objects."""
        return self.kind in (HAS_MANY, THROUGH, REFERENCES_MANY, EMBEDS_MANY)

    @property
    def is_embedded(self) -> bool:
        """Whether it leads to objects in a property instead of rows."""
        return self.kind in (EMBEDS_ONE, EMBEDS_MANY)

    @property
    def has_own_key(self) -> bool:
        """Whether the foreign key is an attribute of the model that has the relation."""
        return self.is_embedded or self.kind in (BELONGS_TO, REFERENCES_MANY)

    @property
    def has_types(self) -> bool:
        """Whether it leads to rows of several resources."""
        return bool(self.types)

    @cached_property
    def read_method(self) -> str:
        """The method of the target by whose rules it is included."""
        return "findById" if self.kind == BELONGS_TO else "find"

    @property
    def attributes(self) -> list[str]:
        """The attributes used by the relation, of the model that has the foreign key."""
        return [key for key in (self.foreign_key, self.target_key, self.discriminator) if key]

    def resource_of(self, name: object) -> str | None:
        """Return the resource for a type name, in any case as in LoopBack 3."""
        wanted = str(name).lower()
        return next((self.types[known] for known in self.types if known.lower() == wanted), None)

    def holder(self, model: type[object], target: type[object]) -> type[object]:
        """Return the model with the foreign key: this one, the target, or the one in between."""
        if self.through is not None:
            return self.through
        return model if self.has_own_key else target

    def link(self, name: str) -> AnyColumn:
        """Return a column of the model in between."""
        column: AnyColumn = inspect(self.through).columns[name]
        return column

    @property
    def links(self) -> Any:
        """The table of the model in between."""
        return inspect(self.through).local_table

    def new_link_id(self) -> dict[str, Id]:
        """Return the id of a new link; empty if it has none, or if the database generates it."""
        key = inspect(self.through).columns.get("id")
        id = None if key is None else new_id(key.type)
        return {} if id is None else {"id": id}


def filter_within(default: Mapping[str, object], scope: Mapping[str, object]) -> dict[str, Any]:
    """Return a default filter within the scope of a relation: both conditions must hold."""
    wheres = [filter_["where"] for filter_ in (default, scope) if filter_.get("where")]
    return {**default, **scope, "where": {"and": wheres} if wheres else {}}


def belongs_to(target: str, foreign_key: str, scope: Mapping[str, object] = ALL) -> Relation:
    """Return a relation to one row, by its id in an attribute of this model.

    `scope` is a filter: rows that do not match its `where` are treated as missing.
    """
    return Relation(BELONGS_TO, target, foreign_key, scope=scope)


def belongs_to_any(types: Mapping[str, str], foreign_key: str, discriminator: str) -> Relation:
    """Return a relation to a row of one of several resources; polymorphic in LoopBack 3.

    This model's attribute `foreign_key` holds the row's id, and `discriminator` one of the names in
    `types`, which maps names to resources. A text as the foreign key holds ids of any type.
    """
    return Relation(BELONGS_TO, "", foreign_key, discriminator=discriminator, types=types)


def has_one(
    target: str,
    foreign_key: str,
    discriminator: str = "",
    type_name: str = "",
    scope: Mapping[str, object] = ALL,
) -> Relation:
    """Return a relation to the one row of the target whose attribute has this model's id.

    With a discriminator, that attribute must have the type name, too. `scope` is as for
    `belongs_to`.
    """
    return Relation(
        HAS_ONE, target, foreign_key, discriminator=discriminator, type_name=type_name, scope=scope
    )


def has_many(
    target: str,
    foreign_key: str,
    discriminator: str = "",
    type_name: str = "",
    scope: Mapping[str, object] = ALL,
) -> Relation:
    """Return a relation to the rows of the target whose attribute has this model's id.

    With a discriminator, that attribute must have the type name, too. `scope` is as for
    `belongs_to`: `has_many("notes", "owner_id", scope={"where": {"stars": 5}})`.
    """
    return Relation(
        HAS_MANY, target, foreign_key, discriminator=discriminator, type_name=type_name, scope=scope
    )


def has_many_through(
    target: str,
    through: type[object],
    foreign_key: str,
    target_key: str,
    scope: Mapping[str, object] = ALL,
) -> Relation:
    """Return a many-to-many relation.

    `through` is a model with one attribute for the id of this model and one for the target's.
    LoopBack 3 calls this hasMany through, or hasAndBelongsToMany if the model has no other
    attributes. `scope` is as for `belongs_to`.
    """
    return Relation(THROUGH, target, foreign_key, through, target_key, scope=scope)


def references_many(target: str, attribute: str, scope: Mapping[str, object] = ALL) -> Relation:
    """Return a relation to rows by an array of ids in this model; it can only be included.

    `scope` is as for `belongs_to`.
    """
    return Relation(REFERENCES_MANY, target, attribute, scope=scope)


def embeds_one(attribute: str) -> Relation:
    """Return a relation to the object in an attribute of this model; it can only be included."""
    return Relation(EMBEDS_ONE, "", attribute)


def embeds_many(attribute: str) -> Relation:
    """Return a relation to the objects in an array of this model; it can only be included."""
    return Relation(EMBEDS_MANY, "", attribute)
