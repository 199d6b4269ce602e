"""The owners of the rows of models in JSON, for rules with the principal $owner."""

from collections.abc import Iterable, Mapping

from flask import current_app

from app.access.rules import OWNER

from .definition import Definition

# Properties by whose names LoopBack 3 knows the owner of a row, before any relation.
OWNER_NAME = "owner"
OWNER_PROPERTIES = ("userId", OWNER_NAME)


def owner_property(definition: Definition, to_users: Mapping[str, str]) -> str | None:
    """Return the property with the id of a row's owner; `to_users` are the keys of relations.

    It is that of `owner`, a key of ours, or what LoopBack 3 takes for it: by `ownerRelations`, by
    name, or the first relation, which is not guessed among several if no rule is for owners.
    """
    if definition.owner:
        return to_users.get(definition.owner)
    named = definition.owner_relations
    keys = _guessed(definition, to_users) if named is False else _named(named, to_users)
    return next(iter(keys), None)


def _named(relations: list[str] | bool, to_users: Mapping[str, str]) -> Iterable[str]:
    """Return the keys of the relations that `ownerRelations` names, or of all."""
    if isinstance(relations, bool):
        return to_users.values()
    return [key for name, key in to_users.items() if name in relations]


def _guessed(definition: Definition, to_users: Mapping[str, str]) -> Iterable[str]:
    """Return the properties that LoopBack 3 takes for the owner of a row."""
    known = {*definition.properties, definition.id.name}
    if by_name := [name for name in OWNER_PROPERTIES if name in known]:
        return by_name
    return to_users.values() if _has_rules(definition) or len(to_users) == 1 else ()


def may_be_owner(definition: Definition, name: str) -> bool:
    """Return True if a property that no relation is by has the id of a row's owner.

    That matters to rules for owners alone; a text `owner` may be anything, such as a name.
    """
    is_text = name == OWNER_NAME and definition.type_of(name) == "string"
    ruled_by_settings = definition.plural in (current_app.config["ACLS"] or ())
    return not is_text and (ruled_by_settings or _has_rules(definition))


def _has_rules(definition: Definition) -> bool:
    return any(rule.principal == OWNER for _, rule in definition.rules)
