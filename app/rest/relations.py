"""The relations of a resource to others."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any

from sqlalchemy import inspect

from app.database.ids import new_id

# The kinds, by LoopBack 3's names.
BELONGS_TO = "belongsTo"
HAS_ONE = "hasOne"
HAS_MANY = "hasMany"
THROUGH = "hasManyThrough"
REFERENCES_MANY = "referencesMany"
EMBEDS_ONE, EMBEDS_MANY = "embedsOne", "embedsMany"

# The scope of a relation that leads to all rows which belong to a row.
ALL: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True)
class Relation:
    """A relation to the resource with the name `target`; `belongs_to` and others return one."""

    kind: str
    # Empty for what is embedded, and where the target differs from row to row.
    target: str
    # The attribute of the foreign key: of this model (belongsTo), the target's (hasOne, hasMany),
    # or the model between both. Of this model, too, what is embedded or has the ids of many rows.
    foreign_key: str
    # The model between both, and its foreign key to the target.
    through: type[Any] | None = None
    target_key: str = ""
    # Of a polymorphic relation: the attribute, beside the foreign key, with the name of a model.
    discriminator: str = ""
    # The name of this model there (hasOne, hasMany), or the resource of each name (belongsTo).
    type_name: str = ""
    types: Mapping[str, str] = field(default_factory=dict)
    # A filter for the rows that it leads to; of one to several resources it has none.
    scope: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def scope_text(self) -> str:
        """The scope as JSON, which is the same for the same scope."""
        return json.dumps(self.scope, sort_keys=True)

    @property
    def many(self) -> bool:
        """Whether it leads to many rows, or objects."""
        return self.kind in (HAS_MANY, THROUGH, REFERENCES_MANY, EMBEDS_MANY)

    @property
    def is_embedded(self) -> bool:
        """Whether it leads to no rows, but to what a property holds."""
        return self.kind in (EMBEDS_ONE, EMBEDS_MANY)

    @property
    def has_own_key(self) -> bool:
        """Whether the attribute of its foreign key is of the model that has the relation."""
        return self.is_embedded or self.kind in (BELONGS_TO, REFERENCES_MANY)

    @property
    def has_types(self) -> bool:
        """Whether it leads to rows of several resources."""
        return bool(self.types)

    @property
    def attributes(self) -> list[str]:
        """The attributes of the model that has the foreign key."""
        return [key for key in (self.foreign_key, self.target_key, self.discriminator) if key]

    def resource_of(self, name: object) -> str | None:
        """Return the resource that a name stands for, in any case as in LoopBack 3."""
        wanted = str(name).lower()
        return next((self.types[known] for known in self.types if known.lower() == wanted), None)

    def holder(self, model: type[Any], target: type[Any]) -> type[Any]:
        """Return which model has the foreign key: this one, the target, or that between both."""
        if self.through is not None:
            return self.through
        return model if self.has_own_key else target

    def link(self, name: str) -> Any:
        """Return a column of the model between both."""
        return inspect(self.through).columns[name]

    @property
    def links(self) -> Any:
        """The table of the model between both."""
        return inspect(self.through).local_table

    def new_link_id(self) -> dict[str, Any]:
        """Return the id of a new row between both; nothing if it has none, or the database's."""
        key = inspect(self.through).columns.get("id")
        id = None if key is None else new_id(key.type)
        return {} if id is None else {"id": id}


def belongs_to(target: str, foreign_key: str, scope: Mapping[str, Any] = ALL) -> Relation:
    """Return a relation to one row, whose id this model's attribute has.

    `scope` is a filter: rows that do not fulfil its `where` are as if they did not exist.
    """
    return Relation(BELONGS_TO, target, foreign_key, scope=scope)


def belongs_to_any(types: Mapping[str, str], foreign_key: str, discriminator: str) -> Relation:
    """Return a relation to one row of one of several resources, a polymorphic one in LoopBack 3.

    This model's attribute `foreign_key` has its id, and `discriminator` a name: a key of `types`,
    whose value is the resource. A text as the foreign key has ids of any type.
    """
    return Relation(BELONGS_TO, "", foreign_key, discriminator=discriminator, types=types)


def has_one(
    target: str,
    foreign_key: str,
    discriminator: str = "",
    type_name: str = "",
    scope: Mapping[str, Any] = ALL,
) -> Relation:
    """Return a relation to the one row of the target whose attribute has this model's id.

    With a discriminator, it is to the row that has the type name in that attribute too. `scope` is
    as of `belongs_to`.
    """
    return Relation(
        HAS_ONE, target, foreign_key, discriminator=discriminator, type_name=type_name, scope=scope
    )


def has_many(
    target: str,
    foreign_key: str,
    discriminator: str = "",
    type_name: str = "",
    scope: Mapping[str, Any] = ALL,
) -> Relation:
    """Return a relation to the rows of the target whose attribute has this model's id.

    With a discriminator, it is to those that have the type name in that attribute too. `scope` is
    as of `belongs_to`: `has_many("notes", "owner_id", scope={"where": {"stars": 5}})`.
    """
    return Relation(
        HAS_MANY, target, foreign_key, discriminator=discriminator, type_name=type_name, scope=scope
    )


def has_many_through(
    target: str,
    through: type[Any],
    foreign_key: str,
    target_key: str,
    scope: Mapping[str, Any] = ALL,
) -> Relation:
    """Return a relation to many rows, each of which may belong to many rows of this model.

    `through` is a model with an attribute for the id of this model and one for that of the target.
    LoopBack 3 calls this hasMany through, and hasAndBelongsToMany where the model has nothing else.
    `scope` is as of `belongs_to`.
    """
    return Relation(THROUGH, target, foreign_key, through, target_key, scope=scope)


def references_many(target: str, attribute: str, scope: Mapping[str, Any] = ALL) -> Relation:
    """Return a relation to the rows whose ids an array of this model has; it is only included.

    `scope` is as of `belongs_to`.
    """
    return Relation(REFERENCES_MANY, target, attribute, scope=scope)


def embeds_one(attribute: str) -> Relation:
    """Return a relation to the object that this model's attribute has; it is only included."""
    return Relation(EMBEDS_ONE, "", attribute)


def embeds_many(attribute: str) -> Relation:
    """Return a relation to the objects in an array of this model; it is only included."""
    return Relation(EMBEDS_MANY, "", attribute)
