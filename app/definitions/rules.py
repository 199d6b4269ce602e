"""The rules of models in JSON, and the owners of their rows for rules with $owner."""

from collections.abc import Collection, Iterable, Mapping

from flask import current_app
from marshmallow import ValidationError

from app.access.parsing import parse_rules
from app.access.rules import EVERYONE, OWNER, Rule, allow
from app.ids import IdForm
from app.problems import suggest
from app.properties.declaration import Declaration, JsonObject
from app.rest.shared_methods import ALIASES, PROTOTYPE

from .definition import Definition, PlacedRule

# LoopBack 3's types of principals that no caller ever has.
OTHER_PRINCIPALS = ("APP", "APPLICATION", "SCOPE")
KEYS = ("principalType", "principalId", "permission", "accessType", "property")
# The `principalType` of rules for single users. With several models of users, LoopBack 3 also takes
# the name of one of them; if access tokens name the model of their user, it takes that alone.
SINGLE_USER = "USER"
# Properties that LoopBack 3 recognizes by name as the owner of a row, before any relation.
OWNER_NAME = "owner"
OWNER_PROPERTIES = ("userId", OWNER_NAME)


def read_rules(definition: Definition, id_form: IdForm, users: Collection[str]) -> list[PlacedRule]:
    """Return the rules of a model with their declarations; method names are not checked.

    `users` are the names of the models of users.
    """
    default = "ALLOW" if definition.allows_by_default else "DENY"
    rules = [(declared, _read(declared, default, id_form, users)) for declared in definition.acls]
    return [PlacedRule(declared, rule) for declared, rule in rules if rule is not None]


def applicable_rules(definition: Definition, methods: Mapping[str, bool]) -> list[Rule]:
    """Return the rules of a model; `methods` maps each method to whether its rows have owners.

    Rules for methods that do not exist are left out, and reported.
    """
    rules = [allow(EVERYONE)] if definition.allows_by_default else []
    for placed in definition.rules:
        if names := _applicable(placed, methods):
            rule = placed.rule
            rules.append(Rule(rule.principal, rule.allow, rule.access, frozenset(names)))
    return rules


def _read(
    declared: Declaration, default: str, id_form: IdForm, users: Collection[str]
) -> Rule | None:
    if not isinstance(declared.value, Mapping):
        declared.add("must be an object")
        return None
    declared.check_keys((*KEYS, "model"))
    given = {key: value for key in KEYS if (value := declared.mapping.get(key))}
    if "principalType" not in given:
        declared.add("has no principalType, which is ROLE or USER")
        return None
    if _is_of_one_user(given, users) and given.get("permission") == "DENY":
        declared.add("a single user of one of several models cannot be denied a call: use a role")
        return None
    if reason := _ineffective(given, users):
        declared.warn(f"is without effect: {reason}")
        return None
    if "permission" not in given:
        declared.warn("has no permission: it does what defaultPermission says")
        given["permission"] = default
    names = _names(declared["property"], given["permission"] == "DENY")
    return _parse({**given, "property": names}, names, id_form, declared) if names else None


def _parse(
    rule: JsonObject, methods: Collection[str], id_form: IdForm, declared: Declaration
) -> Rule | None:
    try:
        return parse_rules([rule], methods, id_form)[0]
    except (ValidationError, ValueError, TypeError) as error:
        declared.add(_text(error))
        return None


def _is_of_one_user(declared: JsonObject, users: Collection[str]) -> bool:
    """Return True for a rule for a single user of one of several models."""
    return len(users) > 1 and declared["principalType"] in (SINGLE_USER, *users)


def _ineffective(declared: JsonObject, users: Collection[str]) -> str:
    """Return why a rule of LoopBack 3 applies to no call here; empty if it does."""
    if _is_of_one_user(declared, users):
        return "there are several models of users: give the user a role"
    if (kind := declared.get("principalType")) in OTHER_PRINCIPALS:
        return f"there are no principals of the type {kind}"
    return "nothing is replicated" if declared.get("accessType") == "REPLICATE" else ""


def _names(declared: Declaration, denies: bool) -> list[str]:
    """Return the methods that a rule names; * means all."""
    given = declared.value
    if not given and not isinstance(given, list):
        return ["*"]
    if isinstance(given, str):
        return [_canonical(given) if denies else given]
    if not isinstance(given, list) or not all(isinstance(name, str) for name in given):
        declared.add("must be the name of a method, or a list of names")
        return []
    return _listed(given, declared, denies)


