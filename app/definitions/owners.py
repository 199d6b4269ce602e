"""The owners of the rows of models in JSON, for rules with the principal $owner."""

from collections.abc import Iterable, Mapping

from flask import current_app

from app.access.rules import OWNER

from .definition import Definition

# Properties that LoopBack 3 recognizes by name as the owner of a row, before any relation.
OWNER_NAME = "owner"
OWNER_PROPERTIES = ("userId", OWNER_NAME)


def owner_property(definition: Definition, to_users: Mapping[str, str]) -> str | None:
    """Return the property with the id of a row's owner; `to_users` are keys of relations to users.

    It is set by the key `owner`, which LoopBack 3 does not have, or found as in LoopBack 3: by
    `ownerRelations`, by name, or as the first relation. One of several relations is only chosen if
    there are rules for owners.
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
    """Return True if a property without a relation may hold the id of a row's owner.

    This only matters for rules for owners; a text `owner` may be anything, such as a name.
    """
    is_text = name == OWNER_NAME and definition.type_of(name) == "string"
    ruled_by_settings = definition.plural in (current_app.config["ACLS"] or ())
    return not is_text and (ruled_by_settings or _has_rules(definition))


def _has_rules(definition: Definition) -> bool:
    return any(rule.principal == OWNER for _, rule in definition.rules)