def _listed(names: list[str], declared: Declaration, denies: bool) -> list[str]:
    """Return the methods in a list."""
    if not names:
        declared.warn("names no method")
    if denies:
        return list(map(_canonical, names))
    if "*" in names:
        declared.warn("* in a list is no method; without property, a rule is for all of them")
    return [name for name in names if name != "*"]


def _text(error: Exception) -> str:
    """Return the message of an error; marshmallow nests them by the rule's index and key."""
    messages = getattr(error, "messages", None)
    if not isinstance(messages, dict):
        return messages[0] if messages else str(error)
    return "; ".join(
        f"{key}: {' '.join(texts)}" for by_key in messages.values() for key, texts in by_key.items()
    )


def _canonical(name: str) -> str:
    """Return the name by which LoopBack 3 knows a method in rules.

    LoopBack 3 ignores rules with other names. Here, rules that deny take effect all the same.
    """
    name = name.removeprefix(PROTOTYPE)
    return ALIASES.get(name, name)


def _applicable(placed: PlacedRule, methods: Mapping[str, bool]) -> Collection[str]:
    """Return those methods of a rule to which it can apply."""
    declared, rule = placed
    for name in sorted(rule.properties - methods.keys() - {"*"}):
        meant = _meant(name, methods) or suggest(name, methods)
        declared["property"].report_unknown(f"there is no method {name}{meant}")
    names = rule.properties & (methods.keys() | {"*"})
    return _owned(names, methods, declared) if rule.principal == OWNER else names


def _meant(name: str, methods: Collection[str]) -> str:
    """Return the canonical name for an alternative name of a method."""
    meant = _canonical(name)
    return f" for rules that allow, as in LoopBack 3: write {meant}" if meant in methods else ""


def _owned(
    names: Collection[str], methods: Mapping[str, bool], declared: Declaration
) -> Collection[str]:
    """Return the methods whose rows have owners."""
    if not any(methods.values()):
        declared.warn("is without effect: the rows have no $owner, as no property says whose")
        return ()
    unowned = sorted(name for name in names if name != "*" and not methods[name])
    if unowned:
        declared.warn(f"is without effect for {', '.join(unowned)}: it is not about a row")
    return [name for name in names if name not in unowned]


def owner_property(definition: Definition, to_users: Mapping[str, str]) -> str | None:
    """Return the property with the id of a row's owner; `to_users` are keys of relations to users.

    It is set by the key `owner`, which LoopBack 3 does not have, or found as in LoopBack 3: by
    `ownerRelations`, by name, or as the first relation. One of several relations is only chosen if
    there are rules for owners.
    """
    if definition.owner:
        return to_users.get(definition.owner)
    named = owner_relations(definition, to_users)
    keys = _guessed(definition, to_users) if definition.owner_relations is False else named.values()
    return next(iter(keys), None)


def owner_relations(definition: Definition, to_users: Mapping[str, str]) -> Mapping[str, str]:
    """Return the keys of relations to users by which rows may have owners, by relation.

    They are those that `ownerRelations` names, or all.
    """
    named = definition.owner_relations
    if isinstance(named, bool):
        return to_users
    return {name: key for name, key in to_users.items() if name in named}


def _guessed(definition: Definition, to_users: Mapping[str, str]) -> Iterable[str]:
    """Return the properties that LoopBack 3 takes for the owner of a row."""
    known = {*definition.properties, definition.id.name}
    if by_name := [name for name in OWNER_PROPERTIES if name in known]:
        return by_name
    return to_users.values() if has_owner_rules(definition) or len(to_users) == 1 else ()


def may_be_owner(definition: Definition, name: str) -> bool:
    """Return True if a property without a relation may hold the id of a row's owner.

    This only matters for rules for owners; a text `owner` may be anything, such as a name.
    """
    is_text = name == OWNER_NAME and definition.type_of(name) == "string"
    ruled_by_settings = definition.plural in (current_app.config["ACLS"] or ())
    return not is_text and (ruled_by_settings or has_owner_rules(definition))


def has_owner_rules(definition: Definition) -> bool:
    """Return True if a model has rules for owners."""
    return any(rule.principal == OWNER for _, rule in definition.rules)
